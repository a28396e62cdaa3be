// The simulator's own functions, for tests; everything else that the library exports is CANN's.
#pragma once

#include <cstddef>
#include <cstdint>

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
