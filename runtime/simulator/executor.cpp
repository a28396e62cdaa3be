#include "simulator/executor.h"

#include <atomic>
#include <utility>

#include "simulator/call.h"

namespace onnx_ascend::simulator {

HandleTable<aclOpExecutor>& executors() {
    static HandleTable<aclOpExecutor>& instance = *new HandleTable<aclOpExecutor>(1u << 16);
    return instance;
}

namespace {

std::atomic<uint64_t> last_serial{0};
// The phase 1 that this thread ran last: only its executor may be made repeatable.
thread_local uint64_t latest_serial_of_thread = 0;

}  // namespace

aclOpExecutor* create_executor(std::shared_ptr<const Plan> plan,
                               const aclTensor* const (&operands)[operand_count],
                               std::shared_ptr<CacheEntry> entry, bool cache_hit) {
    aclOpExecutor* executor = executors().create();
    if (executor == nullptr) return nullptr;
    executor->plan = std::move(plan);
    executor->mode = cache_hit ? aclOpExecutor::Mode::cache_hit : aclOpExecutor::Mode::one_shot;
    for (int i = 0; i < operand_count; ++i) {
        executor->tensors[i] = HandleReference<aclTensor>(tensors(), operands[i]);
        executor->captured[i] = operands[i]->address;
    }
    executor->entry = std::move(entry);
    executor->serial = last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
    latest_serial_of_thread = executor->serial;
    return executor;
}

// Of a list in arrays.cpp.
aclTensor* tensor_of_list(const aclTensorList* list, size_t index);

namespace {

aclOpExecutor* find_executor(aclOpExecutor* executor, int& status) {
    status = ACLNN_SUCCESS;
    if (executor == nullptr) {
        status = fail(ACLNN_ERR_INNER_NULLPTR, "executor is nullptr");
        return nullptr;
    }
    aclOpExecutor* found = executors().find(executor);
    if (found == nullptr) {
        status = violation(ACLNN_ERR_INNER, "executor %p %s", static_cast<void*>(executor),
                           executors().was_destroyed(executor) ? "was consumed or destroyed before"
                                                               : "is not an executor of this library");
    }
    return found;
}

int make_repeatable(aclOpExecutor* executor) {
    int status = ACLNN_SUCCESS;
    aclOpExecutor* found = find_executor(executor, status);
    if (found == nullptr) return status;
    if (found->mode == aclOpExecutor::Mode::cache_hit) {
        return fail(ACLNN_ERR_INNER, "an executor out of the executor cache cannot be made repeatable");
    }
    if (found->plan->on_aicpu()) {
        return fail(ACLNN_ERR_INNER,
                    "an executor with tasks of the AICPU (DOUBLE, complex) is not repeatable");
    }
    if (found->serial != latest_serial_of_thread) {
        return fail(ACLNN_ERR_INNER, "must follow phase 1 directly, on the same thread");
    }
    if (found->entry != nullptr) found->entry->abandon();
    found->entry = nullptr;
    found->mode = aclOpExecutor::Mode::repeatable;
    return ACLNN_SUCCESS;
}

// The index is ignored, as libnnopbase does for its own operators; and the executor is not asked whether it
// will ever look at the tensor again: one out of the cache will not.
int set_address(aclOpExecutor* executor, aclTensor* tensor, void* address) {
    if (tensor == nullptr) return fail(ACLNN_ERR_INNER_NULLPTR, "tensor is nullptr");
    aclTensor* found = tensors().find(tensor);
    if (found == nullptr) {
        return violation(ACLNN_ERR_PARAM_INVALID, "tensor %p %s", static_cast<void*>(tensor),
                         tensors().describe(tensor));
    }
    found->address = address;
    int status = ACLNN_SUCCESS;
    find_executor(executor, status);
    return status;
}

int set_list_address(aclOpExecutor* executor, size_t index, const aclTensorList* list, void* address) {
    if (list == nullptr) return fail(ACLNN_ERR_INNER_NULLPTR, "tensors is nullptr");
    aclTensor* tensor = tensor_of_list(list, index);
    if (tensor == nullptr) {
        return fail(ACLNN_ERR_PARAM_INVALID, "the list is not alive, or has no living tensor %zu", index);
    }
    return set_address(executor, tensor, address);
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclSetAclOpExecutorRepeatable);
ONNX_ASCEND_CALL_POINT(aclDestroyAclOpExecutor);

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
    return guarded(call_aclSetAclOpExecutorRepeatable, [&] { return make_repeatable(executor); });
}

aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor* executor) {
    return guarded_release(call_aclDestroyAclOpExecutor, [&]() -> int {
        int status = ACLNN_SUCCESS;
        if (find_executor(executor, status) != nullptr) executors().destroy(executor);
        return status;
    });
}

// libnnopbase exports the address setters under two spellings.
#define ONNX_ASCEND_TENSOR_SETTER(function)                                                      \
    ONNX_ASCEND_CALL_POINT(function);                                                            \
    aclnnStatus function(aclOpExecutor* executor, const size_t, aclTensor* tensor, void* addr) { \
        return guarded(call_##function, [&] { return set_address(executor, tensor, addr); });    \
    }
#define ONNX_ASCEND_LIST_SETTER(function)                                                         \
    ONNX_ASCEND_CALL_POINT(function);                                                             \
    aclnnStatus function(aclOpExecutor* executor, size_t, const size_t relativeIndex,             \
                         aclTensorList* tensors, void* addr) {                                    \
        return guarded(call_##function,                                                           \
                       [&] { return set_list_address(executor, relativeIndex, tensors, addr); }); \
    }

ONNX_ASCEND_TENSOR_SETTER(aclSetInputTensorAddr)
ONNX_ASCEND_TENSOR_SETTER(aclSetOutputTensorAddr)
ONNX_ASCEND_TENSOR_SETTER(aclSetTensorAddr)
ONNX_ASCEND_TENSOR_SETTER(AclSetInputTensorAddr)
ONNX_ASCEND_TENSOR_SETTER(AclSetOutputTensorAddr)
ONNX_ASCEND_TENSOR_SETTER(AclSetTensorAddr)
ONNX_ASCEND_LIST_SETTER(aclSetDynamicInputTensorAddr)
ONNX_ASCEND_LIST_SETTER(aclSetDynamicOutputTensorAddr)
ONNX_ASCEND_LIST_SETTER(aclSetDynamicTensorAddr)
ONNX_ASCEND_LIST_SETTER(AclSetDynamicInputTensorAddr)
ONNX_ASCEND_LIST_SETTER(AclSetDynamicOutputTensorAddr)
ONNX_ASCEND_LIST_SETTER(AclSetDynamicTensorAddr)
