// CANN's stream functions.

#include "simulator/process.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {
namespace {

int new_stream(aclrtStream* stream, uint32_t flags) {
    if (stream == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "stream is nullptr");
    const Context* context = current_context();
    if (context == nullptr) return refuse_without_context();
    const aclrtStream created = create_stream(current_context_reference(), context->device, flags);
    if (created == nullptr) return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "the device has no stream left");
    *stream = created;
    return ACL_SUCCESS;
}

int end_stream(aclrtStream handle, bool force) {
    if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "stream is nullptr");
    if (current_context() == nullptr) return refuse_without_context();
    int status = ACL_SUCCESS;
    const std::shared_ptr<Stream> stream = find_stream_of_current_context(handle, status);
    if (stream == nullptr) return status;
    if (handle == current_context()->default_stream) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "the default stream of a context ends with the context only");
    }
    destroy_stream(handle, force);
    return ACL_SUCCESS;
}

int wait_for_stream(aclrtStream handle, int32_t timeout) {
    if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is below -1", timeout);
    if (const int status = require_initialised()) return status;
    int status = ACL_SUCCESS;
    // Any thread may wait for any stream: CANN switches to the stream's context for the call.
    const std::shared_ptr<Stream> stream = find_stream(handle, status);
    if (stream == nullptr) return status;
    if (stream->ignores_synchronisation()) return ACL_SUCCESS;
    if (!stream->wait(timeout)) {
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the stream did not finish within %d ms", timeout);
    }
    const TaskFailure failure = stream->take_failure();
    if (failure.code != ACL_SUCCESS) return fail(failure.code, "%s", failure.message.c_str());
    return ACL_SUCCESS;
}

int wait_for_device(int32_t timeout) {
    if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is below -1", timeout);
    const Context* context = current_context();
    if (context == nullptr) return refuse_without_context();
    TaskFailure failure;
    if (!synchronise_device(context->device, timeout, failure)) {
        return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the device did not finish within %d ms", timeout);
    }
    if (failure.code != ACL_SUCCESS) return fail(failure.code, "%s", failure.message.c_str());
    return ACL_SUCCESS;
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtCreateStream);
ONNX_ASCEND_CALL_POINT(aclrtCreateStreamWithConfig);
ONNX_ASCEND_CALL_POINT(aclrtCreateStreamV2);
ONNX_ASCEND_CALL_POINT(aclrtDestroyStream);
ONNX_ASCEND_CALL_POINT(aclrtDestroyStreamForce);
ONNX_ASCEND_CALL_POINT(aclrtSynchronizeStream);
ONNX_ASCEND_CALL_POINT(aclrtSynchronizeStreamWithTimeout);
ONNX_ASCEND_CALL_POINT(aclrtStreamQuery);
ONNX_ASCEND_CALL_POINT(aclrtSynchronizeDevice);
ONNX_ASCEND_CALL_POINT(aclrtSynchronizeDeviceWithTimeout);

aclError aclrtCreateStream(aclrtStream* stream) {
    return guarded(call_aclrtCreateStream, [&] { return new_stream(stream, 0); });
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
    return guarded(call_aclrtCreateStreamWithConfig, [&]() -> int {
        if (priority > 7) return fail(ACL_ERROR_RT_PARAM_INVALID, "priority %u is not in [0, 7]", priority);
        return new_stream(stream, flag);
    });
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
    return guarded(call_aclrtCreateStreamV2, [&]() -> int {
        if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "handle is nullptr");
        return new_stream(stream, static_cast<uint32_t>(handle->flag));
    });
}

aclError aclrtDestroyStream(aclrtStream stream) {
    return guarded_release(call_aclrtDestroyStream, [&] { return end_stream(stream, false); });
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    return guarded_release(call_aclrtDestroyStreamForce, [&] { return end_stream(stream, true); });
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    return guarded_release(call_aclrtSynchronizeStream, [&] { return wait_for_stream(stream, -1); });
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    return guarded_release(call_aclrtSynchronizeStreamWithTimeout,
                           [&] { return wait_for_stream(stream, timeout); });
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
    return guarded(call_aclrtStreamQuery, [&]() -> int {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "status is nullptr");
        int found = ACL_SUCCESS;
        const std::shared_ptr<Stream> queried = find_stream(stream, found);
        if (queried == nullptr) return found;
        *status = queried->idle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtSynchronizeDevice() {
    return guarded_release(call_aclrtSynchronizeDevice, [&] { return wait_for_device(-1); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
    return guarded_release(call_aclrtSynchronizeDeviceWithTimeout, [&] { return wait_for_device(timeout); });
}
