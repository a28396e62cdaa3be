#include "simulator/memory.h"

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "simulator/arena.h"
#include "simulator/counters.h"
#include "simulator/settings.h"

namespace onnx_ascend::simulator {
namespace {

// Arenas by logical device id, made at the first allocation and kept until the process ends.
struct Arenas {
    std::mutex mutex;
    std::vector<std::atomic<Arena*>> by_device;

    explicit Arenas(size_t devices) : by_device(devices) {}
};

Arenas& arenas() {
    static Arenas& instance = *new Arenas(settings().visible.size());
    return instance;
}

Arena* arena_of(uint32_t device) {
    std::atomic<Arena*>& slot = arenas().by_device[device];
    if (Arena* arena = slot.load(std::memory_order_acquire)) return arena;
    const std::lock_guard<std::mutex> lock(arenas().mutex);
    if (slot.load() == nullptr) {
        auto arena = std::make_unique<Arena>(settings().device_memory, settings().run_mode == ACL_DEVICE);
        if (!arena->valid()) return nullptr;
        slot.store(arena.release(), std::memory_order_release);
    }
    return slot.load();
}

struct HostBlocks {
    std::shared_mutex mutex;
    std::map<uintptr_t, Block> blocks;
    std::atomic<size_t> count{0};
};

HostBlocks& host_blocks() {
    static HostBlocks& instance = *new HostBlocks;
    return instance;
}

Block* find_host_block(uintptr_t address, size_t size) noexcept {
    HostBlocks& host = host_blocks();
    if (host.count.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::shared_lock<std::shared_mutex> lock(host.mutex);
    auto after = host.blocks.upper_bound(address);
    if (after == host.blocks.begin()) return nullptr;
    Block& block = std::prev(after)->second;
    return block.contains(address, size) ? &block : nullptr;
}

}  // namespace

Pin::Pin(Block* block) noexcept : block_(block) {
    if (block_ != nullptr) block_->pins.fetch_add(1);
}

Pin& Pin::operator=(Pin&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
}

Pin::~Pin() {
    if (block_ != nullptr) block_->pins.fetch_sub(1);
}

bool Region::usable_by_device() const noexcept {
    return place == Place::device || (place != Place::invalid && settings().run_mode == ACL_DEVICE);
}

Region find_region(const void* address, size_t size) noexcept {
    const auto start = reinterpret_cast<uintptr_t>(address);
    uint32_t device = 0;
    for (const std::atomic<Arena*>& slot : arenas().by_device) {
        const Arena* arena = slot.load(std::memory_order_acquire);
        if (arena != nullptr && arena->covers(start)) {
            Block* block = arena->find(start, size);
            return {block == nullptr ? Place::invalid : Place::device, arena->view(start), block, device};
        }
        ++device;
    }
    Block* block = find_host_block(start, size);
    return {block == nullptr ? Place::foreign : Place::pinned, const_cast<void*>(address), block, 0};
}

void* allocate_device(uint32_t device, size_t size) {
    Arena* arena = arena_of(device);
    const Block* block =
        arena == nullptr ? nullptr : arena->allocate(size, settings().soc.allocation_guard());
    if (block == nullptr) return nullptr;
    counters().live_device_allocations.fetch_add(1, std::memory_order_relaxed);
    counters().bytes_in_use.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
    return reinterpret_cast<void*>(block->start);
}

FreeResult free_device(void* address) {
    const Region region = find_region(address, 0);
    if (region.place != Place::device) return FreeResult::unknown;
    const auto size = static_cast<int64_t>(region.block->size);
    const FreeResult result = arena_of(region.device)->release(reinterpret_cast<uintptr_t>(address));
    if (result == FreeResult::done) {
        counters().live_device_allocations.fetch_sub(1, std::memory_order_relaxed);
        counters().bytes_in_use.fetch_sub(size, std::memory_order_relaxed);
    }
    return result;
}

size_t free_all_of_device(uint32_t device) {
    Arena* arena = arenas().by_device[device].load();
    if (arena == nullptr) return 0;
    int64_t bytes = 0;
    arena->for_each([&bytes](const Block& block) { bytes += static_cast<int64_t>(block.size); });
    const size_t count = arena->release_all();
    counters().live_device_allocations.fetch_sub(static_cast<int64_t>(count), std::memory_order_relaxed);
    counters().bytes_in_use.fetch_sub(bytes, std::memory_order_relaxed);
    return count;
}

void* allocate_host(size_t size) {
    constexpr size_t alignment = 64;
    void* address = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (address == nullptr) return nullptr;
    HostBlocks& host = host_blocks();
    const std::unique_lock<std::shared_mutex> lock(host.mutex);
    const auto start = reinterpret_cast<uintptr_t>(address);
    host.blocks.try_emplace(start, start, size, size, size);
    host.count.fetch_add(1, std::memory_order_relaxed);
    counters().live_host_allocations.fetch_add(1, std::memory_order_relaxed);
    return address;
}

FreeResult free_host(void* address) {
    HostBlocks& host = host_blocks();
    {
        const std::unique_lock<std::shared_mutex> lock(host.mutex);
        const auto found = host.blocks.find(reinterpret_cast<uintptr_t>(address));
        if (found == host.blocks.end()) return FreeResult::unknown;
        if (found->second.pins.load() != 0) return FreeResult::in_use;
        host.blocks.erase(found);
        host.count.fetch_sub(1, std::memory_order_relaxed);
    }
    counters().live_host_allocations.fetch_sub(1, std::memory_order_relaxed);
    std::free(address);
    return FreeResult::done;
}

MemoryInfo device_memory_info(uint32_t device) {
    const size_t total = settings().device_memory;
    const Arena* arena = arenas().by_device[device].load();
    return {arena == nullptr ? total : total - arena->used(), total};
}

void list_live_allocations(std::FILE* out) {
    uint32_t device = 0;
    for (const std::atomic<Arena*>& slot : arenas().by_device) {
        if (const Arena* arena = slot.load()) {
            arena->for_each([&](const Block& block) {
                std::fprintf(out, "simulator: leak: device %u: %zu bytes at %p\n", device, block.size,
                             reinterpret_cast<void*>(block.start));
            });
        }
        ++device;
    }
    HostBlocks& host = host_blocks();
    const std::shared_lock<std::shared_mutex> lock(host.mutex);
    for (const auto& entry : host.blocks) {
        std::fprintf(out, "simulator: leak: pinned host memory: %zu bytes at %p\n", entry.second.size,
                     reinterpret_cast<void*>(entry.second.start));
    }
}

}  // namespace onnx_ascend::simulator
