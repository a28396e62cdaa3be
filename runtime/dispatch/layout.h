// The shapes under which operands reach a kernel: broadcast worked out, and as few dimensions as will do.
#pragma once

#include <array>
#include <cstdint>

#include "dispatch/kernel.h"
#include "dispatch/tensor.h"

namespace onnx_ascend {

// The broadcast shape of the inputs; `dims` has room for kMaxRank. Throws InvalidArgument, naming both
// operands, when they do not broadcast.
int32_t broadcast_shape(const Kernel& kernel, const Tensor* inputs, int64_t* dims);

struct OperandView {
    std::array<int64_t, kMaxRank> dims;
    std::array<int64_t, kMaxRank> strides;
    int64_t offset;   // elements from the tensor's first to the view's
    int64_t storage;  // elements from the tensor's first to the last that is touched
};

struct Layout {
    int32_t rank = 0;
    bool broadcast = false;  // some operand has fewer elements than the result
    int64_t elements = 0;    // of the result
    std::array<OperandView, kOperandCount> operands;
};

// Drops dimensions of size 1 and merges neighbours that are one run of memory in every operand. The shapes
// must have been checked. Only the first `rank` entries of each view are set; with no elements, nothing is
// but `elements`.
void coalesce(const Tensor* inputs, const Tensor& output, Layout& layout);

}  // namespace onnx_ascend
