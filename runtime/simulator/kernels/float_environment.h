// The floating-point environment of the device, whatever the calling thread has set.
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace onnx_ascend::simulator {

// Rounds to nearest even, keeps subnormals and masks exceptions while it lives. ONNX Runtime may run with
// subnormals flushed to zero; a device does not know about that.
class FloatEnvironment {
  public:
#if defined(__SSE2__)
    FloatEnvironment() noexcept : saved_(_mm_getcsr()) {
        if (saved_ != usual) _mm_setcsr(usual);
    }
    ~FloatEnvironment() {
        if (saved_ != usual) _mm_setcsr(saved_);
    }

  private:
    static constexpr unsigned usual = 0x1f80;
    const unsigned saved_;
#elif defined(__aarch64__)
    FloatEnvironment() noexcept {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
        __asm__ volatile("msr fpcr, %0" : : "r"(0UL));
    }
    ~FloatEnvironment() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_)); }

  private:
    unsigned long saved_;
#else
    FloatEnvironment() noexcept {}
    ~FloatEnvironment() {}
#endif

  public:
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;
};

}  // namespace onnx_ascend::simulator
