#include "simulator/arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>

namespace onnx_ascend::simulator {
namespace {

constexpr size_t alignment = 512;
constexpr size_t poisoned_bytes = size_t{1} << 20;
constexpr int poison = 0xA5;
constexpr size_t page = 4096;

constexpr size_t round_up(size_t value, size_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Arena::Arena(size_t limit, bool readable_by_program) : limit_(limit) {
    // Twice the limit, so that gaps between allocations do not make a device look full before it is.
    const size_t wanted = round_up(limit * 2 + (size_t{1} << 20), page);
    file_ = ::memfd_create("ascend-sim-device", MFD_CLOEXEC);
    if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(wanted)) != 0) return;
    const auto map = [&](int protection) {
        void* range = ::mmap(nullptr, wanted, protection, MAP_SHARED | MAP_NORESERVE, file_, 0);
        return range == MAP_FAILED ? uintptr_t{0} : reinterpret_cast<uintptr_t>(range);
    };
    view_ = map(PROT_READ | PROT_WRITE);
    base_ = readable_by_program || view_ == 0 ? view_ : map(PROT_NONE);
    if (base_ == 0) return;
    reserved_ = wanted;
    insert_gap(base_, reserved_);
}

void Arena::insert_gap(uintptr_t start, size_t size) {
    auto next = gaps_.lower_bound(start);
    if (next != gaps_.end() && start + size == next->first) {
        size += next->second;
        const auto merged = next++;
        erase_gap(merged);
    }
    if (next != gaps_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == start) {
            start = previous->first;
            size += previous->second;
            erase_gap(previous);
        }
    }
    gaps_.emplace(start, size);
    gaps_by_size_.emplace(size, start);
}

void Arena::erase_gap(std::map<uintptr_t, size_t>::iterator gap) {
    gaps_by_size_.erase({gap->second, gap->first});
    gaps_.erase(gap);
}

Block* Arena::allocate(size_t size, size_t guard) {
    if (size > limit_) return nullptr;
    const size_t usable = round_up(size, 32);
    const size_t occupied = round_up(usable + guard, alignment);
    Block* block = nullptr;
    {
        const std::unique_lock<std::shared_mutex> lock(mutex_);
        const size_t accounted = usable + guard;
        if (used() + accounted > limit_) return nullptr;
        const auto fit = gaps_by_size_.lower_bound({occupied, 0});
        if (fit == gaps_by_size_.end()) return nullptr;
        const auto [gap_size, start] = *fit;
        erase_gap(gaps_.find(start));
        if (gap_size > occupied) insert_gap(start + occupied, gap_size - occupied);
        block = &blocks_.try_emplace(start, start, size, accounted, occupied).first->second;
        used_.fetch_add(accounted, std::memory_order_relaxed);
    }
    // The content of fresh device memory is undefined; a pattern makes reading it show.
    std::memset(view(block->start), poison, std::min(size, poisoned_bytes));
    return block;
}

Block* Arena::find(uintptr_t address, size_t length) const noexcept {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return nullptr;
    const Block& block = std::prev(after)->second;
    return block.contains(address, length) ? const_cast<Block*>(&block) : nullptr;
}

void Arena::give_back(const Block& block) noexcept {
    const uintptr_t first = round_up(block.start - base_, page);
    const uintptr_t last = (block.start - base_ + block.occupied) / page * page;
    if (last > first + 16 * page) {
        ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
                    static_cast<off_t>(last - first));
    }
}

FreeResult Arena::release(uintptr_t address) {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end()) return FreeResult::unknown;
    const Block& block = found->second;
    if (block.pins.load() != 0) return FreeResult::in_use;
    give_back(block);
    used_.fetch_sub(block.accounted, std::memory_order_relaxed);
    insert_gap(block.start, block.occupied);
    blocks_.erase(found);
    return FreeResult::done;
}

size_t Arena::release_all() {
    const std::unique_lock<std::shared_mutex> lock(mutex_);
    const size_t count = blocks_.size();
    for (const auto& entry : blocks_) {
        give_back(entry.second);
        insert_gap(entry.second.start, entry.second.occupied);
    }
    blocks_.clear();
    used_.store(0, std::memory_order_relaxed);
    return count;
}

}  // namespace onnx_ascend::simulator
