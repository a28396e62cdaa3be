#include "ort/copy.h"

#include <cstring>

#include "ort/names.h"

namespace onnx_ascend::ort {
namespace {

struct Place {
    bool on_device = false;  // not addressable by the host
    bool pinned = false;
    int32_t device_id = -1;  // of the NPU; -1 for plain host memory
};

Place place_of(const Ort& ort, const OrtValue* value) {
    const OrtMemoryDevice* device = ort.ep_api().Value_GetMemoryDevice(value);
    if (!is_ours(ort, device)) return {};
    const bool pinned =
        ort.ep_api().MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
    return {!pinned, pinned, static_cast<int32_t>(ort.ep_api().MemoryDevice_GetDeviceId(device))};
}

aclrtMemcpyKind kind_of(const Place& source, const Place& target) {
    if (source.on_device) return target.on_device ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_DEVICE_TO_HOST;
    return ACL_MEMCPY_HOST_TO_DEVICE;
}

}  // namespace

bool is_ours(const Ort& ort, const OrtMemoryDevice* device) {
    return ort.ep_api().MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_NPU &&
           ort.ep_api().MemoryDevice_GetVendorId(device) == kVendorId;
}

void copy_tensor(const Ort& ort, const OrtValue* source, OrtValue* target, SyncStream* stream,
                 bool* synchronize_later) {
    const void* from = nullptr;
    void* to = nullptr;
    size_t bytes = 0;
    size_t capacity = 0;
    ort.check(ort.api().GetTensorSizeInBytes(source, &bytes));
    ort.check(ort.api().GetTensorSizeInBytes(target, &capacity));
    if (bytes == 0) return;
    ort.check(ort.api().GetTensorData(source, &from));
    ort.check(ort.api().GetTensorMutableData(target, &to));
    const Place source_place = place_of(ort, source);
    const Place target_place = place_of(ort, target);
    const int32_t id = source_place.on_device ? source_place.device_id : target_place.device_id;
    Device& device = Acl::instance().device(id);
    const Acl& acl = device.acl();
    const bool between_hosts = !source_place.on_device && !target_place.on_device;
    const DeviceScope scope(device);
    if (stream != nullptr && !between_hosts && &stream->execution().device() == &device) {
        Stream& queue = stream->execution().stream();
        ONNX_ASCEND_CALL(acl, aclrtMemcpyAsync, to, capacity, from, bytes,
                         kind_of(source_place, target_place), queue.handle());
        queue.submitted();
        // Pinned memory is waited for by the notification of whoever reads it.
        const bool pageable_result = !target_place.on_device && !target_place.pinned;
        if (synchronize_later != nullptr)
            *synchronize_later = *synchronize_later || pageable_result;
        else if (pageable_result)
            stream->execution().synchronize();
        return;
    }
    device.synchronize();
    if (between_hosts) {
        if (bytes > capacity) throw InvalidArgument("the target of a copy is smaller than its source");
        std::memcpy(to, from, bytes);
        return;
    }
    ONNX_ASCEND_CALL(acl, aclrtMemcpy, to, capacity, from, bytes, kind_of(source_place, target_place));
}

}  // namespace onnx_ascend::ort
