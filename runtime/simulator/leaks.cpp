#include "simulator/leaks.h"

#include <cstdio>

#include "simulator/context.h"
#include "simulator/counters.h"
#include "simulator/event.h"
#include "simulator/executor.h"
#include "simulator/memory.h"
#include "simulator/stream.h"
#include "simulator/tensor.h"

namespace onnx_ascend::simulator {
namespace {

template <typename T>
int64_t list(const char* kind, const HandleTable<T>& table) {
    table.for_each([kind](const T& object) {
        std::fprintf(stderr, "simulator: leak: %s %p\n", kind, static_cast<const void*>(&object));
    });
    return table.live();
}

}  // namespace

void report_leaks() {
    list_live_allocations(stderr);
    const int64_t count = counters().live_device_allocations.load() +
                          counters().live_host_allocations.load() + list("tensor", tensors()) +
                          list("executor", executors()) + list("event", events()) +
                          list("stream", streams()) + list("context", contexts());
    std::fprintf(stderr, "simulator: %lld leaks at finalise\n", static_cast<long long>(count));
}

}  // namespace onnx_ascend::simulator
