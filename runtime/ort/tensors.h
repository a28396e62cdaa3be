// ONNX Runtime's tensors as the dispatcher takes them.
#pragma once

#include "dispatch/tensor.h"
#include "ort/api.h"

namespace onnx_ascend::ort {

// A view of the data and shape of `value`, valid as long as it is. Needs ONNX Runtime 1.24.
inline Tensor view_of(const Ort& ort, const OrtValue* value) {
    ONNXTensorElementDataType element = 0;
    const int64_t* dims = nullptr;
    size_t rank = 0;
    const void* data = nullptr;
    ort.check(ort.api().GetTensorElementTypeAndShapeDataReference(value, &element, &dims, &rank));
    ort.check(ort.api().GetTensorData(value, &data));
    if (rank > static_cast<size_t>(kMaxRank))
        throw InvalidArgument("a tensor has " + std::to_string(rank) + " dimensions; at most " +
                              std::to_string(kMaxRank) + " are possible");
    Tensor tensor;
    tensor.data = const_cast<void*>(data);
    tensor.dtype = static_cast<DType>(element);
    tensor.rank = static_cast<int32_t>(rank);
    tensor.dims = dims;
    return tensor;
}

}  // namespace onnx_ascend::ort
