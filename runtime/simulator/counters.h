// Numbers that are no plain call counts: gauges of what is alive and sums of what was done.
#pragma once

#include <atomic>
#include <cstddef>
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

// The simulator's own control functions; everything else that the library exports is CANN's.
extern "C" {

// Writes a JSON object {name: number} with a terminating zero into the buffer, cut off at the capacity, and
// returns the size needed, the zero included.
size_t onnx_ascend_sim_counters(char* buffer, size_t capacity);

// Sets the call counts and sums to zero and disarms all faults.
void onnx_ascend_sim_reset(void);

// Makes the nth call of the function from now on fail with the code. 0, or 100000 for a function that is not
// exported, nth = 0 or code = 0.
int32_t onnx_ascend_sim_fault(const char* function, uint64_t nth, int32_t code);

// Disarms the faults of the function that have not happened yet.
void onnx_ascend_sim_clear_faults(const char* function);
}
