// CANN's event functions.
#include <chrono>
#include <utility>

#include "simulator/event.h"
#include "simulator/process.h"
#include "simulator/settings.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {
namespace {

constexpr uint32_t known_flags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE |
                                 ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;

int new_event(aclrtEvent* event, Event::Kind kind, uint32_t flags) {
    if (event == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "event is nullptr");
    if (flags == 0 || (flags & ~known_flags) != 0) {
        return fail(ACL_ERROR_RT_PARAM_INVALID, "flag 0x%x is no combination of event flags", flags);
    }
    if (current_context() == nullptr) return refuse_without_context();
    const int64_t limit =
        int64_t{settings().soc.max_events} * static_cast<int64_t>(settings().visible.size());
    EventHandle* created =
        events().live() >= limit ? nullptr : events().create(std::make_shared<Event>(kind, flags));
    if (created == nullptr) return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "the device has no event left");
    *event = created;
    return ACL_SUCCESS;
}

// nullptr (with the refusal in status) for what is not a live event.
std::shared_ptr<Event> find_event(aclrtEvent handle, int& status) {
    if (handle == nullptr) {
        status = fail(ACL_ERROR_INVALID_PARAM, "event is nullptr");
        return nullptr;
    }
    status = require_initialised();
    if (status != ACL_SUCCESS) return nullptr;
    const EventHandle* found = events().find(handle);
    if (found == nullptr) {
        status = violation(ACL_ERROR_RT_INVALID_HANDLE, "event %p %s", handle, events().describe(handle));
        return nullptr;
    }
    return found->event;
}

int wait_for_event(aclrtEvent handle, int32_t timeout) {
    if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout %d is below -1", timeout);
    int status = ACL_SUCCESS;
    const std::shared_ptr<Event> event = find_event(handle, status);
    if (event == nullptr) return status;
    if (event->wait(event->latest_record(), timeout)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the event did not complete within %d ms", timeout);
}

bool keeps_time(const Event& event) {
    return (event.flags() & ACL_EVENT_TIME_LINE) != 0;
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtCreateEvent);
ONNX_ASCEND_CALL_POINT(aclrtCreateEventWithFlag);
ONNX_ASCEND_CALL_POINT(aclrtCreateEventExWithFlag);
ONNX_ASCEND_CALL_POINT(aclrtDestroyEvent);
ONNX_ASCEND_CALL_POINT(aclrtRecordEvent);
ONNX_ASCEND_CALL_POINT(aclrtStreamWaitEvent);
ONNX_ASCEND_CALL_POINT(aclrtResetEvent);
ONNX_ASCEND_CALL_POINT(aclrtSynchronizeEvent);
ONNX_ASCEND_CALL_POINT(aclrtSynchronizeEventWithTimeout);
ONNX_ASCEND_CALL_POINT(aclrtQueryEventStatus);
ONNX_ASCEND_CALL_POINT(aclrtQueryEventWaitStatus);
ONNX_ASCEND_CALL_POINT(aclrtEventElapsedTime);

aclError aclrtCreateEvent(aclrtEvent* event) {
    return guarded(call_aclrtCreateEvent, [&] {
        return new_event(event, Event::Kind::plain, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
    });
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
    return guarded(call_aclrtCreateEventWithFlag, [&] { return new_event(event, Event::Kind::plain, flag); });
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
    return guarded(call_aclrtCreateEventExWithFlag,
                   [&] { return new_event(event, Event::Kind::extended, flag); });
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    return guarded_release(call_aclrtDestroyEvent, [&]() -> int {
        int status = ACL_SUCCESS;
        const std::shared_ptr<Event> found = find_event(event, status);
        if (found == nullptr) return status;
        if (!events().destroy(event)) {
            return violation(ACL_ERROR_RT_INVALID_HANDLE, "event %p was destroyed before", event);
        }
        return ACL_SUCCESS;
    });
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    return guarded(call_aclrtRecordEvent, [&]() -> int {
        int status = ACL_SUCCESS;
        std::shared_ptr<Event> recorded = find_event(event, status);
        if (recorded == nullptr) return status;
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        const uint64_t record = recorded->begin_record();
        target->submit([recorded = std::move(recorded), record] {
            recorded->complete_record(record);
            return TaskFailure{};
        });
        return ACL_SUCCESS;
    });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    return guarded(call_aclrtStreamWaitEvent, [&]() -> int {
        int status = ACL_SUCCESS;
        std::shared_ptr<Event> awaited = find_event(event, status);
        if (awaited == nullptr) return status;
        if ((awaited->flags() & ACL_EVENT_SYNC) == 0) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "the event was created without ACL_EVENT_SYNC");
        }
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        const uint64_t record = awaited->latest_record();
        // The caller must not be the one who waits.
        const bool at_once = awaited->complete(record);
        awaited->begin_wait();
        target->submit(
            [awaited = std::move(awaited), record] {
                awaited->wait(record, -1);
                awaited->end_wait();
                return TaskFailure{};
            },
            at_once);
        return ACL_SUCCESS;
    });
}

aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream) {
    return guarded(call_aclrtResetEvent, [&]() -> int {
        int status = ACL_SUCCESS;
        std::shared_ptr<Event> reset = find_event(event, status);
        if (reset == nullptr) return status;
        if (reset->kind() == Event::Kind::extended) {
            return fail(ACL_ERROR_RT_PARAM_INVALID, "an event of aclrtCreateEventExWithFlag cannot be reset");
        }
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        target->submit([reset = std::move(reset)] {
            reset->forget_records();
            return TaskFailure{};
        });
        return ACL_SUCCESS;
    });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    return guarded_release(call_aclrtSynchronizeEvent, [&] { return wait_for_event(event, -1); });
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
    return guarded_release(call_aclrtSynchronizeEventWithTimeout,
                           [&] { return wait_for_event(event, timeout); });
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
    return guarded(call_aclrtQueryEventStatus, [&]() -> int {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "status is nullptr");
        int found = ACL_SUCCESS;
        const std::shared_ptr<Event> queried = find_event(event, found);
        if (queried == nullptr) return found;
        *status =
            queried->complete() ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status) {
    return guarded(call_aclrtQueryEventWaitStatus, [&]() -> int {
        if (status == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "status is nullptr");
        int found = ACL_SUCCESS;
        const std::shared_ptr<Event> queried = find_event(event, found);
        if (queried == nullptr) return found;
        *status = queried->waits_done() ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
        return ACL_SUCCESS;
    });
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
    return guarded(call_aclrtEventElapsedTime, [&]() -> int {
        if (ms == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "ms is nullptr");
        int status = ACL_SUCCESS;
        const std::shared_ptr<Event> start = find_event(startEvent, status);
        if (start == nullptr) return status;
        const std::shared_ptr<Event> end = find_event(endEvent, status);
        if (end == nullptr) return status;
        if (!keeps_time(*start) || !keeps_time(*end)) {
            return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "both events need ACL_EVENT_TIME_LINE");
        }
        std::chrono::steady_clock::time_point from;
        std::chrono::steady_clock::time_point to;
        if (!start->timestamp(from) || !end->timestamp(to)) {
            return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "both events must be recorded and complete");
        }
        *ms = std::chrono::duration<float, std::milli>(to - from).count();
        return ACL_SUCCESS;
    });
}
