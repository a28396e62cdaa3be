// Element types: which promote to which, which may be cast to which, and how.
#pragma once

#include <array>
#include <cstddef>

#include "simulator/element_type.h"
#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator {

// The type that two operands of the kernel types (four real and two complex ones) are computed in.
aclDataType promote(aclDataType a, aclDataType b) noexcept;

// Real types may become any kernel type, complex ones only a complex one.
bool can_cast(aclDataType from, aclDataType to) noexcept;

// A conversion between kernel types: exact widening steps, then at most one that rounds.
class Conversion {
  public:
    Conversion(aclDataType from, aclDataType to);

    bool is_identity() const noexcept { return steps_ == 0; }
    // Writes to `out`; `scratch` is room for as many elements of 16 bytes. Neither may overlap `in`.
    void run(const void* in, void* out, void* scratch, size_t count) const;

  private:
    struct Step {
        ConversionLoop loop;
        size_t values_per_element;
    };

    void add(ConversionLoop loop, size_t values_per_element = 1) noexcept;

    std::array<Step, 4> step_{};
    size_t steps_ = 0;
};

}  // namespace onnx_ascend::simulator
