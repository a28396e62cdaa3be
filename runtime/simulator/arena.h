// The address range of one device and the allocations in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <shared_mutex>
#include <utility>

#include "simulator/memory.h"

namespace onnx_ascend::simulator {

struct Block {
    uintptr_t start;
    size_t size;       // what the caller may use
    size_t accounted;  // what it counts against the limit
    size_t occupied;   // what it takes from the address range
    std::atomic<int64_t> pins{0};

    Block(uintptr_t start_, size_t size_, size_t accounted_, size_t occupied_)
        : start(start_), size(size_), accounted(accounted_), occupied(occupied_) {}
    bool contains(uintptr_t address, size_t length) const noexcept {
        return address >= start && length <= size && address - start <= size - length;
    }
};

// Device memory is a file in memory. In device mode it is mapped once and its addresses are what the program
// gets. In host mode the program gets addresses of a range without any access rights, and only the simulator
// reads and writes through a second mapping.
class Arena {
  public:
    Arena(size_t limit, bool readable_by_program);

    bool valid() const noexcept { return base_ != 0; }
    bool covers(uintptr_t address) const noexcept { return address - base_ < reserved_; }
    void* view(uintptr_t address) const noexcept { return reinterpret_cast<void*>(address - base_ + view_); }

    Block* allocate(size_t size, size_t guard);
    // nullptr when no live block contains the whole range.
    Block* find(uintptr_t address, size_t length) const noexcept;
    FreeResult release(uintptr_t address);
    // Also what is in use; how many blocks that were.
    size_t release_all();

    size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    size_t limit() const noexcept { return limit_; }

    template <typename Visit>
    void for_each(Visit&& visit) const {
        const std::shared_lock<std::shared_mutex> lock(mutex_);
        for (const auto& entry : blocks_) visit(entry.second);
    }

  private:
    void insert_gap(uintptr_t start, size_t size);
    void erase_gap(std::map<uintptr_t, size_t>::iterator gap);
    void give_back(const Block& block) noexcept;

    const size_t limit_;
    size_t reserved_ = 0;
    uintptr_t base_ = 0;
    uintptr_t view_ = 0;
    int file_ = -1;
    std::atomic<size_t> used_{0};
    mutable std::shared_mutex mutex_;
    std::map<uintptr_t, Block> blocks_;
    std::map<uintptr_t, size_t> gaps_;
    std::set<std::pair<size_t, uintptr_t>> gaps_by_size_;
};

}  // namespace onnx_ascend::simulator
