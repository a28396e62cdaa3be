#include "ort/graph.h"

namespace onnx_ascend::ort {

std::vector<const OrtNode*> nodes_of(const Ort& ort, const OrtGraph* graph) {
    size_t count = 0;
    ort.check(ort.api().Graph_GetNumNodes(graph, &count));
    std::vector<const OrtNode*> nodes(count);
    ort.check(ort.api().Graph_GetNodes(graph, nodes.data(), count));
    return nodes;
}

std::vector<const OrtValueInfo*> inputs_of(const Ort& ort, const OrtNode* node) {
    size_t count = 0;
    ort.check(ort.api().Node_GetNumInputs(node, &count));
    std::vector<const OrtValueInfo*> values(count);
    ort.check(ort.api().Node_GetInputs(node, values.data(), count));
    return values;
}

std::vector<const OrtValueInfo*> outputs_of(const Ort& ort, const OrtNode* node) {
    size_t count = 0;
    ort.check(ort.api().Node_GetNumOutputs(node, &count));
    std::vector<const OrtValueInfo*> values(count);
    ort.check(ort.api().Node_GetOutputs(node, values.data(), count));
    return values;
}

std::string node_name(const Ort& ort, const OrtNode* node) {
    const char* name = "";
    ort.check(ort.api().Node_GetName(node, &name));
    return name;
}

std::string operator_type(const Ort& ort, const OrtNode* node) {
    const char* type = "";
    ort.check(ort.api().Node_GetOperatorType(node, &type));
    return type;
}

std::string domain_of(const Ort& ort, const OrtNode* node) {
    const char* domain = "";
    ort.check(ort.api().Node_GetDomain(node, &domain));
    return domain;
}

std::string value_name(const Ort& ort, const OrtValueInfo* value) {
    const char* name = "";
    ort.check(ort.api().GetValueInfoName(value, &name));
    return name;
}

ValueType type_of(const Ort& ort, const OrtValueInfo* value) {
    ValueType type;
    const OrtTypeInfo* info = nullptr;
    const OrtTensorTypeAndShapeInfo* tensor = nullptr;
    // A value whose type is not known has no type information, which ONNX Runtime may report as an error.
    OrtStatus* status = ort.api().GetValueInfoTypeInfo(value, &info);
    if (status == nullptr && info != nullptr) status = ort.api().CastTypeInfoToTensorInfo(info, &tensor);
    if (status != nullptr) ort.api().ReleaseStatus(status);
    if (status != nullptr || tensor == nullptr) return type;
    type.is_tensor = true;
    ort.check(ort.api().GetTensorElementType(tensor, &type.element));
    type.has_shape = ort.api().TensorTypeAndShape_HasShape(tensor);
    if (!type.has_shape) return type;
    size_t rank = 0;
    ort.check(ort.api().GetDimensionsCount(tensor, &rank));
    type.dims.resize(rank);
    ort.check(ort.api().GetDimensions(tensor, type.dims.data(), rank));
    std::vector<const char*> names(rank, nullptr);
    ort.check(ort.api().GetSymbolicDimensions(tensor, names.data(), rank));
    for (const char* name : names) type.symbols.emplace_back(name == nullptr ? "" : name);
    return type;
}

}  // namespace onnx_ascend::ort
