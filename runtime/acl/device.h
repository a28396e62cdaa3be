// A device that this process has opened, and the scope in which a thread works on it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "acl/api.h"
#include "acl/memory.h"

namespace onnx_ascend {

class Stream;

class Device {
  public:
    // Opens the device. The calling thread's current context is restored.
    Device(Acl& acl, int32_t id);

    Acl& acl() { return acl_; }
    int32_t id() const { return id_; }
    aclrtContext context() const { return context_; }

    MemoryPool& memory() { return memory_; }
    MemoryPool& host_memory() { return host_memory_; }

    // Waits until nothing that was submitted is still running; no call of ACL when nothing is. The device
    // need not be current.
    void synchronize();

    // Every stream that is alive. Memory that is given back may still be in use by work in any of them.
    StreamRegistry& streams() { return streams_; }

  private:
    Acl& acl_;
    int32_t id_;
    aclrtContext context_ = nullptr;
    StreamRegistry streams_;
    MemoryPool memory_;
    MemoryPool host_memory_;
};

// Makes the device's context the calling thread's for the scope's life. The context that another library had
// made current is put back; a thread that had none keeps ours, because ACL has no way to unset it.
class DeviceScope {
  public:
    explicit DeviceScope(Device& device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

  private:
    Acl& acl_;
    aclrtContext restore_ = nullptr;
};

struct DeviceMemoryInfo {
    size_t free = 0;
    size_t total = 0;
};

// Asks a device for its memory without keeping it; nothing where the device cannot be opened.
std::optional<DeviceMemoryInfo> query_memory(Acl& acl, int32_t id);

}  // namespace onnx_ascend
