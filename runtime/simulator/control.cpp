#include "simulator/control.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "simulator/call.h"
#include "simulator/context.h"
#include "simulator/counters.h"
#include "simulator/event.h"
#include "simulator/executor.h"
#include "simulator/stream.h"
#include "simulator/tensor.h"

namespace onnx_ascend::simulator {

namespace {

template <typename Number>
void append(std::string& json, const char* name, Number number) {
    json += json.empty() ? "{" : ", ";
    json += '"';
    json += name;
    json += "\": ";
    json += std::to_string(number);
}

std::string counters_as_json() {
    std::string json;
    for (const CallPoint* point = CallPoint::first(); point != nullptr; point = point->next()) {
        append(json, point->name(), point->count());
    }
    const Counters& c = counters();
    append(json, "launches", c.launches.load());
    append(json, "violations", c.violations.load());
    append(json, "executor_cache_hits", c.executor_cache_hits.load());
    append(json, "executor_cache_misses", c.executor_cache_misses.load());
    append(json, "copies_host_to_host", c.copies_host_to_host.load());
    append(json, "copies_host_to_device", c.copies_host_to_device.load());
    append(json, "copies_device_to_host", c.copies_device_to_host.load());
    append(json, "copies_device_to_device", c.copies_device_to_device.load());
    append(json, "bytes_in_use", c.bytes_in_use.load());
    append(json, "live_device_allocations", c.live_device_allocations.load());
    append(json, "live_host_allocations", c.live_host_allocations.load());
    append(json, "live_pending_tasks", c.live_pending_tasks.load());
    append(json, "live_contexts", contexts().live());
    append(json, "live_streams", streams().live());
    append(json, "live_events", events().live());
    append(json, "live_tensors", tensors().live());
    append(json, "live_executors", executors().live());
    json += "}";
    return json;
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

size_t onnx_ascend_sim_counters(char* buffer, size_t capacity) {
    const std::string json = counters_as_json();
    if (buffer != nullptr && capacity != 0) {
        const size_t length = std::min(json.size(), capacity - 1);
        std::memcpy(buffer, json.data(), length);
        buffer[length] = '\0';
    }
    return json.size() + 1;
}

void onnx_ascend_sim_reset() {
    CallPoint::reset_all();
    Counters& c = counters();
    for (std::atomic<uint64_t>* sum :
         {&c.launches, &c.violations, &c.executor_cache_hits, &c.executor_cache_misses,
          &c.copies_host_to_host, &c.copies_host_to_device, &c.copies_device_to_host,
          &c.copies_device_to_device}) {
        sum->store(0);
    }
}

int32_t onnx_ascend_sim_fault(const char* function, uint64_t nth, int32_t code) {
    CallPoint* point = function == nullptr ? nullptr : CallPoint::find(function);
    if (point == nullptr || nth == 0 || code == 0) return ACL_ERROR_INVALID_PARAM;
    point->arm(nth, code);
    return ACL_SUCCESS;
}

void onnx_ascend_sim_clear_faults(const char* function) {
    CallPoint* point = function == nullptr ? nullptr : CallPoint::find(function);
    if (point != nullptr) point->disarm();
}
