// A tensor that somebody else owns, as the dispatcher takes it.
#pragma once

#include <cstdint>
#include <string>

#include "dispatch/dtype.h"

namespace onnx_ascend {

// No tensor of ONNX Runtime or numpy has more dimensions.
constexpr int32_t kMaxRank = 64;

struct Tensor {
    void* data = nullptr;  // the first element
    DType dtype = DType::float32;
    int32_t rank = 0;
    const int64_t* dims = nullptr;
    const int64_t* strides = nullptr;  // in elements; null: contiguous

    int64_t elements() const;
    size_t bytes() const { return static_cast<size_t>(elements()) * dtype_info(dtype).size; }

    // Whether the elements lie densely in row-major order.
    bool contiguous() const;
};

// "float[2,3]"
std::string describe(const Tensor& tensor);
std::string describe_dims(const int64_t* dims, int32_t rank);

// Copies between a strided tensor and dense memory of the same element type. Both on the host.
void pack(const Tensor& source, void* target);
void unpack(const void* source, const Tensor& target);

}  // namespace onnx_ascend
