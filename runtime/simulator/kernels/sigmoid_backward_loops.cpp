// Compiled once for each instruction set, without contraction to fused multiply-add.
#include "simulator/kernels/half_vectors.h"
#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

// (dy * (1 - y)) * y, each step rounded.
template <typename Real>
void real_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const Real* dy = static_cast<const Real*>(grad_output);
    const Real* y = static_cast<const Real*>(output);
    Real* z = static_cast<Real*>(grad_input);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        const Real one_minus_y = Real(1) - y[i];
        const Real scaled = dy[i] * one_minus_y;
        z[i] = scaled * y[i];
    }
}

// The half formats go through float32 and are rounded once, at the end.
template <typename Half>
void half_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const uint16_t* dy = static_cast<const uint16_t*>(grad_output);
    const uint16_t* y = static_cast<const uint16_t*>(output);
    uint16_t* z = static_cast<uint16_t*>(grad_input);
    size_t i = 0;
#if defined(__AVX2__)
    // The conversions keep the CPU from running far enough ahead of memory on its own.
    constexpr size_t elements_ahead = 1024;
    constexpr size_t step = 2 * half_lanes;
    for (; i + step <= count; i += step) {
        __builtin_prefetch(dy + i + elements_ahead);
        __builtin_prefetch(y + i + elements_ahead);
        __builtin_prefetch(z + i + elements_ahead, 1);
        for (size_t j = i; j < i + step; j += half_lanes) {
            const Floats wide_y = Half::widen_vector(y + j);
            Half::narrow_vector(Half::widen_vector(dy + j) * (1.0f - wide_y) * wide_y, z + j);
        }
    }
#endif
    for (; i < count; ++i) {
        const float wide_y = Half::widen(y[i]);
        z[i] = Half::narrow(Half::widen(dy[i]) * (1.0f - wide_y) * wide_y);
    }
}

}  // namespace

extern const RealLoops sigmoid_backward_real_loops{
    real_loop<float>,
    half_loop<Float16>,
    half_loop<Bfloat16>,
    real_loop<double>,
};

}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
