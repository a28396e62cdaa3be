// Device memory and pinned host memory, pooled: ACL's own allocation is slow, and freeing does not wait for
// the work that still uses the memory.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "acl/stream.h"

namespace onnx_ascend {

class Device;

struct MemoryPoolStatistics {
    size_t in_use = 0;  // bytes that are given out
    size_t max_in_use = 0;
    size_t allocated = 0;    // bytes that are held, given out or not
    size_t allocations = 0;  // how often ACL was asked
    size_t requests = 0;     // how often the pool was asked
};

// A block that was given back is given out again only to work that begins after everything which was running
// on the device at that moment. Blocks come in classes of size, at most an eighth larger than asked for.
class MemoryPool {
  public:
    enum class Kind { device, pinned_host };

    MemoryPool(Device& device, Kind kind) : device_(device), kind_(kind) {}

    // Null for 0 bytes. `user` is the stream that will use the memory first, or null when that is not known.
    // Throws Error when the device has no more, after giving back what the pool holds.
    void* allocate(size_t size, const Stream* user);

    // Does nothing for null. Never throws.
    void free(void* pointer) noexcept;

    // Gives the blocks that nobody uses back to ACL, after waiting for the device.
    void trim();

    MemoryPoolStatistics statistics() const;

  private:
    struct FreeBlock {
        void* pointer;
        std::vector<PendingWork> pending;
    };

    void* take(size_t size, const Stream* user);
    int32_t request(void** pointer, size_t size);
    void release(void* pointer) noexcept;
    void trim_locked();

    Device& device_;
    Kind kind_;
    mutable std::mutex mutex_;
    std::map<size_t, std::vector<FreeBlock>> free_;
    std::unordered_map<void*, size_t> sizes_;  // of every block that is given out
    MemoryPoolStatistics statistics_;
};

// A block of a pool.
class PoolBuffer {
  public:
    PoolBuffer() = default;
    PoolBuffer(MemoryPool& pool, size_t size, const Stream* user)
        : pool_(&pool), data_(pool.allocate(size, user)) {}
    PoolBuffer(PoolBuffer&& other) noexcept : pool_(other.pool_), data_(other.data_) {
        other.data_ = nullptr;
    }
    PoolBuffer& operator=(PoolBuffer&& other) noexcept {
        std::swap(pool_, other.pool_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~PoolBuffer() {
        if (data_ != nullptr) pool_->free(data_);
    }

    void* data() const { return data_; }

  private:
    MemoryPool* pool_ = nullptr;
    void* data_ = nullptr;
};

}  // namespace onnx_ascend
