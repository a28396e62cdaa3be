// The generations of Ascend that differ in what they can compute.
#pragma once

#include <cstdint>
#include <string>

namespace onnx_ascend {

// Values are bits, so that a kernel can name a set of them.
enum class SocFamily : uint32_t {
    unknown = 0,
    ascend910 = 1U << 0,     // the first generation, Atlas training
    ascend910b = 1U << 1,    // A2
    ascend910_93 = 1U << 2,  // A3
    ascend950 = 1U << 3,
    ascend310p = 1U << 4,
    ascend310b = 1U << 5,
};

constexpr uint32_t operator|(SocFamily a, SocFamily b) {
    return static_cast<uint32_t>(a) | static_cast<uint32_t>(b);
}
constexpr uint32_t operator|(uint32_t a, SocFamily b) {
    return a | static_cast<uint32_t>(b);
}
constexpr bool contains(uint32_t set, SocFamily family) {
    return (set & static_cast<uint32_t>(family)) != 0;
}

// From the answer of aclrtGetSocName. `Ascend910B` alone is of the first generation; with a digit it is an
// A2.
SocFamily soc_family(const std::string& soc_name);

// CANN's name for it, as its kernel packages and their folders have it; empty for an unknown one.
std::string family_name(SocFamily family);

}  // namespace onnx_ascend
