// The two phases that every kernel goes through.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "simulator/context.h"
#include "simulator/counters.h"
#include "simulator/executor.h"
#include "simulator/kernels/run.h"
#include "simulator/memory.h"
#include "simulator/settings.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {
namespace {

using Mode = aclOpExecutor::Mode;

int check_handles(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count]) {
    for (int i = 0; i < operand_count; ++i) {
        if (operands[i] == nullptr)
            return fail(ACLNN_ERR_PARAM_NULLPTR, "%s is nullptr", kernel.operand_names[i]);
    }
    for (int i = 0; i < operand_count; ++i) {
        if (tensors().find(operands[i]) == nullptr) {
            return violation(ACLNN_ERR_PARAM_INVALID, "%s: tensor %p %s", kernel.operand_names[i],
                             static_cast<const void*>(operands[i]), tensors().describe(operands[i]));
        }
    }
    return ACLNN_SUCCESS;
}

int hand_out(std::shared_ptr<const Plan> plan, const aclTensor* const (&operands)[operand_count],
             std::shared_ptr<CacheEntry> entry, bool cache_hit, uint64_t* workspace_size,
             aclOpExecutor** executor) {
    const uint64_t size = plan->workspace_size;
    aclOpExecutor* created = create_executor(std::move(plan), operands, std::move(entry), cache_hit);
    if (created == nullptr) return fail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "no executor left");
    *workspace_size = size;
    *executor = created;
    return ACLNN_SUCCESS;
}

int first_phase(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count],
                uint64_t* workspace_size, aclOpExecutor** executor) {
    if (workspace_size == nullptr || executor == nullptr) {
        return fail(ACLNN_ERR_PARAM_NULLPTR, "%s is nullptr",
                    workspace_size == nullptr ? "workspaceSize" : "executor");
    }
    if (const int status = check_handles(kernel, operands)) return status;
    const bool has_device = current_context() != nullptr;
    const std::string_view key = has_device ? cache_key(kernel, operands) : std::string_view();
    if (std::shared_ptr<const Plan> plan = find_in_cache(key)) {
        counters().executor_cache_hits.fetch_add(1, std::memory_order_relaxed);
        return hand_out(std::move(plan), operands, nullptr, true, workspace_size, executor);
    }
    counters().executor_cache_misses.fetch_add(1, std::memory_order_relaxed);
    const Soc& soc = settings().soc;
    Signature signature;
    if (const int status = check_contract(kernel, operands, has_device ? &soc : nullptr, signature))
        return status;
    const bool empty = signature.shape.count() == 0;
    if (!empty) {
        if (!has_device) {
            fail(ACLNN_ERR_RUNTIME_ERROR,
                 "the calling thread has no device; call aclrtSetDevice in it first");
            set_last_error(ACL_ERROR_RT_CONTEXT_NULL);
            return ACLNN_ERR_RUNTIME_ERROR;
        }
        if (!kernel.has_binary(soc)) {
            return fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "%s has no binary of %s", soc.name.c_str(),
                        kernel.name);
        }
        if (const int status = check_storage(kernel, operands)) return status;
    }
    auto plan = std::make_shared<const Plan>(make_plan(kernel, operands, signature, soc));
    std::shared_ptr<CacheEntry> entry;
    if (!plan->on_aicpu() && !empty) entry = add_to_cache(key, plan);
    return hand_out(std::move(plan), operands, std::move(entry), false, workspace_size, executor);
}

// What the device would say of a launch that points where it must not.
TaskFailure exception_of(const Plan& plan, const char* what) {
    return {plan.on_aicpu() ? ACL_ERROR_RT_AICPU_EXCEPTION : ACL_ERROR_RT_AICORE_EXCEPTION,
            std::string(plan.kernel->name) + ": " + what};
}

struct Launch {
    std::shared_ptr<const Plan> plan;
    void* views[operand_count]{};
    Pin pins[operand_count + 1];
    const char* failure = nullptr;

    TaskFailure operator()() const {
        if (failure != nullptr) return exception_of(*plan, failure);
        run(*plan, views);
        return {};
    }
};

