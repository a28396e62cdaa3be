// A stream with what launching kernels into it needs: a workspace and the executors that are kept.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "acl/device.h"
#include "dispatch/executor_cache.h"

namespace onnx_ascend {

// Used by one thread at a time.
class ExecutionStream {
  public:
    // The device must be current in the calling thread, here and for every member.
    explicit ExecutionStream(Device& device) : stream_(device) {}
    ~ExecutionStream();

    Device& device() { return stream_.device(); }
    Stream& stream() { return stream_; }
    ExecutorCache& executors() { return executors_; }

    // One buffer for all launches, since they run one after another. It grows and never shrinks.
    void* workspace(uint64_t size);

    // Waits for the stream, then lets go of what its launches needed.
    void synchronize();

    // Work in the stream has failed; whether it can run more is up to the device.
    bool broken() const { return broken_; }

  private:
    Stream stream_;
    ExecutorCache executors_;
    PoolBuffer workspace_;
    uint64_t workspace_size_ = 0;
    bool broken_ = false;
};

// The execution streams of a device that nobody is using.
class StreamPool {
  public:
    // The one of the device; lives as long as the process.
    static StreamPool& of(Device& device);

    explicit StreamPool(Device& device) : device_(device) {}

    // A stream from the pool, or a new one. The device must be current in the calling thread.
    std::unique_ptr<ExecutionStream> take();
    void give_back(std::unique_ptr<ExecutionStream> stream);

  private:
    Device& device_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<ExecutionStream>> idle_;
};

// A stream for a call that brings none. Given back when the lease ends, unless the stream is broken.
class StreamLease {
  public:
    explicit StreamLease(StreamPool& pool) : pool_(pool), stream_(pool.take()) {}
    ~StreamLease() { pool_.give_back(std::move(stream_)); }
    StreamLease(const StreamLease&) = delete;
    StreamLease& operator=(const StreamLease&) = delete;

    ExecutionStream& operator*() const { return *stream_; }
    ExecutionStream* operator->() const { return stream_.get(); }

  private:
    StreamPool& pool_;
    std::unique_ptr<ExecutionStream> stream_;
};

}  // namespace onnx_ascend
