// Reading ONNX Runtime's view of a graph.
#pragma once

#include <string>
#include <vector>

#include "ort/api.h"

namespace onnx_ascend::ort {

std::vector<const OrtNode*> nodes_of(const Ort& ort, const OrtGraph* graph);
std::vector<const OrtValueInfo*> inputs_of(const Ort& ort, const OrtNode* node);
std::vector<const OrtValueInfo*> outputs_of(const Ort& ort, const OrtNode* node);

std::string node_name(const Ort& ort, const OrtNode* node);
std::string operator_type(const Ort& ort, const OrtNode* node);
std::string domain_of(const Ort& ort, const OrtNode* node);
std::string value_name(const Ort& ort, const OrtValueInfo* value);

// What ONNX Runtime knows of a value before it is computed.
struct ValueType {
    bool is_tensor = false;
    ONNXTensorElementDataType element = 0;  // 0: not known
    bool has_shape = false;
    std::vector<int64_t> dims;         // -1 where the size is not known
    std::vector<std::string> symbols;  // the name of the size, or empty
};
ValueType type_of(const Ort& ort, const OrtValueInfo* value);

}  // namespace onnx_ascend::ort
