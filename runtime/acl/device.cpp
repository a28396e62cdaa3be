#include "acl/device.h"

namespace onnx_ascend {
namespace {

// The context that is current in this thread, or null. A thread without one answers 107002, which is no
// fault.
aclrtContext current_context(const Acl& acl) {
    aclrtContext context = nullptr;
    if (acl.functions().aclrtGetCurrentContext(&context) != ACL_SUCCESS) {
        acl.functions().aclGetRecentErrMsg();  // takes the text of this answer away from the next real error
        return nullptr;
    }
    return context;
}

}  // namespace

Device::Device(Acl& acl, int32_t id)
    : acl_(acl),
      id_(id),
      memory_(*this, MemoryPool::Kind::device),
      host_memory_(*this, MemoryPool::Kind::pinned_host) {
    const aclrtContext before = current_context(acl);
    // Counted by ACL and never given back: the device stays open until the process ends, like the sessions on
    // it may.
    ONNX_ASCEND_CALL(acl, aclrtSetDevice, id);
    ONNX_ASCEND_CALL(acl, aclrtGetCurrentContext, &context_);
    if (before != nullptr && before != context_) ONNX_ASCEND_CALL(acl, aclrtSetCurrentContext, before);
}

void Device::synchronize() {
    const std::vector<PendingWork> work = streams_.pending();
    if (work.empty()) return;
    const DeviceScope scope(*this);
    const aclError code = acl_.functions().aclrtSynchronizeDevice();
    streams_.mark_finished(work);
    acl_.check(code, "aclrtSynchronizeDevice");
}

DeviceScope::DeviceScope(Device& device) : acl_(device.acl()) {
    acl_.require_same_process();
    const aclrtContext before = current_context(acl_);
    if (before == device.context()) return;
    ONNX_ASCEND_CALL(acl_, aclrtSetCurrentContext, device.context());
    restore_ = before;
}

DeviceScope::~DeviceScope() {
    if (restore_ != nullptr) acl_.functions().aclrtSetCurrentContext(restore_);
}

std::optional<DeviceMemoryInfo> query_memory(Acl& acl, int32_t id) {
    if (acl.forked()) return std::nullopt;
    const aclrtContext before = current_context(acl);
    if (acl.functions().aclrtSetDevice(id) != ACL_SUCCESS) {
        acl.functions().aclGetRecentErrMsg();
        return std::nullopt;
    }
    DeviceMemoryInfo info;
    const bool answered =
        acl.functions().aclrtGetMemInfo(ACL_HBM_MEM, &info.free, &info.total) == ACL_SUCCESS;
    if (before != nullptr) acl.functions().aclrtSetCurrentContext(before);
    acl.functions().aclrtResetDevice(id);
    if (!answered) return std::nullopt;
    return info;
}

}  // namespace onnx_ascend
