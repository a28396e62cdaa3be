#include "ort/compute.h"

#include "ort/graph.h"
#include "ort/profiler.h"
#include "ort/stream.h"
#include "ort/tensors.h"

namespace onnx_ascend::ort {

NodeCompute::NodeCompute(const Ep& ep, BoundKernel kernel, std::string node,
                         std::array<size_t, kInputCount> operands)
    : OrtNodeComputeInfo{},
      ep_(ep),
      ort_(ep.ort()),
      kernel_(kernel),
      node_(std::move(node)),
      operands_(operands) {
    ort_version_supported = ort_.version();
    OrtNodeComputeInfo::CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*,
                                         void** state) -> OrtStatus* {
        *state = self;
        return nullptr;
    };
    OrtNodeComputeInfo::ReleaseState = [](OrtNodeComputeInfo*, void*) {};
    OrtNodeComputeInfo::Compute = [](OrtNodeComputeInfo* self, void*, OrtKernelContext* context) {
        const auto* me = static_cast<const NodeCompute*>(self);
        return me->ort_.guarded([&] { me->compute(context); });
    };
}

void NodeCompute::compute(OrtKernelContext* context) const {
    std::array<Tensor, kInputCount> inputs;
    for (size_t k = 0; k < kInputCount; ++k) {
        const OrtValue* value = nullptr;
        ort_.check(ort_.api().KernelContext_GetInput(context, operands_[k], &value));
        inputs[k] = view_of(ort_, value);
    }
    try {
        std::array<int64_t, kMaxRank> dims;
        Tensor output;
        output.dtype = inputs[0].dtype;
        output.rank = broadcast_shape(kernel_.kernel(), inputs.data(), dims.data());
        output.dims = dims.data();
        OrtValue* value = nullptr;
        ort_.check(ort_.api().KernelContext_GetOutput(context, 0, dims.data(),
                                                      static_cast<size_t>(output.rank), &value));
        ort_.check(ort_.api().GetTensorMutableData(value, &output.data));
        if (output.elements() > 0) run(context, inputs.data(), output);
    } catch (const InvalidArgument& error) {
        throw InvalidArgument("node '" + node_ + "': " + error.what());
    } catch (const Error& error) {
        throw Error(error.code(), error.function(), "node '" + node_ + "': " + error.what());
    }
}

void NodeCompute::run(OrtKernelContext* context, const Tensor* inputs, const Tensor& output) const {
    Device& device = kernel_.device();
    const DeviceScope scope(device);
    const KernelTimer timer(ep_, kernel_.kernel().symbol, node_);
    if (!device.acl().shares_memory()) {
        void* handle = nullptr;
        ort_.check(ort_.api().KernelContext_GetGPUComputeStream(context, &handle));
        if (SyncStream* stream = SyncStream::from_handle(handle)) {
            dispatch(kernel_, inputs, output, stream->execution());
            return;
        }
    }
    const StreamLease stream(kernel_.streams());
    dispatch(kernel_, inputs, output, *stream);
    stream->synchronize();
}

OrtNodeComputeInfo* make_node_compute(const Ep& ep, const OrtGraph* graph, const OrtNode* fused_node) {
    const Ort& ort = ep.ort();
    const auto nodes = nodes_of(ort, graph);
    if (nodes.size() != 1)
        throw InvalidArgument("a claimed graph has " + std::to_string(nodes.size()) + " nodes, not 1");
    const OrtNode* node = nodes.front();
    const Kernel* kernel = find_kernel(operator_type(ort, node));
    if (kernel == nullptr) throw InvalidArgument("no kernel for " + operator_type(ort, node));
    std::string name = node_name(ort, node);
    if (name.empty()) name = node_name(ort, fused_node);

    // The fused node has each value once, in an order of its own.
    const auto sources = inputs_of(ort, fused_node);
    const auto values = inputs_of(ort, node);
    std::array<size_t, kInputCount> operands{};
    for (size_t k = 0; k < kInputCount; ++k) {
        const std::string wanted = value_name(ort, values[k]);
        size_t index = 0;
        while (index < sources.size() && value_name(ort, sources[index]) != wanted) ++index;
        if (index == sources.size())
            throw InvalidArgument("node '" + name + "' was given no input '" + wanted + "'");
        operands[k] = index;
    }
    return new NodeCompute(ep, BoundKernel(*kernel, ep.device()), std::move(name), operands);
}

}  // namespace onnx_ascend::ort
