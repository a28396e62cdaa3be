#include "dispatch/dispatcher.h"

#include <algorithm>

#include "dispatch/slices.h"

namespace onnx_ascend {
namespace {

void set_addresses(const Acl& acl, KeptExecutor& kept, const Tensor* inputs, const Tensor& output) {
    for (size_t k = 0; k < kInputCount; ++k) {
        if (kept.addresses[k] == inputs[k].data) continue;
        ONNX_ASCEND_CALL(acl, aclSetInputTensorAddr, kept.executor.get(), k, kept.tensors[k], inputs[k].data);
        kept.addresses[k] = inputs[k].data;
    }
    if (kept.addresses[kInputCount] == output.data) return;
    ONNX_ASCEND_CALL(acl, aclSetOutputTensorAddr, kept.executor.get(), 0, kept.tensors[kInputCount],
                     output.data);
    kept.addresses[kInputCount] = output.data;
}

void launch(const BoundKernel& kernel, uint64_t workspace_size, aclOpExecutor* executor,
            ExecutionStream& stream) {
    void* workspace = stream.workspace(workspace_size);
    const aclnnStatus code = kernel.run()(workspace, workspace_size, executor, stream.stream().handle());
    // A launch that failed may still have queued a part of its work.
    stream.stream().submitted();
    if (code != ACLNN_SUCCESS) stream.device().acl().fail(code, kernel.kernel().symbol);
}

// Whether this call's executor may stay for the next one. Only right after phase 1 and only for an executor
// that is not out of the kernel library's own cache.
bool make_repeatable(const Acl& acl, aclOpExecutor* executor) {
    const AclFunctions& functions = acl.functions();
    if (functions.aclSetAclOpExecutorRepeatable == nullptr || functions.aclDestroyAclOpExecutor == nullptr ||
        functions.aclSetInputTensorAddr == nullptr || functions.aclSetOutputTensorAddr == nullptr)
        return false;
    if (functions.aclSetAclOpExecutorRepeatable(executor) == ACLNN_SUCCESS) return true;
    functions.aclGetRecentErrMsg();  // a refusal is no error; its text must not stand behind a later one
    return false;
}

// The executor is kept under `key`, where that is given and granted.
void launch_new(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output, const Layout& layout,
                const ExecutorKey* key, ExecutionStream& stream) {
    const Acl& acl = stream.device().acl();
    OperandTensors tensors(acl, inputs, output, layout);
    uint64_t workspace_size = 0;
    aclOpExecutor* handle = nullptr;
    const aclnnStatus code =
        kernel.get_workspace_size()(tensors[0], tensors[1], tensors[kInputCount], &workspace_size, &handle);
    if (code != ACLNN_SUCCESS)
        acl.fail(code, (std::string(kernel.kernel().symbol) + "GetWorkspaceSize").c_str());
    Executor executor(acl, handle);

    ExecutorCache& executors = stream.executors();
    if (key != nullptr && !executors.refused(*key)) {
        if (make_repeatable(acl, handle)) {
            KeptExecutor& kept = executors.insert(*key, {std::move(tensors),
                                                         std::move(executor),
                                                         workspace_size,
                                                         {inputs[0].data, inputs[1].data, output.data}});
            try {
                launch(kernel, workspace_size, kept.executor.get(), stream);
            } catch (...) {
                executors.erase(*key);
                throw;
            }
            return;
        }
        executors.remember_refusal(*key);
    }
    // Memory for the workspace first: phase 2 consumes the executor, even when it fails.
    stream.workspace(workspace_size);
    launch(kernel, workspace_size, executor.release(), stream);
}

void launch_kept(const BoundKernel& kernel, KeptExecutor& kept, const Tensor* inputs, const Tensor& output,
                 const ExecutorKey& key, ExecutionStream& stream) {
    try {
        set_addresses(stream.device().acl(), kept, inputs, output);
        launch(kernel, kept.workspace_size, kept.executor.get(), stream);
    } catch (...) {
        stream.executors().erase(key);
        throw;
    }
}

// No executor is kept: slices are many, rare, and differ in their offsets.
void launch_slices(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output, Slices slices,
                   ExecutionStream& stream) {
    do {
        launch_new(kernel, inputs, output, slices.layout(), nullptr, stream);
    } while (slices.advance());
}

}  // namespace

std::string describe_call(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output) {
    std::string text = std::string(kernel.kernel().name) + "(";
    for (size_t k = 0; k < kInputCount; ++k)
        text += (k == 0 ? "" : ", ") + std::string(kernel.kernel().inputs[k]) + " " + describe(inputs[k]);
    return text + ") -> " + kernel.kernel().output + " " + describe(output) + " on device " +
           std::to_string(kernel.device().id()) + " (" + kernel.device().acl().soc_name() + ")";
}

void check_operands(const BoundKernel& bound, const Tensor* inputs, const Tensor& output) {
    const Kernel& kernel = bound.kernel();
    for (size_t k = 0; k < kOperandCount; ++k) {
        const Tensor& tensor = k < kInputCount ? inputs[k] : output;
        const std::string reason = unsupported_reason(kernel, bound.device().acl().soc_name(), tensor.dtype);
        if (!reason.empty()) throw InvalidArgument(reason + ": " + describe_call(bound, inputs, output));
    }
    const bool complex_result = dtype_info(inputs[0].dtype).complex || dtype_info(inputs[1].dtype).complex;
    if (complex_result && !dtype_info(output.dtype).complex)
        throw InvalidArgument("a complex result does not fit a real tensor: " +
                              describe_call(bound, inputs, output));
    std::array<int64_t, kMaxRank> dims;
    const int32_t rank = broadcast_shape(kernel, inputs, dims.data());
    if (rank != output.rank || !std::equal(output.dims, output.dims + rank, dims.data()))
        throw InvalidArgument(std::string(kernel.inputs[0]) + " " + describe(inputs[0]) + " and " +
                              kernel.inputs[1] + " " + describe(inputs[1]) + " give " +
                              describe_dims(dims.data(), rank) + ", but " + kernel.output + " is " +
                              describe(output));
}

void dispatch(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output,
              ExecutionStream& stream) {
    Layout layout;
    coalesce(inputs, output, layout);
    if (layout.elements == 0) return;
    int32_t max_rank = kernel.kernel().max_rank;
    for (size_t k = 0; k < kInputCount; ++k)
        max_rank = std::min(max_rank, rank_limit(kernel.kernel(), inputs[k].dtype, layout.broadcast));
    try {
        if (layout.rank > max_rank) {
            launch_slices(kernel, inputs, output, Slices(layout, max_rank), stream);
            return;
        }
        const ExecutorKey key(kernel.kernel(), inputs, output, layout);
        if (KeptExecutor* kept = stream.executors().find(key))
            launch_kept(kernel, *kept, inputs, output, key, stream);
        else
            launch_new(kernel, inputs, output, layout, &key, stream);
    } catch (const Error& error) {
        throw Error(error.code(), error.function(),
                    std::string(error.what()) + "; in " + describe_call(kernel, inputs, output));
    }
}

}  // namespace onnx_ascend
