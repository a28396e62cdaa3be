// aclOpExecutor: what phase 1 hands to phase 2.
#pragma once

#include <memory>

#include "simulator/executor_cache.h"
#include "simulator/handles.h"
#include "simulator/kernels/plan.h"

struct aclOpExecutor {
    enum class Mode {
        one_shot,    // phase 2 reads the tensors' addresses and consumes the executor
        cache_hit,   // phase 1 captured the addresses; phase 2 consumes it
        repeatable,  // phase 2 reads the tensors' addresses; lives until aclDestroyAclOpExecutor
    };

    std::shared_ptr<const onnx_ascend::simulator::Plan> plan;
    Mode mode = Mode::one_shot;
    onnx_ascend::simulator::HandleReference<aclTensor> tensors[onnx_ascend::simulator::operand_count];
    void* captured[onnx_ascend::simulator::operand_count]{};
    // The entry of the executor cache that this executor fills; nullptr for hits and what is never cached.
    std::shared_ptr<onnx_ascend::simulator::CacheEntry> entry;
    uint64_t serial = 0;  // of phase 1, over all threads

    // An executor that ends without a successful phase 2 leaves nothing usable in the cache.
    ~aclOpExecutor() {
        if (entry != nullptr) entry->abandon();
    }
};

namespace onnx_ascend::simulator {

HandleTable<aclOpExecutor>& executors();

// Makes an executor of the calling thread's latest phase 1; nullptr when no handle is left.
aclOpExecutor* create_executor(std::shared_ptr<const Plan> plan,
                               const aclTensor* const (&operands)[operand_count],
                               std::shared_ptr<CacheEntry> entry, bool cache_hit);

}  // namespace onnx_ascend::simulator
