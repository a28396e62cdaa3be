// float16 and bfloat16 in vector registers, where the instruction set has vectors for them. Included only by
// files that are compiled once for each instruction set.
#pragma once

#include "simulator/kernels/numeric.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

// A half format: one element at a time, and `half_lanes` elements in a vector of 32-bit floats where there
// are vectors.

#if defined(__AVX512F__)

constexpr size_t half_lanes = 16;
using Floats = __m512;
using Halves = __m256i;

inline Halves load_halves(const uint16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline void store_halves(uint16_t* to, Halves halves) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves);
}
inline void stream_halves(uint16_t* to, Halves halves) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), halves);
}
inline Floats load_floats(const float* from) {
    return _mm512_loadu_ps(from);
}
inline void store_floats(float* to, Floats values) {
    _mm512_storeu_ps(to, values);
}

#elif defined(__AVX2__)

constexpr size_t half_lanes = 8;
using Floats = __m256;
using Halves = __m128i;

inline Halves load_halves(const uint16_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
inline void store_halves(uint16_t* to, Halves halves) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
}
inline void stream_halves(uint16_t* to, Halves halves) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), halves);
}
inline Floats load_floats(const float* from) {
    return _mm256_loadu_ps(from);
}
inline void store_floats(float* to, Floats values) {
    _mm256_storeu_ps(to, values);
}

#endif

struct Float16 {
    static float widen(uint16_t value) { return float16_to_float32(value); }
    static uint16_t narrow(float value) { return float32_to_float16(value); }

#if defined(__AVX512F__)
    static Floats widen_vector(const uint16_t* from) { return _mm512_cvtph_ps(load_halves(from)); }
    static Halves narrow_vector(Floats values) { return _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT); }
#elif defined(__AVX2__)
    static Floats widen_vector(const uint16_t* from) { return _mm256_cvtph_ps(load_halves(from)); }
    static Halves narrow_vector(Floats values) { return _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT); }
#endif
};

struct Bfloat16 {
    static float widen(uint16_t value) { return bfloat16_to_float32(value); }
    static uint16_t narrow(float value) { return float32_to_bfloat16(value); }

#if defined(__AVX512F__)
    static Floats widen_vector(const uint16_t* from) {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_halves(from)), 16));
    }
    static Halves narrow_vector(Floats values) {
        const __m512i bits = _mm512_castps_si512(values);
        const __m512i high = _mm512_srli_epi32(bits, 16);
        const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
        const __m512i carried = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
        const __mmask16 nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
        const __m512i quiet = _mm512_or_si512(high, _mm512_set1_epi32(0x40));
        const __m512i result = _mm512_mask_blend_epi32(nan, _mm512_srli_epi32(carried, 16), quiet);
        return _mm512_cvtepi32_epi16(result);
    }
#elif defined(__AVX2__)
    static Floats widen_vector(const uint16_t* from) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(from)), 16));
    }
    static Halves narrow_vector(Floats values) {
        const __m256i bits = _mm256_castps_si256(values);
        const __m256i high = _mm256_srli_epi32(bits, 16);
        const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
        const __m256i carried = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
        const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
        const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
        const __m256i result = _mm256_blendv_epi8(_mm256_srli_epi32(carried, 16), quiet, nan);
        return _mm_packus_epi32(_mm256_castsi256_si128(result), _mm256_extracti128_si256(result, 1));
    }
#endif
};

// Elementwise conversion of a half format from and to float32.

template <typename Half>
void widen_loop(const void* in, void* out, size_t count) {
    const uint16_t* from = static_cast<const uint16_t*>(in);
    float* to = static_cast<float*>(out);
    size_t i = 0;
#if defined(__AVX2__)
    for (; i + half_lanes <= count; i += half_lanes) store_floats(to + i, Half::widen_vector(from + i));
#endif
    for (; i < count; ++i) to[i] = Half::widen(from[i]);
}

template <typename Half>
void narrow_loop(const void* in, void* out, size_t count) {
    const float* from = static_cast<const float*>(in);
    uint16_t* to = static_cast<uint16_t*>(out);
    size_t i = 0;
#if defined(__AVX2__)
    for (; i + half_lanes <= count; i += half_lanes)
        store_halves(to + i, Half::narrow_vector(load_floats(from + i)));
#endif
    for (; i < count; ++i) to[i] = Half::narrow(from[i]);
}

}  // namespace
}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
