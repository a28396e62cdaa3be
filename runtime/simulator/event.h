// Events: marks in a stream that other streams and the host can wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "simulator/handles.h"

namespace onnx_ascend::simulator {

// Shared with the work that records or awaits it, so an event may be destroyed before it completes.
class Event {
  public:
    enum class Kind { plain, extended };

    Event(Kind kind, uint32_t flags) : kind_(kind), flags_(flags) {}

    Kind kind() const noexcept { return kind_; }
    uint32_t flags() const noexcept { return flags_; }

    // Recording: the number of the record, to be completed when the stream reaches it.
    uint64_t begin_record();
    void complete_record(uint64_t record);
    void forget_records();

    // The record that a wait issued now has to wait for; 0 (complete) before the first one.
    uint64_t latest_record();
    bool complete(uint64_t record);
    bool complete();
    // False when the time (milliseconds, -1 for ever) ran out.
    bool wait(uint64_t record, int32_t timeout);

    void begin_wait();
    void end_wait();
    bool waits_done();

    // False when there is no completed record.
    bool timestamp(std::chrono::steady_clock::time_point& time);

  private:
    const Kind kind_;
    const uint32_t flags_;
    std::mutex mutex_;
    std::condition_variable completed_changed_;
    uint64_t recorded_ = 0;
    uint64_t completed_ = 0;
    uint64_t pending_waits_ = 0;
    bool has_timestamp_ = false;
    std::chrono::steady_clock::time_point timestamp_;
};

struct EventHandle {
    std::shared_ptr<Event> event;
};

HandleTable<EventHandle>& events();

}  // namespace onnx_ascend::simulator
