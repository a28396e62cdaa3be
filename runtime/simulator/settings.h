// What the environment says, read once at first use.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acl/abi.h"
#include "simulator/soc.h"

namespace onnx_ascend::simulator {

struct Settings {
    Soc soc;  // ASCEND_SIM_SOC
    std::vector<uint32_t>
        visible;  // physical ids by logical id: ASCEND_SIM_DEVICES, ASCEND_RT_VISIBLE_DEVICES
    std::string visible_devices_fault;  // why the mask makes every device unusable; empty when it does not
    aclrtRunMode run_mode;              // ASCEND_SIM_RUN_MODE
    size_t device_memory;               // ASCEND_SIM_MEMORY, bytes per device
    bool always_async;                  // ASCEND_SIM_ASYNC, and whatever needs real asynchrony
    std::chrono::microseconds latency;  // ASCEND_SIM_LATENCY_US, of each launch and copy
    std::string instruction_set;        // ASCEND_SIM_ISA; empty: the best of the CPU
    unsigned threads;                   // ASCEND_SIM_THREADS
    bool report_leaks;                  // ASCEND_SIM_LEAKS
    size_t executor_cache_limit;        // ACLNN_CACHE_LIMIT; 0 with DISABLE_L2_CACHE
    std::vector<std::string> faults;    // variables that could not be read, one sentence each
};

const Settings& settings();

}  // namespace onnx_ascend::simulator
