#include "ort/custom_op/shape_inference.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace onnx_ascend::ort {
namespace {

struct Dim {
    int64_t size = 1;  // -1: not known
    std::string symbol;
};

bool is_one(const Dim& dim) {
    return dim.size == 1;
}

std::vector<Dim> input_dims(const Ort& ort, const OrtShapeInferContext* context, size_t index, bool& known) {
    // Belongs to the context.
    OrtTensorTypeAndShapeInfo* info = nullptr;
    ort.check(ort.api().ShapeInferContext_GetInputTypeShape(context, index, &info));
    size_t rank = 0;
    ort.check(ort.api().GetDimensionsCount(info, &rank));
    // Before 1.24 nothing tells a scalar from a tensor of unknown rank.
    if (rank == 0)
        known =
            ort.api().TensorTypeAndShape_HasShape != nullptr && ort.api().TensorTypeAndShape_HasShape(info);
    std::vector<int64_t> sizes(rank);
    std::vector<const char*> symbols(rank, nullptr);
    ort.check(ort.api().GetDimensions(info, sizes.data(), rank));
    ort.check(ort.api().GetSymbolicDimensions(info, symbols.data(), rank));
    std::vector<Dim> dims(rank);
    for (size_t d = 0; d < rank; ++d) dims[d] = {sizes[d], symbols[d] == nullptr ? "" : symbols[d]};
    return dims;
}

Dim broadcast(const Dim& a, const Dim& b) {
    if (is_one(a)) return b;
    if (is_one(b)) return a;
    if (a.size >= 0) return a;
    if (b.size >= 0) return b;
    return a.symbol == b.symbol ? a : Dim{-1, ""};
}

}  // namespace

void infer_broadcast_shape(const Ort& ort, OrtShapeInferContext* context, ONNXTensorElementDataType element) {
    bool known = true;
    const std::vector<Dim> a = input_dims(ort, context, 0, known);
    if (!known) return;
    const std::vector<Dim> b = input_dims(ort, context, 1, known);
    if (!known) return;
    const size_t rank = std::max(a.size(), b.size());
    std::vector<Dim> result(rank);
    for (size_t back = 1; back <= rank; ++back)
        result[rank - back] = broadcast(back <= a.size() ? a[a.size() - back] : Dim{},
                                        back <= b.size() ? b[b.size() - back] : Dim{});
    std::vector<int64_t> sizes;
    std::vector<const char*> symbols;
    for (const Dim& dim : result) {
        sizes.push_back(dim.size);
        symbols.push_back(dim.symbol.c_str());
    }
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    ort.check(ort.api().CreateTensorTypeAndShapeInfo(&raw));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
        raw, ort.api().ReleaseTensorTypeAndShapeInfo);
    ort.check(ort.api().SetTensorElementType(info.get(), element));
    ort.check(ort.api().SetDimensions(info.get(), sizes.data(), rank));
    ort.check(ort.api().SetSymbolicDimensions(info.get(), symbols.data(), rank));
    ort.check(ort.api().ShapeInferContext_SetOutputTypeShape(context, 0, info.get()));
}

}  // namespace onnx_ascend::ort
