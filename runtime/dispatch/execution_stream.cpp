#include "dispatch/execution_stream.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace onnx_ascend {
namespace {

// Streams are scarce on a device (512 on a 310B), so those that are not in use are kept for the next call, up
// to a number that covers the usual count of threads.
constexpr size_t kMaxIdleStreams = 32;
constexpr size_t kMaxRetired = 64;

struct IdleStreams {
    std::mutex mutex;
    std::unordered_map<Device*, std::vector<std::unique_ptr<ExecutionStream>>> of_device;
};

IdleStreams& idle_streams() {
    static IdleStreams* streams = new IdleStreams();
    return *streams;
}

}  // namespace

ExecutionStream::~ExecutionStream() {
    if (device().acl().forked()) return;
    try {
        stream_.synchronize();
    } catch (const Error&) {
        // The stream goes away, and its failure was or will be reported by the call that was waiting for it.
    }
}

void* ExecutionStream::workspace(uint64_t size) {
    if (size > workspace_size_) {
        // The old buffer goes back to the pool, which does not give it out before the launches that use it
        // are done.
        workspace_ = PoolBuffer(device().memory(), size, &stream_);
        workspace_size_ = size;
    }
    return size == 0 ? nullptr : workspace_.data();
}

void ExecutionStream::synchronize() {
    try {
        stream_.synchronize();
    } catch (const Error&) {
        broken_ = true;
        throw;
    }
    if (executors_.retired_count() > 0) executors_.drop_retired();
}

StreamLease::StreamLease(Device& device) : device_(device) {
    IdleStreams& idle = idle_streams();
    {
        std::lock_guard<std::mutex> lock(idle.mutex);
        auto& streams = idle.of_device[&device];
        if (!streams.empty()) {
            stream_ = std::move(streams.back());
            streams.pop_back();
        }
    }
    if (stream_ == nullptr) stream_ = std::make_unique<ExecutionStream>(device);
    if (stream_->executors().retired_count() > kMaxRetired) stream_->synchronize();
}

StreamLease::~StreamLease() {
    if (stream_->broken() || device_.acl().forked()) return;
    IdleStreams& idle = idle_streams();
    std::lock_guard<std::mutex> lock(idle.mutex);
    auto& streams = idle.of_device[&device_];
    if (streams.size() < kMaxIdleStreams) streams.push_back(std::move(stream_));
}

}  // namespace onnx_ascend
