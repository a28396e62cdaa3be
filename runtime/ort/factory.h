// OrtEpFactory: what ONNX Runtime asks before there is a session, and the memory it shares between sessions.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/device.h"
#include "ort/api.h"
#include "ort/names.h"

namespace onnx_ascend::ort {

// A handle of ONNX Runtime, released by the function of its kind.
template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

// The memory of one device in ONNX Runtime's terms. ONNX Runtime keeps pointers to it.
struct DeviceMemory {
    int32_t device_id;
    Handle<OrtMemoryInfo> device;
    Handle<OrtMemoryInfo> pinned_host;
};

class Factory : public OrtEpFactory {
  public:
    // One factory per ONNX Runtime, made once and never destroyed: allocators and tensors lead back to it,
    // and may outlive the registration.
    static Factory* create(const Ort& ort, const OrtLogger* logger);
    static void release(OrtEpFactory* factory);

    const Ort& ort() const { return ort_; }

    // Null when the device shares the host's memory: then tensors are plain CPU tensors to ONNX Runtime.
    const DeviceMemory* memory_of(int32_t device_id) const;

    OrtAllocator* create_allocator(const OrtMemoryInfo* info);
    OrtSyncStreamImpl* create_stream(const OrtMemoryDevice* device);
    const OrtKernelRegistry* memcpy_kernels();

  private:
    explicit Factory(const Ort& ort);

    size_t supported_devices(OrtEpDevice** ep_devices, size_t max_ep_devices);
    OrtEpDevice* make_ep_device(Acl& acl, int32_t id);
    OrtHardwareDevice* hardware_device(Acl& acl, int32_t id);
    const DeviceMemory& memory_for(int32_t id);
    OrtEp* create_ep(const OrtHardwareDevice* const* devices, const OrtKeyValuePairs* const* metadata,
                     size_t count, const OrtSessionOptions* options, const OrtLogger* logger);

    const Ort& ort_;
    const OrtLogger* logger_ = nullptr;  // valid while the library is registered
    mutable std::mutex mutex_;
    std::map<int32_t, DeviceMemory> memory_;
    std::map<int32_t, Handle<OrtHardwareDevice>> hardware_;
    Handle<OrtKernelRegistry> memcpy_kernels_;
};

}  // namespace onnx_ascend::ort
