#include "simulator/context.h"

#include <mutex>
#include <vector>

#include "simulator/counters.h"
#include "simulator/memory.h"
#include "simulator/process.h"
#include "simulator/settings.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {

HandleTable<Context>& contexts() {
    static HandleTable<Context>& instance = *new HandleTable<Context>(1u << 14);
    return instance;
}

namespace {

thread_local ContextReference current;

struct Device {
    uint64_t references = 0;
    Context* primary = nullptr;
};

struct Devices {
    std::mutex mutex;
    std::vector<Device> by_id{settings().visible.size()};
};

Devices& devices() {
    static Devices& instance = *new Devices;
    return instance;
}

int check_device(int32_t device) {
    if (const int status = require_initialised()) return status;
    const std::string& fault = settings().visible_devices_fault;
    if (!fault.empty()) return fail(ACL_ERROR_RT_NO_DEVICE, "%s", fault.c_str());
    const size_t count = settings().visible.size();
    if (count == 0) return fail(ACL_ERROR_RT_NO_DEVICE, "the machine has no device");
    if (device < 0 || static_cast<size_t>(device) >= count) {
        return fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %d is not in [0, %zu)", device, count);
    }
    return ACL_SUCCESS;
}

Context* create_context(uint32_t device, bool primary, int& status) {
    Context* context = contexts().create(Context{device, primary, nullptr});
    if (context == nullptr) {
        status = fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "no context left");
        return nullptr;
    }
    context->default_stream = create_stream(ContextReference(contexts(), context), device, 0);
    if (context->default_stream == nullptr) {
        contexts().destroy(context);
        status = fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "no stream left for the default stream of a context");
        return nullptr;
    }
    status = ACL_SUCCESS;
    return context;
}

void destroy_context(Context* context) {
    // Streams of the context go with it.
    const ContextReference reference(contexts(), context);
    std::vector<aclrtStream> of_context;
    streams().for_each([&](StreamHandle& handle) {
        if (handle.stream->context() == reference) of_context.push_back(&handle);
    });
    for (aclrtStream stream : of_context) destroy_stream(stream, false);
    contexts().destroy(context);
}

bool has_other_contexts(uint32_t device) {
    bool found = false;
    contexts().for_each([&](const Context& context) { found = found || context.device == device; });
    return found;
}

int reset_device(int32_t device, bool force) {
    if (const int status = check_device(device)) return status;
    const std::lock_guard<std::mutex> lock(devices().mutex);
    Device& state = devices().by_id[static_cast<size_t>(device)];
    if (state.references == 0) {
        return fail(ACL_ERROR_RT_CONTEXT_NULL, "device %d is not set, or was reset before", device);
    }
    state.references = force ? 0 : state.references - 1;
    if (state.references != 0) return ACL_SUCCESS;
    destroy_context(state.primary);
    state.primary = nullptr;
    if (!has_other_contexts(static_cast<uint32_t>(device))) free_all_of_device(static_cast<uint32_t>(device));
    return ACL_SUCCESS;
}

}  // namespace

Context* current_context() noexcept {
    return current.get(contexts());
}

ContextReference current_context_reference() noexcept {
    return current;
}

int refuse_without_context() noexcept {
    if (const int status = require_initialised()) return status;
    return fail(ACL_ERROR_RT_CONTEXT_NULL,
                "the calling thread has no context; call aclrtSetDevice in it first");
}

}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtSetDevice);
ONNX_ASCEND_CALL_POINT(aclrtResetDevice);
ONNX_ASCEND_CALL_POINT(aclrtResetDeviceForce);
ONNX_ASCEND_CALL_POINT(aclrtGetDevice);
ONNX_ASCEND_CALL_POINT(aclrtCreateContext);
ONNX_ASCEND_CALL_POINT(aclrtDestroyContext);
ONNX_ASCEND_CALL_POINT(aclrtSetCurrentContext);
ONNX_ASCEND_CALL_POINT(aclrtGetCurrentContext);
ONNX_ASCEND_CALL_POINT(aclrtCtxGetCurrentDefaultStream);
ONNX_ASCEND_CALL_POINT(aclrtGetPrimaryCtxState);

