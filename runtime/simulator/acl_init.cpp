// The beginning and the end of ACL and of aclnn in a process.
#include "simulator/call.h"
#include "simulator/process.h"

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclInit);
ONNX_ASCEND_CALL_POINT(aclFinalize);
ONNX_ASCEND_CALL_POINT(aclFinalizeReference);
ONNX_ASCEND_CALL_POINT(aclnnInit);
ONNX_ASCEND_CALL_POINT(aclnnFinalize);

aclError aclInit(const char* configPath) {
    return guarded(call_aclInit, [&] { return initialise(configPath); });
}

aclError aclFinalize() {
    return guarded_release(call_aclFinalize, [&] { return finalise(); });
}

aclError aclFinalizeReference(uint64_t* refCount) {
    return guarded_release(call_aclFinalizeReference, [&] { return drop_reference(refCount); });
}

aclnnStatus aclnnInit(const char* configPath) {
    return guarded(call_aclnnInit, [&] { return initialise_aclnn(configPath); });
}

aclnnStatus aclnnFinalize() {
    return guarded_release(call_aclnnFinalize, [&] { return finalise_aclnn(); });
}
