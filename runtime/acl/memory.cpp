#include "acl/memory.h"

#include <algorithm>

#include "acl/device.h"

namespace onnx_ascend {
namespace {

// The next larger size of which only the four highest bits are set: 512, 576, 640, … keeps the classes few.
size_t size_class(size_t size) {
    constexpr size_t kSmallest = 512;
    if (size <= kSmallest) return kSmallest;
    size_t step = kSmallest / 8;
    while (size / step >= 16) step *= 2;
    return (size + step - 1) / step * step;
}

}  // namespace

int32_t MemoryPool::request(void** pointer, size_t size) {
    const AclFunctions& functions = device_.acl().functions();
    return kind_ == Kind::device ? functions.aclrtMalloc(pointer, size, ACL_MEM_MALLOC_HUGE_FIRST)
                                 : functions.aclrtMallocHost(pointer, size);
}

void MemoryPool::release(void* pointer) noexcept {
    const AclFunctions& functions = device_.acl().functions();
    if (kind_ == Kind::device)
        functions.aclrtFree(pointer);
    else
        functions.aclrtFreeHost(pointer);
}

void* MemoryPool::take(size_t size, const Stream* user) {
    const auto blocks = free_.find(size);
    if (blocks == free_.end()) return nullptr;
    std::vector<FreeBlock>& list = blocks->second;
    // The newest first: it is the one most likely in a cache.
    for (size_t i = list.size(); i-- > 0;) {
        if (!device_.streams().finished_for(list[i].pending, user)) continue;
        void* pointer = list[i].pointer;
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        return pointer;
    }
    return nullptr;
}

void* MemoryPool::allocate(size_t size, const Stream* user) {
    if (size == 0) return nullptr;
    const size_t rounded = size_class(size);
    std::lock_guard<std::mutex> lock(mutex_);
    ++statistics_.requests;
    void* pointer = take(rounded, user);
    if (pointer == nullptr) {
        const DeviceScope scope(device_);
        ++statistics_.allocations;
        int32_t code = request(&pointer, rounded);
        if (code == ACL_ERROR_RT_MEMORY_ALLOCATION || code == ACL_ERROR_BAD_ALLOC) {
            trim_locked();
            ++statistics_.allocations;
            code = request(&pointer, rounded);
        }
        device_.acl().check(code, kind_ == Kind::device ? "aclrtMalloc" : "aclrtMallocHost");
        statistics_.allocated += rounded;
    }
    sizes_[pointer] = rounded;
    statistics_.in_use += rounded;
    statistics_.max_in_use = std::max(statistics_.max_in_use, statistics_.in_use);
    return pointer;
}

void MemoryPool::free(void* pointer) noexcept {
    // In a forked child the memory is the parent's.
    if (pointer == nullptr || device_.acl().forked()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = sizes_.find(pointer);
    if (known == sizes_.end()) return;
    const size_t size = known->second;
    sizes_.erase(known);
    statistics_.in_use -= size;
    free_[size].push_back({pointer, device_.streams().pending()});
}

void MemoryPool::trim() {
    std::lock_guard<std::mutex> lock(mutex_);
    const DeviceScope scope(device_);
    trim_locked();
}

void MemoryPool::trim_locked() {
    if (free_.empty()) return;
    device_.synchronize();
    for (auto& [size, blocks] : free_) {
        for (const FreeBlock& block : blocks) release(block.pointer);
        statistics_.allocated -= size * blocks.size();
    }
    free_.clear();
}

MemoryPoolStatistics MemoryPool::statistics() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return statistics_;
}

}  // namespace onnx_ascend