aclError aclrtSetDevice(int32_t deviceId) {
    return guarded(call_aclrtSetDevice, [&]() -> int {
        int status = check_device(deviceId);
        if (status != ACL_SUCCESS) return status;
        const std::lock_guard<std::mutex> lock(devices().mutex);
        Device& device = devices().by_id[static_cast<size_t>(deviceId)];
        if (device.primary == nullptr) {
            device.primary = create_context(static_cast<uint32_t>(deviceId), true, status);
            if (device.primary == nullptr) return status;
        }
        ++device.references;
        current = ContextReference(contexts(), device.primary);
        return ACL_SUCCESS;
    });
}

aclError aclrtResetDevice(int32_t deviceId) {
    return guarded_release(call_aclrtResetDevice, [&] { return reset_device(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    return guarded_release(call_aclrtResetDeviceForce, [&] { return reset_device(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
    return guarded(call_aclrtGetDevice, [&]() -> int {
        if (deviceId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "deviceId is nullptr");
        const Context* context = current_context();
        if (context == nullptr) return refuse_without_context();
        *deviceId = static_cast<int32_t>(context->device);
        return ACL_SUCCESS;
    });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
    return guarded(call_aclrtCreateContext, [&]() -> int {
        if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "context is nullptr");
        int status = check_device(deviceId);
        if (status != ACL_SUCCESS) return status;
        Context* created = create_context(static_cast<uint32_t>(deviceId), false, status);
        if (created == nullptr) return status;
        current = ContextReference(contexts(), created);
        *context = created;
        return ACL_SUCCESS;
    });
}

aclError aclrtDestroyContext(aclrtContext context) {
    return guarded_release(call_aclrtDestroyContext, [&]() -> int {
        if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "context is nullptr");
        if (const int status = require_initialised()) return status;
        Context* found = contexts().find(context);
        if (found == nullptr) {
            return violation(ACL_ERROR_RT_INVALID_HANDLE, "context %p %s", context,
                             contexts().describe(context));
        }
        if (found->primary) {
            return fail(ACL_ERROR_RT_PARAM_INVALID,
                        "a primary context is destroyed by aclrtResetDevice only");
        }
        destroy_context(found);
        return ACL_SUCCESS;
    });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    return guarded(call_aclrtSetCurrentContext, [&]() -> int {
        if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "context is nullptr");
        if (const int status = require_initialised()) return status;
        if (contexts().find(context) == nullptr) {
            return violation(ACL_ERROR_RT_INVALID_HANDLE, "context %p %s", context,
                             contexts().describe(context));
        }
        current = ContextReference(contexts(), context);
        return ACL_SUCCESS;
    });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    return guarded(call_aclrtGetCurrentContext, [&]() -> int {
        if (context == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "context is nullptr");
        Context* found = current_context();
        if (found == nullptr) return refuse_without_context();
        *context = found;
        return ACL_SUCCESS;
    });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
    return guarded(call_aclrtCtxGetCurrentDefaultStream, [&]() -> int {
        if (stream == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "stream is nullptr");
        const Context* context = current_context();
        if (context == nullptr) return refuse_without_context();
        *stream = context->default_stream;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
    return guarded(call_aclrtGetPrimaryCtxState, [&]() -> int {
        if (active == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "active is nullptr");
        if (const int status = check_device(deviceId)) return status;
        const std::lock_guard<std::mutex> lock(devices().mutex);
        if (flags != nullptr) *flags = 0;
        *active = devices().by_id[static_cast<size_t>(deviceId)].primary != nullptr ? 1 : 0;
        return ACL_SUCCESS;
    });
}
