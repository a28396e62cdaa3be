// CANN's functions that copy and fill memory.
#include <cstring>
#include <thread>
#include <tuple>

#include "simulator/counters.h"
#include "simulator/memory.h"
#include "simulator/settings.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {
namespace {

struct Copy {
    Region destination;
    Region source;
    size_t count = 0;
    bool to_device = false;
    bool from_device = false;
};

bool is_device_side(const Region& region) {
    return region.place == Place::device;
}

// Which sides a kind says are on the device. False for a kind that a plain copy does not know.
bool sides_of(aclrtMemcpyKind kind, const Copy& copy, bool& to_device, bool& from_device) {
    switch (kind) {
        case ACL_MEMCPY_HOST_TO_HOST:
            to_device = from_device = false;
            return true;
        case ACL_MEMCPY_HOST_TO_DEVICE:
        case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
            to_device = true;
            from_device = false;
            return true;
        case ACL_MEMCPY_DEVICE_TO_HOST:
            to_device = false;
            from_device = true;
            return true;
        case ACL_MEMCPY_DEVICE_TO_DEVICE:
        case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
        case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
            to_device = from_device = true;
            return true;
        case ACL_MEMCPY_DEFAULT:
            to_device = is_device_side(copy.destination);
            from_device = is_device_side(copy.source);
            return true;
    }
    return false;
}

int check_copy(void* dst, size_t dest_max, const void* src, size_t count, aclrtMemcpyKind kind,
               bool synchronous, Copy& copy) {
    if (dst == nullptr || src == nullptr) {
        return fail(ACL_ERROR_INVALID_PARAM, "%s is nullptr", dst == nullptr ? "dst" : "src");
    }
    copy = {find_region(dst, count), find_region(src, count), count};
    if (!sides_of(kind, copy, copy.to_device, copy.from_device)) {
        return fail(ACL_ERROR_INVALID_PARAM, "kind %d is unknown", static_cast<int>(kind));
    }
    if (current_context() == nullptr) return refuse_without_context();
    if (count > dest_max) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "count %zu exceeds destMax %zu", count, dest_max);
    }
    for (const auto& [region, name, address] :
         {std::tuple(&copy.destination, "dst", static_cast<const void*>(dst)),
          std::tuple(&copy.source, "src", src)}) {
        if (region->place == Place::invalid) {
            return violation(ACL_ERROR_RT_PARAM_INVALID,
                             "%s: %zu bytes at %p are not inside one live device allocation", name, count,
                             address);
        }
    }
    if (settings().run_mode == ACL_DEVICE) return ACL_SUCCESS;
    if (synchronous) {
        // A synchronous copy goes by the pointers, whatever the kind says.
        copy.to_device = is_device_side(copy.destination);
        copy.from_device = is_device_side(copy.source);
    } else if (copy.to_device != is_device_side(copy.destination) ||
               copy.from_device != is_device_side(copy.source)) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "kind %d does not fit: dst is %s memory, src is %s memory",
                    static_cast<int>(kind), is_device_side(copy.destination) ? "device" : "host",
                    is_device_side(copy.source) ? "device" : "host");
    }
    return ACL_SUCCESS;
}

void count_copy(const Copy& copy) {
    Counters& c = counters();
    (copy.to_device ? (copy.from_device ? c.copies_device_to_device : c.copies_host_to_device)
                    : (copy.from_device ? c.copies_device_to_host : c.copies_host_to_host))
        .fetch_add(1, std::memory_order_relaxed);
}

int check_fill(void* dev_ptr, size_t max_count, size_t count, Region& region) {
    if (dev_ptr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "devPtr is nullptr");
    if (current_context() == nullptr) return refuse_without_context();
    if (count > max_count) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "count %zu exceeds maxCount %zu", count, max_count);
    }
    region = find_region(dev_ptr, count);
    if (!region.usable_by_device()) {
        return violation(ACL_ERROR_RT_PARAM_INVALID,
                         "%zu bytes at %p are not inside one live device allocation", count, dev_ptr);
    }
    return ACL_SUCCESS;
}

void wait_latency() {
    if (settings().latency.count() != 0) std::this_thread::sleep_for(settings().latency);
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtMemcpy);
ONNX_ASCEND_CALL_POINT(aclrtMemcpyAsync);
ONNX_ASCEND_CALL_POINT(aclrtMemset);
ONNX_ASCEND_CALL_POINT(aclrtMemsetAsync);

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
    return guarded(call_aclrtMemcpy, [&]() -> int {
        if (count == 0) return ACL_SUCCESS;
        Copy copy;
        if (const int status = check_copy(dst, destMax, src, count, kind, true, copy)) return status;
        wait_latency();
        std::memmove(copy.destination.view, copy.source.view, count);
        count_copy(copy);
        return ACL_SUCCESS;
    });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    return guarded(call_aclrtMemcpyAsync, [&]() -> int {
        if (count == 0) return ACL_SUCCESS;
        Copy copy;
        if (const int status = check_copy(dst, destMax, src, count, kind, false, copy)) return status;
        int status = ACL_SUCCESS;
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        if (!copy.to_device && !copy.from_device) {
            return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                        "an asynchronous copy from host to host is not supported");
        }
        // Memory that is not pinned cannot be read behind the caller's back: such a copy blocks.
        const bool blocks = (!copy.to_device && copy.destination.place == Place::foreign) ||
                            (!copy.from_device && copy.source.place == Place::foreign);
        target->submit([copy, destination = Pin(copy.destination.block), source = Pin(copy.source.block)] {
            std::memmove(copy.destination.view, copy.source.view, copy.count);
            return TaskFailure{};
        });
        count_copy(copy);
        if (blocks) target->wait(-1);
        return ACL_SUCCESS;
    });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
    return guarded(call_aclrtMemset, [&]() -> int {
        if (count == 0) return ACL_SUCCESS;
        Region region;
        if (const int status = check_fill(devPtr, maxCount, count, region)) return status;
        std::memset(region.view, value, count);
        return ACL_SUCCESS;
    });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
    return guarded(call_aclrtMemsetAsync, [&]() -> int {
        if (count == 0) return ACL_SUCCESS;
        Region region;
        if (const int status = check_fill(devPtr, maxCount, count, region)) return status;
        int status = ACL_SUCCESS;
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        target->submit([view = region.view, value, count, pin = Pin(region.block)] {
            std::memset(view, value, count);
            return TaskFailure{};
        });
        return ACL_SUCCESS;
    });
}
