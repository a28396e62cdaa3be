// A stream of a device, and how far it has come.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "acl/abi.h"

namespace onnx_ascend {

class Device;

// Counts what was put into the stream and what has surely been done, so that nobody waits for an idle stream
// and the memory pools know what may still be in use. One thread at a time submits to a stream.
class Stream {
  public:
    // The device must be current in the calling thread (DeviceScope).
    explicit Stream(Device& device);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    Device& device() { return device_; }
    aclrtStream handle() const { return handle_; }

    // To be called after every launch and asynchronous copy.
    void submitted() { submitted_.fetch_add(1, std::memory_order_release); }

    // Waits until everything that was submitted is done; no call of ACL when it is.
    void synchronize();

    uint64_t submitted_count() const { return submitted_.load(std::memory_order_acquire); }
    uint64_t completed_count() const { return completed_.load(std::memory_order_acquire); }
    bool idle() const { return submitted_count() == completed_count(); }

    // Everything up to `count` is done, as somebody else has found out (an event, the whole device).
    void completed(uint64_t count);

  private:
    Device& device_;
    aclrtStream handle_ = nullptr;
    std::atomic<uint64_t> submitted_{0};
    std::atomic<uint64_t> completed_{0};
};

// Work that may still be running: stream and how many submissions it had.
struct PendingWork {
    const Stream* stream;
    uint64_t serial;  // tells a stream from a later one at the same address
    uint64_t submitted;
};

// The living streams of a device.
class StreamRegistry {
  public:
    void add(Stream& stream);
    void remove(Stream& stream);

    // What every stream still has to do.
    std::vector<PendingWork> pending() const;

    // Whether work put into `user` now would begin after all of `work` has ended.
    bool finished_for(const std::vector<PendingWork>& work, const Stream* user) const;

    // The whole device has been waited for: what was submitted up to `work` is done.
    void mark_finished(const std::vector<PendingWork>& work);

    // The stream with this handle, or null.
    Stream* find(aclrtStream handle) const;

  private:
    struct Entry {
        Stream* stream;
        uint64_t serial;
    };
    const Entry* entry_of(const PendingWork& work) const;

    mutable std::mutex mutex_;
    std::vector<Entry> streams_;
    uint64_t next_serial_ = 1;
};

}  // namespace onnx_ascend
