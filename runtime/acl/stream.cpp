#include "acl/stream.h"

#include <algorithm>

#include "acl/device.h"

namespace onnx_ascend {

Stream::Stream(Device& device) : device_(device) {
    ONNX_ASCEND_CALL(device.acl(), aclrtCreateStream, &handle_);
    device.streams().add(*this);
}

Stream::~Stream() {
    device_.streams().remove(*this);
    // In a forked child the stream is not ours to end.
    if (device_.acl().forked()) return;
    const AclFunctions& functions = device_.acl().functions();
    if (!idle()) functions.aclrtSynchronizeStream(handle_);
    functions.aclrtDestroyStream(handle_);
}

void Stream::synchronize() {
    const uint64_t count = submitted_count();
    if (completed_count() == count) return;
    const aclError code = device_.acl().functions().aclrtSynchronizeStream(handle_);
    // A stream that failed runs nothing of what it had any more, so its memory is free too.
    completed(count);
    device_.acl().check(code, "aclrtSynchronizeStream");
}

void Stream::completed(uint64_t count) {
    uint64_t seen = completed_count();
    while (seen < count && !completed_.compare_exchange_weak(seen, count, std::memory_order_acq_rel)) {
    }
}

void StreamRegistry::add(Stream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    streams_.push_back({&stream, next_serial_++});
}

void StreamRegistry::remove(Stream& stream) {
    std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(std::remove_if(streams_.begin(), streams_.end(),
                                  [&](const Entry& entry) { return entry.stream == &stream; }),
                   streams_.end());
}

std::vector<PendingWork> StreamRegistry::pending() const {
    std::vector<PendingWork> work;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& entry : streams_)
        if (!entry.stream->idle())
            work.push_back({entry.stream, entry.serial, entry.stream->submitted_count()});
    return work;
}

const StreamRegistry::Entry* StreamRegistry::entry_of(const PendingWork& work) const {
    for (const Entry& entry : streams_)
        if (entry.serial == work.serial) return &entry;
    return nullptr;
}

bool StreamRegistry::finished_for(const std::vector<PendingWork>& work, const Stream* user) const {
    if (work.empty()) return true;
    std::lock_guard<std::mutex> lock(mutex_);
    return std::all_of(work.begin(), work.end(), [&](const PendingWork& each) {
        const Entry* entry = entry_of(each);
        // A destroyed stream has been waited for, and a stream runs its own work in order.
        return entry == nullptr || entry->stream == user ||
               entry->stream->completed_count() >= each.submitted;
    });
}

void StreamRegistry::mark_finished(const std::vector<PendingWork>& work) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const PendingWork& each : work)
        if (const Entry* entry = entry_of(each)) entry->stream->completed(each.submitted);
}

Stream* StreamRegistry::find(aclrtStream handle) const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const Entry& entry : streams_)
        if (entry.stream->handle() == handle) return entry.stream;
    return nullptr;
}

}  // namespace onnx_ascend
