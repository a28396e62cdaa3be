// CANN's functions that allocate and free memory.
#include "simulator/context.h"
#include "simulator/memory.h"
#include "simulator/process.h"
#include "simulator/settings.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {
namespace {

bool known_policy(aclrtMemMallocPolicy policy) {
    const unsigned bits = static_cast<unsigned>(policy) &
                          ~static_cast<unsigned>(ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH |
                                                 ACL_MEM_ACCESS_USER_SPACE_READONLY);
    return bits <= static_cast<unsigned>(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P);
}

int new_device_memory(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
    if (devPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "devPtr is nullptr");
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
    if (!known_policy(policy))
        return fail(ACL_ERROR_INVALID_PARAM, "policy %d is unknown", static_cast<int>(policy));
    const Context* context = current_context();
    if (context == nullptr) return refuse_without_context();
    void* memory = allocate_device(context->device, size);
    if (memory == nullptr) {
        const MemoryInfo info = device_memory_info(context->device);
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes asked for, %zu of %zu free on device %u", size,
                    info.free, info.total, context->device);
    }
    *devPtr = memory;
    return ACL_SUCCESS;
}

int report_free(FreeResult result, const void* address, const char* kind) {
    switch (result) {
        case FreeResult::done:
            return ACL_SUCCESS;
        case FreeResult::in_use:
            return violation(
                ACL_ERROR_RT_MEMORY_FREE,
                "%s %p is still used by work that its stream has not finished; synchronise first", kind,
                address);
        default:
            return violation(ACL_ERROR_RT_PARAM_INVALID, "%p is no live %s: freed before, or never allocated",
                             address, kind);
    }
}

int free_device_memory(void* devPtr, bool synchronise) {
    if (devPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "devPtr is nullptr");
    const Context* context = current_context();
    if (context == nullptr) return refuse_without_context();
    if (synchronise) {
        TaskFailure failure;
        synchronise_device(context->device, -1, failure);
    }
    return report_free(free_device(devPtr), devPtr, "device allocation");
}

bool is_high_bandwidth(aclrtMemAttr attr) {
    switch (attr) {
        case ACL_HBM_MEM:
        case ACL_HBM_MEM_HUGE:
        case ACL_HBM_MEM_NORMAL:
        case ACL_HBM_MEM_P2P_HUGE:
        case ACL_HBM_MEM_P2P_NORMAL:
        case ACL_HBM_MEM_HUGE1G:
        case ACL_HBM_MEM_P2P_HUGE1G:
            return true;
        default:
            return false;
    }
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtMalloc);
ONNX_ASCEND_CALL_POINT(aclrtMallocAlign32);
ONNX_ASCEND_CALL_POINT(aclrtMallocCached);
ONNX_ASCEND_CALL_POINT(aclrtMallocWithCfg);
ONNX_ASCEND_CALL_POINT(aclrtFree);
ONNX_ASCEND_CALL_POINT(aclrtFreeWithDevSync);
ONNX_ASCEND_CALL_POINT(aclrtMallocHost);
ONNX_ASCEND_CALL_POINT(aclrtFreeHost);
ONNX_ASCEND_CALL_POINT(aclrtGetMemInfo);
ONNX_ASCEND_CALL_POINT(aclrtPointerGetAttributes);

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return guarded(call_aclrtMalloc, [&] { return new_device_memory(devPtr, size, policy); });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return guarded(call_aclrtMallocAlign32, [&] { return new_device_memory(devPtr, size, policy); });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return guarded(call_aclrtMallocCached, [&] { return new_device_memory(devPtr, size, policy); });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
    return guarded(call_aclrtMallocWithCfg, [&]() -> int {
        if (cfg != nullptr && cfg->numAttrs != 0 && cfg->attrs == nullptr) {
            return fail(ACL_ERROR_INVALID_PARAM, "cfg->attrs is nullptr and cfg->numAttrs is not 0");
        }
        return new_device_memory(devPtr, size, policy);
    });
}

aclError aclrtFree(void* devPtr) {
    return guarded_release(call_aclrtFree, [&] { return free_device_memory(devPtr, false); });
}

aclError aclrtFreeWithDevSync(void* devPtr) {
    return guarded_release(call_aclrtFreeWithDevSync, [&] { return free_device_memory(devPtr, true); });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
    return guarded(call_aclrtMallocHost, [&]() -> int {
        if (hostPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "hostPtr is nullptr");
        if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
        if (current_context() == nullptr) return refuse_without_context();
        void* memory = allocate_host(size);
        if (memory == nullptr)
            return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%zu bytes of host memory asked for", size);
        *hostPtr = memory;
        return ACL_SUCCESS;
    });
}

aclError aclrtFreeHost(void* hostPtr) {
    return guarded_release(call_aclrtFreeHost, [&]() -> int {
        if (hostPtr == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "hostPtr is nullptr");
        if (const int status = require_initialised()) return status;
        return report_free(free_host(hostPtr), hostPtr, "host allocation");
    });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
    return guarded(call_aclrtGetMemInfo, [&]() -> int {
        if (free == nullptr || total == nullptr)
            return fail(ACL_ERROR_INVALID_PARAM, "free or total is nullptr");
        const Context* context = current_context();
        if (context == nullptr) return refuse_without_context();
        // A chip without high-bandwidth memory answers for its plain memory; the other way round it answers
        // zeros.
        const bool answered = is_high_bandwidth(attr) || !settings().soc.high_bandwidth_memory();
        const MemoryInfo info = answered ? device_memory_info(context->device) : MemoryInfo{0, 0};
        *free = info.free;
        *total = info.total;
        return ACL_SUCCESS;
    });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
    return guarded(call_aclrtPointerGetAttributes, [&]() -> int {
        if (ptr == nullptr || attributes == nullptr) {
            return fail(ACL_ERROR_INVALID_PARAM, "ptr or attributes is nullptr");
        }
        if (const int status = require_initialised()) return status;
        const Region region = find_region(ptr, 1);
        *attributes = {};
        switch (region.place) {
            case Place::device:
                attributes->location = {region.device, ACL_MEM_LOCATION_TYPE_DEVICE};
                break;
            case Place::pinned:
                attributes->location = {0, ACL_MEM_LOCATION_TYPE_HOST};
                break;
            default:
                attributes->location = {0, ACL_MEM_LOCATION_TYPE_UNREGISTERED};
                break;
        }
        attributes->pageSize = 4096;
        return ACL_SUCCESS;
    });
}
