// Compiled once for each instruction set, without contraction to fused multiply-add.
#include <algorithm>
#include <cstdint>

#include "simulator/kernels/half_vectors.h"
#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

// Elements up to the first one of `to` that lies at a multiple of `size` bytes; launches are refused where
// `to` is not aligned to its elements.
inline size_t until_aligned(const void* to, size_t size, size_t element_size) {
    const size_t beyond = reinterpret_cast<uintptr_t>(to) % size;
    return beyond == 0 ? 0 : (size - beyond) / element_size;
}

// (dy * (1 - y)) * y, each step rounded.
template <typename Value, typename Real>
inline Value slope_times(Value dy, Value y, Real one) {
    const Value one_minus_y = one - y;
    const Value scaled = dy * one_minus_y;
    return scaled * y;
}

template <typename Real>
void real_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const Real* dy = static_cast<const Real*>(grad_output);
    const Real* y = static_cast<const Real*>(output);
    Real* z = static_cast<Real*>(grad_input);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) z[i] = slope_times(dy[i], y[i], Real(1));
}

// The half formats go through float32 and are rounded once, at the end.
template <typename Half>
inline uint16_t half_of(uint16_t dy, uint16_t y) {
    return Half::narrow(slope_times(Half::widen(dy), Half::widen(y), 1.0f));
}

#if defined(__AVX2__)

// The conversions keep the CPU from running far enough ahead of memory on its own.
constexpr size_t halves_ahead = 1024;

template <typename Half>
inline Halves halves_of(const uint16_t* dy, const uint16_t* y) {
    return Half::narrow_vector(slope_times(Half::widen_vector(dy), Half::widen_vector(y), 1.0f));
}

#endif

template <typename Half>
void half_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const uint16_t* dy = static_cast<const uint16_t*>(grad_output);
    const uint16_t* y = static_cast<const uint16_t*>(output);
    uint16_t* z = static_cast<uint16_t*>(grad_input);
    size_t i = 0;
#if defined(__AVX2__)
    constexpr size_t step = 2 * half_lanes;
    for (; i + step <= count; i += step) {
        __builtin_prefetch(dy + i + halves_ahead);
        __builtin_prefetch(y + i + halves_ahead);
        __builtin_prefetch(z + i + halves_ahead, 1);
        for (size_t j = i; j < i + step; j += half_lanes) store_halves(z + j, halves_of<Half>(dy + j, y + j));
    }
#endif
    for (; i < count; ++i) z[i] = half_of<Half>(dy[i], y[i]);
}

#if defined(__AVX2__)

// The streaming loops write past the caches, which saves reading from memory what is overwritten.

#if defined(__AVX512F__)
constexpr size_t vector_bytes = 64;
inline void stream(float* to, __m512 values) {
    _mm512_stream_ps(to, values);
}
inline void stream(double* to, __m512d values) {
    _mm512_stream_pd(to, values);
}
#else
constexpr size_t vector_bytes = 32;
inline void stream(float* to, __m256 values) {
    _mm256_stream_ps(to, values);
}
inline void stream(double* to, __m256d values) {
    _mm256_stream_pd(to, values);
}
#endif

template <typename Real>
void real_streaming_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    using Vector [[gnu::vector_size(vector_bytes)]] = Real;
    using Unaligned [[gnu::vector_size(vector_bytes), gnu::aligned(alignof(Real)), gnu::may_alias]] = Real;
    constexpr size_t lanes = vector_bytes / sizeof(Real);
    const Real* dy = static_cast<const Real*>(grad_output);
    const Real* y = static_cast<const Real*>(output);
    Real* z = static_cast<Real*>(grad_input);
    size_t i = std::min(count, until_aligned(z, vector_bytes, sizeof(Real)));
    real_loop<Real>(dy, y, z, i);
    for (; i + lanes <= count; i += lanes) {
        const Vector of_dy = *reinterpret_cast<const Unaligned*>(dy + i);
        const Vector of_y = *reinterpret_cast<const Unaligned*>(y + i);
        stream(z + i, slope_times(of_dy, of_y, Real(1)));
    }
    _mm_sfence();
    real_loop<Real>(dy + i, y + i, z + i, count - i);
}

template <typename Half>
void half_streaming_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const uint16_t* dy = static_cast<const uint16_t*>(grad_output);
    const uint16_t* y = static_cast<const uint16_t*>(output);
    uint16_t* z = static_cast<uint16_t*>(grad_input);
    size_t i = std::min(count, until_aligned(z, sizeof(Halves), sizeof *z));
    half_loop<Half>(dy, y, z, i);
    constexpr size_t step = 2 * half_lanes;
    for (; i + step <= count; i += step) {
        __builtin_prefetch(dy + i + halves_ahead);
        __builtin_prefetch(y + i + halves_ahead);
        for (size_t j = i; j < i + step; j += half_lanes)
            stream_halves(z + j, halves_of<Half>(dy + j, y + j));
    }
    _mm_sfence();
    half_loop<Half>(dy + i, y + i, z + i, count - i);
}

#endif

#if !defined(__AVX2__)
template <typename Real>
constexpr BinaryLoop real_streaming_loop = real_loop<Real>;
template <typename Half>
constexpr BinaryLoop half_streaming_loop = half_loop<Half>;
#endif

}  // namespace

extern const RealLoops sigmoid_backward_real_loops{
    real_loop<float>,
    half_loop<Float16>,
    half_loop<Bfloat16>,
    real_loop<double>,
};

extern const RealLoops sigmoid_backward_streaming_loops{
    real_streaming_loop<float>,
    half_streaming_loop<Float16>,
    half_streaming_loop<Bfloat16>,
    real_streaming_loop<double>,
};

}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
