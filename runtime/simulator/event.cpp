#include "simulator/event.h"

#include <algorithm>

namespace onnx_ascend::simulator {

uint64_t Event::begin_record() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return ++recorded_;
}

void Event::complete_record(uint64_t record) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        completed_ = std::max(completed_, record);
        timestamp_ = std::chrono::steady_clock::now();
        has_timestamp_ = true;
    }
    completed_changed_.notify_all();
}

void Event::forget_records() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        completed_ = recorded_;
        has_timestamp_ = false;
    }
    completed_changed_.notify_all();
}

uint64_t Event::latest_record() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return recorded_;
}

bool Event::complete(uint64_t record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return completed_ >= record;
}

bool Event::complete() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return completed_ >= recorded_;
}

bool Event::wait(uint64_t record, int32_t timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto reached = [this, record] { return completed_ >= record; };
    if (timeout < 0) {
        completed_changed_.wait(lock, reached);
        return true;
    }
    return completed_changed_.wait_for(lock, std::chrono::milliseconds(timeout), reached);
}

void Event::begin_wait() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++pending_waits_;
}

void Event::end_wait() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --pending_waits_;
}

bool Event::waits_done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return pending_waits_ == 0;
}

bool Event::timestamp(std::chrono::steady_clock::time_point& time) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_timestamp_ || completed_ < recorded_) return false;
    time = timestamp_;
    return true;
}

HandleTable<EventHandle>& events() {
    static HandleTable<EventHandle>& instance = *new HandleTable<EventHandle>(1u << 18);
    return instance;
}

}  // namespace onnx_ascend::simulator
