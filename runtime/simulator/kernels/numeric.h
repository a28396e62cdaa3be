// float16 and bfloat16 by integer arithmetic. Included only by files that are compiled once for each
// instruction set, so everything here has internal linkage: no linker may merge code of different instruction
// sets.
#pragma once

#include <cstdint>
#include <cstring>

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

template <typename To, typename From>
inline To bits_as(From from) noexcept {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline float float16_to_float32(uint16_t half) noexcept {
    const uint32_t magnitude = half & 0x7fffu;
    const uint32_t sign = (half & 0x8000u) << 16;
    // Moved into place, the exponent is 112 too small; a product with 2^112 corrects it, subnormals included.
    const float scaled = bits_as<float>(magnitude << 13) * bits_as<float>(0x77800000u);
    const uint32_t quiet = magnitude > 0x7c00u ? 0x00400000u : 0u;
    const uint32_t not_finite = ((magnitude << 13) + 0x70000000u) | quiet;
    return bits_as<float>((magnitude >= 0x7c00u ? not_finite : bits_as<uint32_t>(scaled)) | sign);
}

inline uint16_t float32_to_float16(float value) noexcept {
    const uint32_t bits = bits_as<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t not_finite = magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x3ffu) : 0x7c00u;
    // Below 2^-14 the addition to one half does the rounding: its last place is that of a float16 subnormal.
    const uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
    const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
    return static_cast<uint16_t>((magnitude >= 0x47800000u ? not_finite : finite) | ((bits >> 16) & 0x8000u));
}

inline float bfloat16_to_float32(uint16_t value) noexcept {
    return bits_as<float>(static_cast<uint32_t>(value) << 16);
}

inline uint16_t float32_to_bfloat16(float value) noexcept {
    const uint32_t bits = bits_as<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

// To float32 towards odd: what is lost stays visible in the last bit, so rounding once more is exact.
inline float float64_to_float32_odd(double value) noexcept {
    const float nearest = static_cast<float>(value);
    const double back = static_cast<double>(nearest);
    if (back == value || value != value) return nearest;
    uint32_t bits = bits_as<uint32_t>(nearest);
    const double magnitude = value < 0 ? -value : value;
    const double back_magnitude = back < 0 ? -back : back;
    if (back_magnitude > magnitude) --bits;
    return bits_as<float>(bits | 1u);
}

}  // namespace
}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
