#include "dispatch/execution_stream.h"

#include <unordered_map>

namespace onnx_ascend {
namespace {

// Streams are scarce on a device (512 on a 310B), so those that are not in use are kept for the next call, up
// to a number that covers the usual count of threads.
constexpr size_t kMaxIdleStreams = 32;
constexpr size_t kMaxRetired = 64;

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

StreamPool& StreamPool::of(Device& device) {
    // Never destroyed, like the devices.
    static auto* mutex = new std::mutex();
    static auto* pools = new std::unordered_map<Device*, std::unique_ptr<StreamPool>>();
    std::lock_guard<std::mutex> lock(*mutex);
    std::unique_ptr<StreamPool>& pool = (*pools)[&device];
    if (pool == nullptr) pool = std::make_unique<StreamPool>(device);
    return *pool;
}

std::unique_ptr<ExecutionStream> StreamPool::take() {
    std::unique_ptr<ExecutionStream> stream;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (!idle_.empty()) {
            stream = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (stream == nullptr) return std::make_unique<ExecutionStream>(device_);
    if (stream->executors().retired_count() > kMaxRetired) stream->synchronize();
    return stream;
}

void StreamPool::give_back(std::unique_ptr<ExecutionStream> stream) {
    if (stream->broken()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() < kMaxIdleStreams) idle_.push_back(std::move(stream));
}

}  // namespace onnx_ascend
