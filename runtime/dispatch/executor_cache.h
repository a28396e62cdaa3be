// Executors that the kernel library lets us use again, with their tensors.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "acl/api.h"
#include "dispatch/layout.h"

namespace onnx_ascend {

// All that the kernel library's plan depends on: kernel, types, shapes and strides. Not the addresses.
class ExecutorKey {
  public:
    ExecutorKey(const Kernel& kernel, const Tensor* inputs, const Tensor& output, const Layout& layout);

    bool operator==(const ExecutorKey& other) const;
    size_t hash() const { return hash_; }

  private:
    // One word for kernel and rank, one for the types, then shape and strides of every operand. Only layouts
    // within a kernel's rank limit reach this.
    static constexpr size_t kMaxKernelRank = 8;
    std::array<int64_t, 2 + kOperandCount * 2 * kMaxKernelRank> words_;
    size_t length_ = 0;
    size_t hash_ = 0;
};

// The aclTensors of one call. ACL copies shapes and strides.
class OperandTensors {
  public:
    OperandTensors(const Acl& acl, const Tensor* inputs, const Tensor& output, const Layout& layout);
    OperandTensors(OperandTensors&& other) noexcept;
    OperandTensors& operator=(OperandTensors&&) = delete;
    ~OperandTensors();

    aclTensor* operator[](size_t k) const { return tensors_[k]; }

  private:
    void destroy() noexcept;

    const Acl* acl_;
    std::array<aclTensor*, kOperandCount> tensors_{};
};

// An executor between its two phases. Unless `release()` hands it to phase 2, which consumes it, it is
// destroyed.
class Executor {
  public:
    Executor(const Acl& acl, aclOpExecutor* handle) : acl_(&acl), handle_(handle) {}
    Executor(Executor&& other) noexcept : acl_(other.acl_), handle_(other.handle_) {
        other.handle_ = nullptr;
    }
    Executor& operator=(Executor&&) = delete;
    ~Executor();

    aclOpExecutor* get() const { return handle_; }
    aclOpExecutor* release() {
        aclOpExecutor* handle = handle_;
        handle_ = nullptr;
        return handle;
    }

  private:
    const Acl* acl_;
    aclOpExecutor* handle_;
};

struct KeptExecutor {
    OperandTensors tensors;  // the executor refers to them, so it goes first
    Executor executor;
    uint64_t workspace_size;
    std::array<void*, kOperandCount> addresses;  // that its tensors have now
};

// Belongs to one stream and is used by one thread at a time. The least recently used entry makes room for a
// new one.
class ExecutorCache {
  public:
    static constexpr size_t kCapacity = 256;

    // Null when nothing is kept under the key.
    KeptExecutor* find(const ExecutorKey& key);

    // Whether the kernel library has refused to let an executor of this key be used again.
    bool refused(const ExecutorKey& key) const { return refused_.count(key) != 0; }
    void remember_refusal(const ExecutorKey& key);

    KeptExecutor& insert(const ExecutorKey& key, KeptExecutor executor);

    // After a failed launch the state of an executor is not known.
    void erase(const ExecutorKey& key);

    // Evicted executors that queued launches may still refer to. To be called once the stream has passed
    // them.
    void drop_retired() { retired_.clear(); }
    size_t retired_count() const { return retired_.size(); }

    size_t size() const { return entries_.size(); }

  private:
    struct Hash {
        size_t operator()(const ExecutorKey& key) const { return key.hash(); }
    };
    struct Entry {
        ExecutorKey key;
        KeptExecutor kept;
    };

    std::list<Entry> entries_;  // the most recently used first
    std::unordered_map<ExecutorKey, std::list<Entry>::iterator, Hash> index_;
    std::unordered_map<ExecutorKey, char, Hash> refused_;
    std::list<Entry> retired_;
};

}  // namespace onnx_ascend
