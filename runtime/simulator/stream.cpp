#include "simulator/stream.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "simulator/counters.h"
#include "simulator/settings.h"

namespace onnx_ascend::simulator {

Stream::Stream(ContextReference context, uint32_t device, uint32_t flags)
    : context_(context), device_(device), flags_(flags) {}

Stream::~Stream() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    work_.notify_all();
    // Never the worker's own doing: no code of the program runs there.
    if (worker_.joinable()) worker_.join();
}

bool Stream::ignores_synchronisation() const noexcept {
    return (flags_ & (ACL_STREAM_PERSISTENT | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY)) != 0;
}

bool Stream::begin_at_once() {
    if (settings().always_async) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (busy_ || !queue_.empty()) return false;
    busy_ = true;
    return true;
}

void Stream::end_at_once(TaskFailure&& failure) {
    const std::lock_guard<std::mutex> lock(mutex_);
    note(std::move(failure));
    busy_ = false;
    if (!queue_.empty()) work_.notify_one();
    done_.notify_all();
}

void Stream::note(TaskFailure&& failure) {
    if (failure.code != ACL_SUCCESS && failure_.code == ACL_SUCCESS) failure_ = std::move(failure);
}

void Stream::enqueue(std::unique_ptr<Task> task) {
    counters().live_pending_tasks.fetch_add(1, std::memory_order_relaxed);
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(task));
    if (!worker_.joinable()) {
        worker_ = std::thread([this] { work_off(); });
    }
    work_.notify_one();
}

void Stream::work_off() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
        work_.wait(lock, [this] { return stopping_ || (!queue_.empty() && !busy_); });
        if (stopping_) return;
        std::unique_ptr<Task> task = std::move(queue_.front());
        queue_.pop_front();
        busy_ = true;
        lock.unlock();
        if (settings().latency.count() != 0) std::this_thread::sleep_for(settings().latency);
        TaskFailure failure = task->run();
        task.reset();
        counters().live_pending_tasks.fetch_sub(1, std::memory_order_relaxed);
        lock.lock();
        note(std::move(failure));
        busy_ = false;
        done_.notify_all();
    }
}

bool Stream::idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return queue_.empty() && !busy_;
}

bool Stream::wait(int32_t timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto passed = [this] { return queue_.empty() && !busy_; };
    if (timeout < 0) {
        done_.wait(lock, passed);
        return true;
    }
    return done_.wait_for(lock, std::chrono::milliseconds(timeout), passed);
}

TaskFailure Stream::take_failure() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(failure_, {});
}

void Stream::discard_queue() {
    std::deque<std::unique_ptr<Task>> dropped;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        dropped.swap(queue_);
    }
    counters().live_pending_tasks.fetch_sub(static_cast<int64_t>(dropped.size()), std::memory_order_relaxed);
}

HandleTable<StreamHandle>& streams() {
    static HandleTable<StreamHandle>& instance = *new HandleTable<StreamHandle>(1u << 17);
    return instance;
}

std::shared_ptr<Stream> find_stream(aclrtStream handle, int& status) {
    if (handle == nullptr) {
        const Context* context = current_context();
        if (context == nullptr) {
            status = refuse_without_context();
            return nullptr;
        }
        handle = context->default_stream;
    }
    const StreamHandle* found = streams().find(handle);
    if (found == nullptr) {
        status = violation(ACL_ERROR_RT_INVALID_HANDLE, "stream %p %s", handle, streams().describe(handle));
        return nullptr;
    }
    status = ACL_SUCCESS;
    return found->stream;
}

std::shared_ptr<Stream> find_stream_of_current_context(aclrtStream handle, int& status) {
    if (current_context() == nullptr) {
        status = refuse_without_context();
        return nullptr;
    }
    std::shared_ptr<Stream> stream = find_stream(handle, status);
    if (stream == nullptr || stream->context() == current_context_reference()) return stream;
    status = fail(ACL_ERROR_RT_STREAM_CONTEXT,
                  "stream %p belongs to another context than the thread's current one", handle);
    return nullptr;
}

bool synchronise_device(uint32_t device, int32_t timeout, TaskFailure& failure) {
    std::vector<std::shared_ptr<Stream>> of_device;
    streams().for_each([&](const StreamHandle& handle) {
        if (handle.stream->device() == device && !handle.stream->ignores_synchronisation()) {
            of_device.push_back(handle.stream);
        }
    });
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout);
    for (const std::shared_ptr<Stream>& stream : of_device) {
        int32_t left = -1;
        if (timeout >= 0) {
            const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(
                deadline - std::chrono::steady_clock::now());
            left = static_cast<int32_t>(std::max<int64_t>(rest.count(), 0));
        }
        if (!stream->wait(left)) return false;
        TaskFailure of_stream = stream->take_failure();
        if (failure.code == ACL_SUCCESS) failure = std::move(of_stream);
    }
    return true;
}

aclrtStream create_stream(const ContextReference& context, uint32_t device, uint32_t flags) {
    if (streams().live() >=
        int64_t{settings().soc.max_streams} * static_cast<int64_t>(settings().visible.size())) {
        return nullptr;
    }
    return streams().create(std::make_shared<Stream>(context, device, flags));
}

bool destroy_stream(aclrtStream handle, bool force) {
    const StreamHandle* found = streams().find(handle);
    if (found == nullptr) return false;
    const std::shared_ptr<Stream> stream = found->stream;
    if (!streams().destroy(handle)) return false;
    if (force) stream->discard_queue();
    stream->wait(-1);
    return true;
}

}  // namespace onnx_ascend::simulator
