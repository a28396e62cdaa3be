// Walks a strided view in row-major order.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/tensor.h"

namespace onnx_ascend::simulator {

// A run of elements with one stride.
struct Run {
    int64_t first;  // offset of the first element, in elements
    int64_t stride;
    int64_t length;
};

class StridedWalker {
  public:
    StridedWalker(uint32_t rank, const int64_t* extent, const int64_t* stride, int64_t start)
        : rank_(rank), extent_(extent), stride_(stride) {
        for (uint32_t d = rank; d-- > 0;) {
            index_[d] = start % extent[d];
            start /= extent[d];
            offset_ += index_[d] * stride[d];
        }
    }

    // The next run, of at most `limit` elements. The caller stops at the end of the view.
    Run next(int64_t limit) {
        if (rank_ == 0) return {0, 0, 1};
        const uint32_t inner = rank_ - 1;
        const Run run{offset_, stride_[inner], std::min(limit, extent_[inner] - index_[inner])};
        index_[inner] += run.length;
        offset_ += run.length * stride_[inner];
        for (uint32_t d = inner; index_[d] == extent_[d] && d > 0; --d) {
            offset_ += stride_[d - 1] - extent_[d] * stride_[d];
            index_[d] = 0;
            ++index_[d - 1];
        }
        return run;
    }

  private:
    const uint32_t rank_;
    const int64_t* const extent_;
    const int64_t* const stride_;
    int64_t index_[max_tensor_rank]{};
    int64_t offset_ = 0;
};

}  // namespace onnx_ascend::simulator
