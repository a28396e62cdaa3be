// Streams: work in order, on a thread of their own or, where allowed, at once on the caller's.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "simulator/context.h"
#include "simulator/handles.h"

namespace onnx_ascend::simulator {

// A failure of work on the device. It surfaces when somebody waits for the stream.
struct TaskFailure {
    int code = ACL_SUCCESS;
    std::string message;
};

// Runs work; nothing that it throws gets any further.
template <typename Work>
TaskFailure contained(Work& work) noexcept {
    try {
        return work();
    } catch (const std::exception& error) {
        return {ACL_ERROR_RT_INTERNAL_ERROR, error.what()};
    }
}

class Task {
  public:
    virtual ~Task() = default;
    virtual TaskFailure run() = 0;
};

class Stream {
  public:
    Stream(ContextReference context, uint32_t device, uint32_t flags);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    const ContextReference& context() const noexcept { return context_; }
    uint32_t device() const noexcept { return device_; }
    // Streams that the host does not schedule: waiting for them is a no-op.
    bool ignores_synchronisation() const noexcept;

    // Runs `work` (a callable that returns TaskFailure) after everything submitted before. It runs before
    // submit returns when `at_once` allows it, the stream is idle and the settings do not ask for asynchrony.
    template <typename Work>
    void submit(Work&& work, bool at_once = true) {
        if (at_once && begin_at_once()) {
            end_at_once(contained(work));
            return;
        }
        enqueue(std::make_unique<TaskOf<std::decay_t<Work>>>(std::forward<Work>(work)));
    }

    bool idle();
    // False when the time (milliseconds, -1 for ever) ran out.
    bool wait(int32_t timeout);
    // The first failure since the last call.
    TaskFailure take_failure();
    // Drops what has not begun.
    void discard_queue();

  private:
    template <typename Work>
    class TaskOf final : public Task {
      public:
        explicit TaskOf(Work&& work) : work_(std::move(work)) {}
        TaskFailure run() override { return contained(work_); }

      private:
        Work work_;
    };

    bool begin_at_once();
    void end_at_once(TaskFailure&& failure);
    void enqueue(std::unique_ptr<Task> task);
    void note(TaskFailure&& failure);
    void work_off();

    const ContextReference context_;
    const uint32_t device_;
    const uint32_t flags_;
    std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable done_;
    std::deque<std::unique_ptr<Task>> queue_;
    bool busy_ = false;
    bool stopping_ = false;
    TaskFailure failure_;
    std::thread worker_;
};

struct StreamHandle {
    std::shared_ptr<Stream> stream;
};

HandleTable<StreamHandle>& streams();

// The stream behind a handle, nullptr (with the refusal recorded) for what is not a live stream. nullptr as
// handle means the default stream of the current context.
std::shared_ptr<Stream> find_stream(aclrtStream handle, int& status);

// The same for operations that are bound to the current context (107002, 107003).
std::shared_ptr<Stream> find_stream_of_current_context(aclrtStream handle, int& status);

// Waits for every stream of the device; false when the time ran out. Reports the first failure of any of
// them.
bool synchronise_device(uint32_t device, int32_t timeout, TaskFailure& failure);

// nullptr when the device has no stream left to give.
aclrtStream create_stream(const ContextReference& context, uint32_t device, uint32_t flags);

// Waits for or drops the stream's work, and ends it. False for what is not a live stream.
bool destroy_stream(aclrtStream handle, bool force);

}  // namespace onnx_ascend::simulator
