// libnnopbase's transparent cache of executors: one per thread, keyed by everything but the addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "simulator/kernels/plan.h"

namespace onnx_ascend::simulator {

// Filled by phase 1, usable once a phase 2 of the executor succeeded, which another thread may run.
class CacheEntry {
  public:
    explicit CacheEntry(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}

    const std::shared_ptr<const Plan>& plan() const noexcept { return plan_; }
    bool usable() const noexcept { return state_.load(std::memory_order_acquire) == State::usable; }
    bool abandoned() const noexcept { return state_.load(std::memory_order_acquire) == State::abandoned; }

    void complete() noexcept {
        State expected = State::filling;
        state_.compare_exchange_strong(expected, State::usable);
    }
    // What is usable stays usable.
    void abandon() noexcept {
        State expected = State::filling;
        state_.compare_exchange_strong(expected, State::abandoned);
    }

  private:
    enum class State { filling, usable, abandoned };

    const std::shared_ptr<const Plan> plan_;
    std::atomic<State> state_{State::filling};
};

// The key of a call, in a buffer of the calling thread; empty when the call cannot be cached.
std::string_view cache_key(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count]);

// nullptr when the thread has no usable entry.
std::shared_ptr<const Plan> find_in_cache(std::string_view key);

// A new entry for the key; nullptr when there is one already, or the cache is off.
std::shared_ptr<CacheEntry> add_to_cache(std::string_view key, std::shared_ptr<const Plan> plan);

}  // namespace onnx_ascend::simulator
