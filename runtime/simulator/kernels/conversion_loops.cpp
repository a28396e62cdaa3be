// Compiled once for each instruction set.
#include <cstring>

#include "simulator/kernels/loops.h"
#include "simulator/kernels/numeric.h"

#if defined(__AVX512F__) || defined(__F16C__) || defined(__SSE2__)
#include <immintrin.h>
#endif

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

template <typename In, typename Out, Out (*Convert)(In)>
void convert_each(const void* in, void* out, size_t count) {
    const In* from = static_cast<const In*>(in);
    Out* to = static_cast<Out*>(out);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) to[i] = Convert(from[i]);
}

inline double widen(float value) {
    return static_cast<double>(value);
}
inline float narrow(double value) {
    return static_cast<float>(value);
}
inline uint16_t float64_to_float16(double value) {
    return float32_to_float16(float64_to_float32_odd(value));
}
inline uint16_t float64_to_bfloat16(double value) {
    return float32_to_bfloat16(float64_to_float32_odd(value));
}

void float16_to_float32_loop(const void* in, void* out, size_t count) {
    const uint16_t* from = static_cast<const uint16_t*>(in);
    float* to = static_cast<float*>(out);
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        _mm512_storeu_ps(to + i, _mm512_cvtph_ps(halves));
    }
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
#endif
    convert_each<uint16_t, float, float16_to_float32>(from + i, to + i, count - i);
}

void float32_to_float16_loop(const void* in, void* out, size_t count) {
    const float* from = static_cast<const float*>(in);
    uint16_t* to = static_cast<uint16_t*>(out);
    size_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= count; i += 16) {
        const __m256i halves = _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), halves);
    }
#elif defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
#endif
    convert_each<float, uint16_t, float32_to_float16>(from + i, to + i, count - i);
}

// Complex numbers from their real parts.
template <typename Real>
void add_imaginary_zero(const void* in, void* out, size_t count) {
    const Real* from = static_cast<const Real*>(in);
    Real* to = static_cast<Real*>(out);
    for (size_t i = 0; i < count; ++i) {
        to[2 * i] = from[i];
        to[2 * i + 1] = Real(0);
    }
}

void copy_past_caches(const void* in, void* out, size_t count) {
#if defined(__SSE2__)
    constexpr size_t line = 64;
    const char* from = static_cast<const char*>(in);
    char* to = static_cast<char*>(out);
    const size_t head = (line - reinterpret_cast<uintptr_t>(to) % line) % line;
    if (count < head + line) {
        std::memcpy(to, from, count);
        return;
    }
    std::memcpy(to, from, head);
    size_t i = head;
    for (; i + line <= count; i += line) {
#if defined(__AVX512F__)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
#else
        for (size_t part = 0; part < line; part += 16) {
            _mm_stream_si128(reinterpret_cast<__m128i*>(to + i + part),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i + part)));
        }
#endif
    }
    _mm_sfence();
    std::memcpy(to + i, from + i, count - i);
#else
    std::memcpy(out, in, count);
#endif
}

}  // namespace

extern const ConversionLoops conversion_loops{
    float16_to_float32_loop,
    convert_each<uint16_t, float, bfloat16_to_float32>,
    float32_to_float16_loop,
    convert_each<float, uint16_t, float32_to_bfloat16>,
    convert_each<float, double, widen>,
    convert_each<double, float, narrow>,
    convert_each<double, uint16_t, float64_to_float16>,
    convert_each<double, uint16_t, float64_to_bfloat16>,
    add_imaginary_zero<float>,
    add_imaginary_zero<double>,
    copy_past_caches,
};

}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
