#include "dispatch/layout.h"

#include <algorithm>
#include <string>

#include "acl/error.h"

namespace onnx_ascend {
namespace {

using Dims = std::array<int64_t, kMaxRank>;

// Strides of `tensor` against the dimensions of the result: 0 where it is repeated.
void aligned_strides(const Tensor& tensor, const int64_t* result, int32_t rank, Dims& strides) {
    int64_t dense = 1;
    for (int32_t d = rank - 1, t = tensor.rank - 1; d >= 0; --d, --t) {
        if (t < 0 || tensor.dims[t] == 1) {
            strides[d] = 0;
            continue;
        }
        strides[d] = tensor.strides != nullptr ? tensor.strides[t] : dense;
        dense *= result[d];
    }
}

bool same_dense_shape(const Tensor* inputs, const Tensor& output) {
    for (size_t i = 0; i < kInputCount; ++i) {
        const Tensor& input = inputs[i];
        if (input.strides != nullptr || input.rank != output.rank) return false;
        if (!std::equal(input.dims, input.dims + input.rank, output.dims)) return false;
    }
    return output.strides == nullptr;
}

int64_t storage_of(const OperandView& view, int32_t rank) {
    int64_t last = 0;
    for (int32_t d = 0; d < rank; ++d) last += (view.dims[d] - 1) * view.strides[d];
    return last + 1;
}

}  // namespace

int32_t broadcast_shape(const Kernel& kernel, const Tensor* inputs, int64_t* dims) {
    const int32_t rank = std::max(inputs[0].rank, inputs[1].rank);
    for (int32_t back = 1; back <= rank; ++back) {
        const int64_t a = back <= inputs[0].rank ? inputs[0].dims[inputs[0].rank - back] : 1;
        const int64_t b = back <= inputs[1].rank ? inputs[1].dims[inputs[1].rank - back] : 1;
        if (a != b && a != 1 && b != 1)
            throw InvalidArgument(std::string(kernel.inputs[0]) + " " + describe(inputs[0]) + " and " +
                                  kernel.inputs[1] + " " + describe(inputs[1]) + " do not broadcast");
        dims[rank - back] = a == 1 ? b : a;
    }
    return rank;
}

void coalesce(const Tensor* inputs, const Tensor& output, Layout& layout) {
    layout.elements = output.elements();
    layout.rank = 0;
    layout.broadcast = false;
    if (layout.elements == 0) return;
    if (same_dense_shape(inputs, output)) {
        layout.rank = 1;
        for (OperandView& view : layout.operands) {
            view.dims[0] = view.storage = layout.elements;
            view.strides[0] = 1;
            view.offset = 0;
        }
        return;
    }

    std::array<Dims, kOperandCount> strides;
    for (size_t k = 0; k < kOperandCount; ++k)
        aligned_strides(k < kInputCount ? inputs[k] : output, output.dims, output.rank, strides[k]);
    Dims dims;
    int32_t rank = 0;
    for (int32_t d = 0; d < output.rank; ++d) {
        if (output.dims[d] == 1) continue;
        bool merges = rank > 0;
        for (size_t k = 0; merges && k < kOperandCount; ++k)
            merges = strides[k][rank - 1] == strides[k][d] * output.dims[d];
        if (!merges) ++rank;
        dims[rank - 1] = merges ? dims[rank - 1] * output.dims[d] : output.dims[d];
        for (size_t k = 0; k < kOperandCount; ++k) strides[k][rank - 1] = strides[k][d];
    }
    if (rank == 0) {
        rank = 1;
        dims[0] = 1;
        for (Dims& each : strides) each[0] = 1;
    }

    layout.rank = rank;
    for (size_t k = 0; k < kOperandCount; ++k) {
        OperandView& view = layout.operands[k];
        for (int32_t d = 0; d < rank; ++d) {
            // A repeated dimension is 1 to the kernel, unless no other input would then give it its size.
            bool repeated = k < kInputCount && strides[k][d] == 0;
            if (repeated && k == 0) repeated = strides[1][d] != 0;
            view.dims[d] = repeated ? 1 : dims[d];
            view.strides[d] = repeated ? 1 : strides[k][d];
            layout.broadcast = layout.broadcast || repeated;
        }
        view.offset = 0;
        view.storage = storage_of(view, rank);
    }
}

}  // namespace onnx_ascend
