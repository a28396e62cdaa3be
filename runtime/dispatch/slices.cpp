#include "dispatch/slices.h"

#include <algorithm>
#include <numeric>

namespace onnx_ascend {

Slices::Slices(const Layout& layout, int32_t max_rank) {
    const OperandView& result = layout.operands[kInputCount];
    std::array<int32_t, kMaxRank> by_size;
    const auto end = by_size.begin() + layout.rank;
    std::iota(by_size.begin(), end, 0);
    std::stable_sort(by_size.begin(), end,
                     [&](int32_t a, int32_t b) { return result.dims[a] < result.dims[b]; });
    std::array<bool, kMaxRank> looped{};
    for (int32_t i = 0; i < layout.rank - max_rank; ++i) looped[by_size[i]] = true;

    slice_.broadcast = layout.broadcast;
    slice_.elements = 1;
    for (size_t k = 0; k < kOperandCount; ++k) {
        slice_.operands[k].offset = layout.operands[k].offset;
        slice_.operands[k].storage = layout.operands[k].storage;
    }
    for (int32_t d = 0; d < layout.rank; ++d) {
        if (looped[d]) {
            Loop& loop = loops_[loop_count_++];
            loop.size = result.dims[d];
            loop.index = 0;
            for (size_t k = 0; k < kOperandCount; ++k)
                loop.strides[k] = layout.operands[k].dims[d] == 1 ? 0 : layout.operands[k].strides[d];
            continue;
        }
        for (size_t k = 0; k < kOperandCount; ++k) {
            slice_.operands[k].dims[slice_.rank] = layout.operands[k].dims[d];
            slice_.operands[k].strides[slice_.rank] = layout.operands[k].strides[d];
        }
        ++slice_.rank;
        slice_.elements *= result.dims[d];
    }
}

bool Slices::advance() {
    for (int32_t i = loop_count_ - 1; i >= 0; --i) {
        Loop& loop = loops_[i];
        const bool more = ++loop.index < loop.size;
        const int64_t steps = more ? 1 : 1 - loop.size;
        for (size_t k = 0; k < kOperandCount; ++k) slice_.operands[k].offset += steps * loop.strides[k];
        if (more) return true;
        loop.index = 0;
    }
    return false;
}

}  // namespace onnx_ascend
