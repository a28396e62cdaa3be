#include "dispatch/dtype.h"

namespace onnx_ascend {
namespace {

constexpr DTypeInfo kDTypes[] = {
    {DType::float32, "float32", ACL_FLOAT, 4, false, false},
    {DType::float16, "float16", ACL_FLOAT16, 2, false, false},
    {DType::bfloat16, "bfloat16", ACL_BF16, 2, false, false},
    {DType::float64, "float64", ACL_DOUBLE, 8, false, true},
    {DType::complex64, "complex64", ACL_COMPLEX64, 8, true, true},
    {DType::complex128, "complex128", ACL_COMPLEX128, 16, true, true},
};

}  // namespace

const DTypeInfo* find_dtype(int32_t onnx_number) {
    for (const DTypeInfo& info : kDTypes)
        if (static_cast<int32_t>(info.dtype) == onnx_number) return &info;
    return nullptr;
}

const DTypeInfo& dtype_info(DType dtype) {
    return *find_dtype(static_cast<int32_t>(dtype));
}

}  // namespace onnx_ascend
