// The element types that kernels take, under the numbers of onnx.TensorProto.DataType, which ONNX Runtime
// shares.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/abi.h"

namespace onnx_ascend {

enum class DType : int32_t {
    float32 = 1,
    float16 = 10,
    float64 = 11,
    complex64 = 14,
    complex128 = 15,
    bfloat16 = 16,
};

struct DTypeInfo {
    DType dtype;
    const char* name;  // in numpy's spelling
    aclDataType acl;
    size_t size;
    bool complex;
    bool on_ai_cpu;  // the device computes it on its AI CPU, with limits of its own
};

// Null for a number that no kernel takes.
const DTypeInfo* find_dtype(int32_t onnx_number);
const DTypeInfo& dtype_info(DType dtype);

}  // namespace onnx_ascend
