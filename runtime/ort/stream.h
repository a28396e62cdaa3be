// OrtSyncStreamImpl and OrtSyncNotificationImpl: ONNX Runtime's streams are ACL's streams, its notifications
// are events.
#pragma once

#include <atomic>
#include <memory>

#include "dispatch/execution_stream.h"
#include "ort/api.h"

namespace onnx_ascend::ort {

class SyncStream : public OrtSyncStreamImpl {
  public:
    SyncStream(const Ort& ort, Device& device);

    // Ours behind ONNX Runtime's; null for a stream that is not of this provider.
    static SyncStream* from(const Ort& ort, OrtSyncStream* stream);

    // Ours with this native handle, or null. A kernel's context hands out nothing else on ONNX Runtime
    // < 1.28.
    static SyncStream* from_handle(void* handle);

    const Ort& ort() const { return ort_; }
    ExecutionStream& execution() { return *execution_; }
    const Stream& stream() const { return execution_->stream(); }

  private:
    ~SyncStream();

    const Ort& ort_;
    Device& device_;
    std::unique_ptr<ExecutionStream> execution_;
};

class Notification : public OrtSyncNotificationImpl {
  public:
    explicit Notification(SyncStream& producer);

  private:
    ~Notification();
    void activate();
    void wait_on_device(OrtSyncStream* consumer);
    void wait_on_host();

    const Ort& ort_;
    SyncStream& producer_;
    Device& device_;
    aclrtEvent event_ = nullptr;
    // How much the stream had been given when the event was recorded. Older versions of ONNX Runtime let
    // another thread wait after counting down a relaxed atomic, which orders nothing.
    std::atomic<uint64_t> recorded_at_{0};
};

}  // namespace onnx_ascend::ort
