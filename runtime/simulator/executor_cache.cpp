#include "simulator/executor_cache.h"

#include <cstring>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "simulator/platform.h"
#include "simulator/settings.h"

namespace onnx_ascend::simulator {
namespace {

constexpr size_t key_words = 8192 / sizeof(uint64_t);

struct Hash {
    size_t operator()(std::string_view key) const noexcept {
        uint64_t hash = key.size() * 0x9e3779b97f4a7c15u;
        for (size_t i = 0; i + sizeof(uint64_t) <= key.size(); i += sizeof(uint64_t)) {
            uint64_t word;
            std::memcpy(&word, key.data() + i, sizeof word);
            hash = (hash ^ word) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        return hash;
    }
};

struct Node {
    std::string key;
    std::shared_ptr<CacheEntry> entry;
};

// Most recently used first.
struct Cache {
    std::list<Node> nodes;
    std::unordered_map<std::string_view, std::list<Node>::iterator, Hash> by_key;
};

// By pointer: a call that comes after the thread's destructors finds an empty cache, not a destroyed one.
thread_local Cache* cache_of_thread = nullptr;

struct CacheOwner {
    ~CacheOwner() { delete std::exchange(cache_of_thread, nullptr); }
};

Cache& cache() {
    if (cache_of_thread == nullptr) {
        thread_local const CacheOwner owner;
        (void)owner;
        cache_of_thread = new Cache;
    }
    return *cache_of_thread;
}

struct KeyBuffer {
    uint64_t words[key_words];
    size_t used = 0;

    void add(uint64_t word) {
        if (used < key_words) words[used] = word;
        ++used;
    }
    void add(const Dims& dims) {
        add(dims.rank);
        for (uint32_t i = 0; i < dims.rank; ++i) add(static_cast<uint64_t>(dims.at[i]));
    }
};

}  // namespace

std::string_view cache_key(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count]) {
    if (settings().executor_cache_limit == 0) return {};
    thread_local KeyBuffer key;
    key.used = 0;
    key.add(reinterpret_cast<uintptr_t>(&kernel));
    key.add(static_cast<uint64_t>(deterministic_level()));
    for (int i = 0; i < operand_count; ++i) {
        const aclTensor& tensor = *operands[i];
        key.add(tensor.shape);
        key.add(tensor.strides);
        key.add(tensor.storage);
        key.add(static_cast<uint64_t>(tensor.offset));
        key.add(static_cast<uint64_t>(tensor.type) << 32 | static_cast<uint32_t>(tensor.format));
        // Which operands are one and the same tensor.
        for (int j = 0; j < i; ++j) key.add(operands[i] == operands[j] ? 1 : 0);
    }
    if (key.used > key_words) return {};
    return {reinterpret_cast<const char*>(key.words), key.used * sizeof(uint64_t)};
}

std::shared_ptr<const Plan> find_in_cache(std::string_view key) {
    if (key.empty()) return nullptr;
    Cache& of_thread = cache();
    const auto found = of_thread.by_key.find(key);
    if (found == of_thread.by_key.end() || !found->second->entry->usable()) return nullptr;
    of_thread.nodes.splice(of_thread.nodes.begin(), of_thread.nodes, found->second);
    return found->second->entry->plan();
}

std::shared_ptr<CacheEntry> add_to_cache(std::string_view key, std::shared_ptr<const Plan> plan) {
    if (key.empty()) return nullptr;
    Cache& of_thread = cache();
    const auto found = of_thread.by_key.find(key);
    if (found != of_thread.by_key.end()) {
        if (!found->second->entry->abandoned()) return nullptr;
        found->second->entry = std::make_shared<CacheEntry>(std::move(plan));
        return found->second->entry;
    }
    while (of_thread.nodes.size() >= settings().executor_cache_limit) {
        of_thread.by_key.erase(of_thread.nodes.back().key);
        of_thread.nodes.pop_back();
    }
    of_thread.nodes.push_front({std::string(key), std::make_shared<CacheEntry>(std::move(plan))});
    of_thread.by_key.emplace(of_thread.nodes.front().key, of_thread.nodes.begin());
    return of_thread.nodes.front().entry;
}

}  // namespace onnx_ascend::simulator
