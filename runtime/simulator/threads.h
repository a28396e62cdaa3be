// A small pool of threads for large kernels.
#pragma once

#include <cstdint>
#include <functional>

namespace onnx_ascend::simulator {

// Calls body(begin, end) for ranges that cover [0, count), each at least `grain` long where there is so much,
// on the caller and the threads of the pool. Returns when all are done. A caller that finds the pool busy
// works alone.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace onnx_ascend::simulator
