// Operands that need more dimensions than a kernel takes, as several launches that it does take.
#pragma once

#include "dispatch/layout.h"

namespace onnx_ascend {

// The slices of one layout, one after another. `layout` has more than `max_rank` dimensions; the smallest are
// looped over, so that the launches are few.
class Slices {
  public:
    Slices(const Layout& layout, int32_t max_rank);

    // Of the present slice. It begins at an offset and not at an address of its own, because ACL asks for
    // aligned addresses.
    const Layout& layout() const { return slice_; }

    // Goes to the next slice; false after the last one.
    bool advance();

  private:
    struct Loop {
        int64_t size;
        int64_t index;
        std::array<int64_t, kOperandCount> strides;  // 0 where the operand is repeated
    };

    Layout slice_;
    int32_t loop_count_ = 0;
    std::array<Loop, kMaxRank> loops_;
};

}  // namespace onnx_ascend
