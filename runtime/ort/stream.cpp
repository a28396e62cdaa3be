#include "ort/stream.h"

#include <mutex>
#include <unordered_map>

namespace onnx_ascend::ort {
namespace {

struct LivingStreams {
    std::mutex mutex;
    std::unordered_map<void*, SyncStream*> by_handle;
};

LivingStreams& living_streams() {
    static LivingStreams* streams = new LivingStreams();
    return *streams;
}

SyncStream* self(OrtSyncStreamImpl* stream) {
    return static_cast<SyncStream*>(stream);
}

Device& device_of(SyncStream& stream) {
    return stream.execution().device();
}

}  // namespace

SyncStream::SyncStream(const Ort& ort, Device& device) : OrtSyncStreamImpl{}, ort_(ort), device_(device) {
    ort_version_supported = ort.version();
    OrtSyncStreamImpl::Release = [](OrtSyncStreamImpl* stream) { delete self(stream); };
    OrtSyncStreamImpl::GetHandle = [](OrtSyncStreamImpl* stream) -> void* {
        return self(stream)->execution_->stream().handle();
    };
    OrtSyncStreamImpl::CreateNotification = [](OrtSyncStreamImpl* stream, OrtSyncNotificationImpl** out) {
        *out = nullptr;
        return self(stream)->ort_.guarded([&] { *out = new Notification(*self(stream)); });
    };
    OrtSyncStreamImpl::Flush = [](OrtSyncStreamImpl* stream) {
        return self(stream)->ort_.guarded([&] { self(stream)->execution_->synchronize(); });
    };
    // Flush follows at the end of a run; at the end of a subgraph nothing has to wait.
    OrtSyncStreamImpl::OnSessionRunEnd = [](OrtSyncStreamImpl*) -> OrtStatusPtr { return nullptr; };
    {
        const DeviceScope scope(device);
        execution_ = std::make_unique<ExecutionStream>(device);
    }
    LivingStreams& living = living_streams();
    std::lock_guard<std::mutex> lock(living.mutex);
    living.by_handle[execution_->stream().handle()] = this;
}

SyncStream::~SyncStream() {
    {
        LivingStreams& living = living_streams();
        std::lock_guard<std::mutex> lock(living.mutex);
        living.by_handle.erase(execution_->stream().handle());
    }
    if (device_.acl().forked()) {
        execution_.reset();
        return;
    }
    try {
        const DeviceScope scope(device_);
        execution_.reset();
    } catch (const Error&) {
        // The device is gone, and its streams with it.
    }
}

SyncStream* SyncStream::from(const Ort& ort, OrtSyncStream* stream) {
    // Not by SyncStream_GetImpl: it takes every stream for a plugin's, and ONNX Runtime also passes its own.
    return from_handle(ort.api().SyncStream_GetHandle(stream));
}

SyncStream* SyncStream::from_handle(void* handle) {
    if (handle == nullptr) return nullptr;
    LivingStreams& living = living_streams();
    std::lock_guard<std::mutex> lock(living.mutex);
    const auto known = living.by_handle.find(handle);
    return known == living.by_handle.end() ? nullptr : known->second;
}

Notification::Notification(SyncStream& producer)
    : OrtSyncNotificationImpl{}, ort_(producer.ort()), producer_(producer), device_(device_of(producer)) {
    ort_version_supported = ort_.version();
    OrtSyncNotificationImpl::Release = [](OrtSyncNotificationImpl* notification) {
        delete static_cast<Notification*>(notification);
    };
    OrtSyncNotificationImpl::Activate = [](OrtSyncNotificationImpl* notification) {
        auto* me = static_cast<Notification*>(notification);
        return me->ort_.guarded([&] { me->activate(); });
    };
    OrtSyncNotificationImpl::WaitOnDevice = [](OrtSyncNotificationImpl* notification,
                                               OrtSyncStream* consumer) {
        auto* me = static_cast<Notification*>(notification);
        return me->ort_.guarded([&] { me->wait_on_device(consumer); });
    };
    OrtSyncNotificationImpl::WaitOnHost = [](OrtSyncNotificationImpl* notification) {
        auto* me = static_cast<Notification*>(notification);
        return me->ort_.guarded([&] { me->wait_on_host(); });
    };
    const DeviceScope scope(device_);
    // An event made with this call may be recorded again and again; without it every event serves one run,
    // which is also how ONNX Runtime uses them.
    if (device_.acl().functions().aclrtCreateEventExWithFlag != nullptr)
        ONNX_ASCEND_CALL(device_.acl(), aclrtCreateEventExWithFlag, &event_, ACL_EVENT_SYNC);
    else
        ONNX_ASCEND_CALL(device_.acl(), aclrtCreateEvent, &event_);
}

Notification::~Notification() {
    if (event_ == nullptr || device_.acl().forked()) return;
    try {
        const DeviceScope scope(device_);
        device_.acl().functions().aclrtDestroyEvent(event_);
    } catch (const Error&) {
        // The device is gone, and its events with it.
    }
}

void Notification::activate() {
    const DeviceScope scope(device_);
    Stream& stream = producer_.execution().stream();
    ONNX_ASCEND_CALL(device_.acl(), aclrtRecordEvent, event_, stream.handle());
    recorded_at_.store(stream.submitted_count(), std::memory_order_release);
}

void Notification::wait_on_device(OrtSyncStream* consumer) {
    SyncStream* waiting = SyncStream::from(ort_, consumer);
    if (waiting == nullptr || &device_of(*waiting) != &device_) {
        // A stream of another device or provider cannot wait for this event, so the host does.
        wait_on_host();
        return;
    }
    const DeviceScope scope(device_);
    Stream& stream = waiting->execution().stream();
    ONNX_ASCEND_CALL(device_.acl(), aclrtStreamWaitEvent, stream.handle(), event_);
    stream.submitted();
}

void Notification::wait_on_host() {
    const DeviceScope scope(device_);
    ONNX_ASCEND_CALL(device_.acl(), aclrtSynchronizeEvent, event_);
    producer_.execution().stream().completed(recorded_at_.load(std::memory_order_acquire));
}

}  // namespace onnx_ascend::ort