// Where the operands lie now; ACLNN_SUCCESS also for addresses that the device will stumble over.
int locate_operands(const aclOpExecutor& executor, Launch& launch) {
    const Plan& plan = *executor.plan;
    const Context* context = current_context();
    launch.failure = plan.device_failure;
    for (int i = 0; i < operand_count; ++i) {
        const aclTensor* tensor = executor.tensors[i].get(tensors());
        if (tensor == nullptr) {
            return violation(ACLNN_ERR_INNER_NULLPTR, "%s was destroyed between the two phases",
                             plan.kernel->operand_names[i]);
        }
        void* storage = executor.mode == Mode::cache_hit ? executor.captured[i] : tensor->address;
        const auto size = static_cast<int64_t>(element_size(plan.types[i]));
        char* first = static_cast<char*>(storage) + plan.offset[i] * size;
        const Region region = find_region(first, static_cast<size_t>(plan.reach[i] * size));
        const bool of_other_device =
            region.place == Place::device && context != nullptr && region.device != context->device;
        if (storage == nullptr || of_other_device || !region.usable_by_device()) {
            launch.failure = "an operand lies outside of the device's memory";
        } else if (reinterpret_cast<uintptr_t>(first) % (size > 8 ? 8 : static_cast<size_t>(size)) != 0) {
            launch.failure = "an operand is not aligned to its elements";
        }
        launch.views[i] = region.view;
        launch.pins[i] = Pin(region.block);
    }
    return ACLNN_SUCCESS;
}

int check_workspace(const Plan& plan, void* workspace, uint64_t size, Launch& launch) {
    if (size < plan.workspace_size) {
        return violation(ACLNN_ERR_PARAM_INVALID, "workspace of %llu bytes, phase 1 asked for %llu",
                         static_cast<unsigned long long>(size),
                         static_cast<unsigned long long>(plan.workspace_size));
    }
    if (plan.workspace_size == 0) return ACLNN_SUCCESS;
    const Region region = find_region(workspace, plan.workspace_size);
    if (!region.usable_by_device()) launch.failure = "the workspace lies outside of the device's memory";
    launch.pins[operand_count] = Pin(region.block);
    return ACLNN_SUCCESS;
}

int launch_executor(aclOpExecutor& executor, void* workspace, uint64_t workspace_size, aclrtStream stream) {
    const Plan& plan = *executor.plan;
    Launch launch;
    launch.plan = executor.plan;
    if (const int status = locate_operands(executor, launch)) return status;
    if (plan.empty) return ACLNN_SUCCESS;
    if (const int status = check_workspace(plan, workspace, workspace_size, launch)) return status;
    int runtime_status = ACL_SUCCESS;
    const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, runtime_status);
    if (target == nullptr) {
        // The text is the runtime's; libnnopbase puts its own code in front.
        set_last_error(runtime_status);
        return ACLNN_ERR_RUNTIME_ERROR;
    }
    counters().launches.fetch_add(1, std::memory_order_relaxed);
    target->submit(std::move(launch));
    if (executor.entry != nullptr) executor.entry->complete();
    return ACLNN_SUCCESS;
}

int second_phase(const BinaryKernel& kernel, void* workspace, uint64_t workspace_size,
                 aclOpExecutor* executor, aclrtStream stream) {
    if (executor == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "executor is nullptr");
    aclOpExecutor* found = executors().find(executor);
    if (found == nullptr) {
        return violation(ACLNN_ERR_INNER, "executor %p %s", static_cast<void*>(executor),
                         executors().was_destroyed(executor) ? "was consumed or destroyed before"
                                                             : "is not an executor of this library");
    }
    if (found->plan->kernel != &kernel) {
        return violation(ACLNN_ERR_INNER, "the executor is one of %s", found->plan->kernel->name);
    }
    if (workspace_size > 0 && workspace == nullptr) {
        // libnnopbase deletes even a repeatable executor here.
        executors().destroy(executor);
        return fail(ACLNN_ERR_PARAM_NULLPTR, "workspace is nullptr and workspaceSize is not 0");
    }
    const int status = launch_executor(*found, workspace, workspace_size, stream);
    if (found->mode != Mode::repeatable) executors().destroy(executor);
    return status;
}

}  // namespace

int get_workspace_size(const BinaryKernel& kernel, CallPoint& point,
                       const aclTensor* const (&operands)[operand_count], uint64_t* workspace_size,
                       aclOpExecutor** executor) noexcept {
    return guarded(point, [&] { return first_phase(kernel, operands, workspace_size, executor); });
}

int execute(const BinaryKernel& kernel, CallPoint& point, void* workspace, uint64_t workspace_size,
            aclOpExecutor* executor, aclrtStream stream) noexcept {
    const HandleReference<aclOpExecutor> given(executors(), executor);
    const int status =
        guarded(point, [&] { return second_phase(kernel, workspace, workspace_size, executor, stream); });
    // A one-shot executor is gone after phase 2 whatever went wrong, an injected fault included.
    if (status != ACLNN_SUCCESS && !forked_child()) {
        const aclOpExecutor* left = given.get(executors());
        if (left != nullptr && left->mode != Mode::repeatable) executors().destroy(left);
    }
    return status;
}

}  // namespace onnx_ascend::simulator
