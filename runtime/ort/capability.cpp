#include "ort/capability.h"

#include <algorithm>
#include <map>

#include "dispatch/kernel.h"
#include "dispatch/layout.h"
#include "ort/graph.h"
#include "ort/unclaimed.h"

namespace onnx_ascend::ort {
namespace {

// Sizes by name, or by value where they are known.
using Numbers = std::map<std::pair<std::string, int64_t>, int64_t>;

// Gives every size a number, so that shapes can be compared before they are known: equal sizes get the same
// one, 0 and 1 stay themselves. Small ones, whose products do not overflow. False when some size has neither
// a value nor a name.
bool number_dims(const ValueType& type, Numbers& numbers, std::vector<int64_t>& dims) {
    constexpr int64_t kFirst = 2;
    for (size_t d = 0; d < type.dims.size(); ++d) {
        const int64_t size = type.dims[d];
        const std::string name = size < 0 ? type.symbols[d] : "";
        if (size < 0 && name.empty()) return false;
        const int64_t next = kFirst + static_cast<int64_t>(numbers.size());
        const bool itself = size == 0 || size == 1;
        dims.push_back(itself ? size : numbers.emplace(std::pair(name, size), next).first->second);
    }
    return true;
}

// Empty when operands of these shapes are within the kernel's limits once they are coalesced, as far as that
// can be known now.
std::string shape_reason(const Kernel& kernel, DType dtype, const std::vector<ValueType>& inputs) {
    size_t rank = 0;
    for (const ValueType& input : inputs) {
        if (!input.has_shape) return {};
        rank = std::max(rank, input.dims.size());
    }
    const bool always_fits = rank <= static_cast<size_t>(kernel.max_ai_cpu_broadcast_rank);
    const bool same_shape_fits = rank <= static_cast<size_t>(kernel.max_rank) && !dtype_info(dtype).on_ai_cpu;
    if (always_fits || same_shape_fits) return {};
    const std::string unknown =
        "its operands have " + std::to_string(rank) + " dimensions, of which too little is known";
    if (rank > kMaxRank) return unknown;
    Numbers numbers;
    std::array<std::vector<int64_t>, kInputCount> dims;
    std::array<Tensor, kInputCount> tensors;
    for (size_t k = 0; k < kInputCount; ++k) {
        if (!number_dims(inputs[k], numbers, dims[k])) return unknown;
        tensors[k].dtype = dtype;
        tensors[k].rank = static_cast<int32_t>(dims[k].size());
        tensors[k].dims = dims[k].data();
    }
    std::array<int64_t, kMaxRank> result;
    Tensor output;
    output.dtype = dtype;
    output.dims = result.data();
    try {
        output.rank = broadcast_shape(kernel, tensors.data(), result.data());
    } catch (const InvalidArgument&) {
        return unknown;
    }
    int64_t elements = 1;
    for (int32_t d = 0; d < output.rank; ++d)
        if (__builtin_mul_overflow(elements, result[static_cast<size_t>(d)], &elements)) return unknown;
    Layout layout;
    coalesce(tensors.data(), output, layout);
    return rank_reason(kernel, dtype, layout.rank, layout.broadcast);
}

// Empty when the node can be claimed, else why not.
std::string refusal(const Ep& ep, const Kernel& kernel, const OrtNode* node) {
    const Ort& ort = ep.ort();
    const auto input_values = inputs_of(ort, node);
    const auto output_values = outputs_of(ort, node);
    if (input_values.size() != kInputCount || output_values.size() != 1)
        return "it has " + std::to_string(input_values.size()) + " inputs and " +
               std::to_string(output_values.size()) + " outputs instead of " + std::to_string(kInputCount) +
               " and 1";
    std::vector<ValueType> inputs;
    for (size_t k = 0; k < kInputCount; ++k) {
        if (input_values[k] == nullptr) return std::string(kernel.inputs[k]) + " is missing";
        inputs.push_back(type_of(ort, input_values[k]));
        if (!inputs[k].is_tensor || inputs[k].element == 0)
            return "the element type of " + std::string(kernel.inputs[k]) + " is not known";
    }
    const DTypeInfo* dtype = find_dtype(inputs[0].element);
    if (inputs[0].element != inputs[1].element)
        return std::string(kernel.inputs[0]) + " and " + kernel.inputs[1] +
               " have different element types (" + std::to_string(inputs[0].element) + " and " +
               std::to_string(inputs[1].element) + " of onnx.TensorProto.DataType)";
    if (dtype == nullptr || dtype->complex)
        return "element type " + std::to_string(inputs[0].element) +
               " of onnx.TensorProto.DataType is not one that it is computed in";
    if (output_values[0] != nullptr) {
        const ValueType output = type_of(ort, output_values[0]);
        if (output.is_tensor && output.element != 0 && output.element != inputs[0].element)
            return std::string(kernel.output) + " has another element type than the inputs";
    }
    const std::string reason = unsupported_reason(kernel, ep.device().acl().soc_name(), dtype->dtype);
    return reason.empty() ? shape_reason(kernel, dtype->dtype, inputs) : reason;
}

bool belongs_to_another(const Ort& ort, const OrtNode* node) {
    const char* name = "";
    ort.check(ort.api().Node_GetEpName(node, &name));
    return name != nullptr && *name != '\0' && std::string(name) != kEpName;
}

}  // namespace

void claim_nodes(const Ep& ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
    const Ort& ort = ep.ort();
    for (const OrtNode* node : nodes_of(ort, graph)) {
        if (domain_of(ort, node) != kDomain || belongs_to_another(ort, node)) continue;
        const std::string type = operator_type(ort, node);
        const Kernel* kernel = find_kernel(type);
        const std::string reason =
            kernel == nullptr ? "there is no kernel for this operator" : refusal(ep, *kernel, node);
        if (reason.empty()) {
            OrtNodeFusionOptions options{};
            options.ort_version_supported = ort.version();
            // Constants stay inputs of the node: the kernel reads them like any other operand.
            options.drop_constant_initializers = false;
            ort.check(ort.ep_api().EpGraphSupportInfo_AddNodesToFuse(info, &node, 1, &options));
            continue;
        }
        const std::string name = node_name(ort, node);
        const std::string label =
            std::string(kDomain) + "::" + type + (name.empty() ? "" : " '" + name + "'");
        remember_unclaimed(label, reason);
        ort.log(ep.logger(), ORT_LOGGING_LEVEL_WARNING,
                label + " does not run on " + kEpName + ": " + reason);
    }
}

}  // namespace onnx_ascend::ort
