// Numbers that are no plain call counts: gauges of what is alive and sums of what was done.
#pragma once

#include <atomic>
#include <cstdint>

namespace onnx_ascend::simulator {

struct Counters {
    // Sums, set to zero by onnx_ascend_sim_reset.
    std::atomic<uint64_t> launches{0};
    std::atomic<uint64_t> violations{0};
    std::atomic<uint64_t> executor_cache_hits{0};
    std::atomic<uint64_t> executor_cache_misses{0};
    std::atomic<uint64_t> copies_host_to_host{0};
    std::atomic<uint64_t> copies_host_to_device{0};
    std::atomic<uint64_t> copies_device_to_host{0};
    std::atomic<uint64_t> copies_device_to_device{0};

    // Gauges, never reset.
    std::atomic<int64_t> bytes_in_use{0};
    std::atomic<int64_t> live_device_allocations{0};
    std::atomic<int64_t> live_host_allocations{0};
    std::atomic<int64_t> live_pending_tasks{0};
};

Counters& counters() noexcept;

}  // namespace onnx_ascend::simulator
