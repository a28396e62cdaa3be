// ACL's last error of a thread: aclGetRecentErrMsg, aclrtGetLastError, aclrtPeekAtLastError.
#include "simulator/call.h"
#include "simulator/errors.h"

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclGetRecentErrMsg);
ONNX_ASCEND_CALL_POINT(aclrtGetLastError);
ONNX_ASCEND_CALL_POINT(aclrtPeekAtLastError);

// These three must not record anything themselves, and must answer in a forked child too.

const char* aclGetRecentErrMsg() {
    return call_aclGetRecentErrMsg.enter() == ACL_SUCCESS ? take_message() : nullptr;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
    const int injected = call_aclrtGetLastError.enter();
    if (injected != ACL_SUCCESS) return injected;
    return level == ACL_RT_THREAD_LEVEL ? take_last_error() : ACL_ERROR_RT_PARAM_INVALID;
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
    const int injected = call_aclrtPeekAtLastError.enter();
    if (injected != ACL_SUCCESS) return injected;
    return level == ACL_RT_THREAD_LEVEL ? peek_last_error() : ACL_ERROR_RT_PARAM_INVALID;
}
