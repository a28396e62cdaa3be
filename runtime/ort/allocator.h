// OrtAllocator: device memory or pinned host memory for ONNX Runtime's tensors.
#pragma once

#include "acl/device.h"
#include "ort/api.h"

namespace onnx_ascend::ort {

class Allocator : public OrtAllocator {
  public:
    // `info` must outlive the allocator.
    Allocator(const Ort& ort, Device& device, bool pinned_host, const OrtMemoryInfo* info);

    // Returns what the pool holds to ACL: a session goes, and its memory with it.
    ~Allocator();

  private:
    MemoryPool& pool() const { return pinned_host_ ? device_.host_memory() : device_.memory(); }
    void* allocate(size_t size, OrtSyncStream* stream) noexcept;

    const Ort& ort_;
    Device& device_;
    bool pinned_host_;
    const OrtMemoryInfo* info_;
};

}  // namespace onnx_ascend::ort
