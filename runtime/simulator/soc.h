// The chips that can be simulated: what aclrtGetSocName answers and what follows from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace onnx_ascend::simulator {

// libnnopbase's own families (SocVersion). "Ascend910B" without a digit is of the first 910 generation.
enum class SocFamily { ascend910, ascend910b, ascend910_93, ascend950, ascend310p, ascend310b };

struct Soc {
    std::string name;
    SocFamily family;
    uint32_t cube_cores;
    uint32_t vector_cores;
    size_t memory;         // bytes of device memory
    size_t l2_cache;       // bytes
    uint32_t max_streams;  // per device
    uint32_t max_events;   // per device

    bool bfloat16() const noexcept {
        return family == SocFamily::ascend910b || family == SocFamily::ascend910_93 ||
               family == SocFamily::ascend950;
    }
    bool high_bandwidth_memory() const noexcept {
        return family != SocFamily::ascend310p && family != SocFamily::ascend310b;
    }
    // Bytes behind every device allocation that the driver keeps for itself.
    size_t allocation_guard() const noexcept { return family == SocFamily::ascend950 ? 0 : 32; }
};

// nothing for a name that is not a known chip.
std::optional<Soc> find_soc(const std::string& name);

}  // namespace onnx_ascend::simulator
