#include "ort/custom_op/shape_inference.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
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

struct Input {
    ONNXTensorElementDataType element = 0;
    std::vector<Dim> dims;
};

// Nothing when the rank is not known.
std::optional<Input> read_input(const Ort& ort, const OrtShapeInferContext* context, size_t index) {
    // Belongs to the context.
    OrtTensorTypeAndShapeInfo* info = nullptr;
    ort.check(ort.api().ShapeInferContext_GetInputTypeShape(context, index, &info));
    if (info == nullptr) return std::nullopt;
    Input input;
    ort.check(ort.api().GetTensorElementType(info, &input.element));
    const auto has_shape = ort.api().TensorTypeAndShape_HasShape;
    if (input.element == 0 || (has_shape != nullptr && !has_shape(info))) return std::nullopt;
    size_t rank = 0;
    ort.check(ort.api().GetDimensionsCount(info, &rank));
    // Before 1.24 nothing tells a scalar from a tensor of unknown rank.
    if (rank == 0 && has_shape == nullptr) return std::nullopt;
    std::vector<int64_t> sizes(rank);
    std::vector<const char*> symbols(rank, nullptr);
    ort.check(ort.api().GetDimensions(info, sizes.data(), rank));
    ort.check(ort.api().GetSymbolicDimensions(info, symbols.data(), rank));
    for (size_t d = 0; d < rank; ++d)
        input.dims.push_back({sizes[d], sizes[d] >= 0 || symbols[d] == nullptr ? "" : symbols[d]});
    return input;
}

// ONNX Runtime knows no size without a number and a name, so one that is not known gets a name that nothing
// else has.
std::string new_symbol() {
    static std::atomic<uint64_t> count{0};
    return "onnx_ascend_ext_dim_" + std::to_string(count.fetch_add(1));
}

Dim broadcast(const Dim& a, const Dim& b) {
    if (is_one(a)) return b;
    if (is_one(b)) return a;
    if (a.size >= 0) return a;
    if (b.size >= 0) return b;
    return a.symbol == b.symbol && !a.symbol.empty() ? a : Dim{-1, new_symbol()};
}

}  // namespace

void infer_broadcast_shape(const Ort& ort, OrtShapeInferContext* context) {
    const std::optional<Input> first = read_input(ort, context, 0);
    const std::optional<Input> second = read_input(ort, context, 1);
    if (!first || !second) return;
    const std::vector<Dim>& a = first->dims;
    const std::vector<Dim>& b = second->dims;
    const size_t rank = std::max(a.size(), b.size());
    std::vector<Dim> result(rank);
    for (size_t back = 1; back <= rank; ++back)
        result[rank - back] = broadcast(back <= a.size() ? a[a.size() - back] : Dim{},
                                        back <= b.size() ? b[b.size() - back] : Dim{});
    std::vector<int64_t> sizes;
    std::vector<const char*> symbols;
    for (Dim& dim : result) {
        if (dim.size < 0 && dim.symbol.empty()) dim.symbol = new_symbol();
        sizes.push_back(dim.size);
        symbols.push_back(dim.symbol.c_str());
    }
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    ort.check(ort.api().CreateTensorTypeAndShapeInfo(&raw));
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
        raw, ort.api().ReleaseTensorTypeAndShapeInfo);
    ort.check(ort.api().SetTensorElementType(info.get(), first->element));
    ort.check(ort.api().SetDimensions(info.get(), sizes.data(), rank));
    ort.check(ort.api().SetSymbolicDimensions(info.get(), symbols.data(), rank));
    ort.check(ort.api().ShapeInferContext_SetOutputTypeShape(context, 0, info.get()));
}

}  // namespace onnx_ascend::ort
