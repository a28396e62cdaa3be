#include "simulator/kernels/conversion.h"

#include <utility>

namespace onnx_ascend::simulator {
namespace {

bool is_half(aclDataType type) noexcept {
    return type == ACL_FLOAT16 || type == ACL_BF16;
}
bool has_double_parts(aclDataType type) noexcept {
    return type == ACL_DOUBLE || type == ACL_COMPLEX128;
}

}  // namespace

aclDataType promote(aclDataType a, aclDataType b) noexcept {
    if (a == b) return a;
    const bool wide = has_double_parts(a) || has_double_parts(b);
    if (is_complex(a) || is_complex(b)) return wide ? ACL_COMPLEX128 : ACL_COMPLEX64;
    // Neither half format holds the other.
    return wide ? ACL_DOUBLE : ACL_FLOAT;
}

bool can_cast(aclDataType from, aclDataType to) noexcept {
    return !is_complex(from) || is_complex(to);
}

void Conversion::add(ConversionLoop loop, size_t values_per_element) noexcept {
    step_[steps_++] = {loop, values_per_element};
}

Conversion::Conversion(aclDataType from, aclDataType to) {
    if (from == to) return;
    const ConversionLoops& c = loops().conversions;
    if (is_complex(from)) {
        add(to == ACL_COMPLEX128 ? c.float32_to_float64 : c.float64_to_float32, 2);
        return;
    }
    if (is_half(from)) {
        add(from == ACL_FLOAT16 ? c.float16_to_float32 : c.bfloat16_to_float32);
        from = ACL_FLOAT;
    }
    if (from == ACL_FLOAT && has_double_parts(to)) {
        add(c.float32_to_float64);
        from = ACL_DOUBLE;
    }
    const bool from_double = from == ACL_DOUBLE;
    switch (to) {
        case ACL_FLOAT16:
            add(from_double ? c.float64_to_float16 : c.float32_to_float16);
            break;
        case ACL_BF16:
            add(from_double ? c.float64_to_bfloat16 : c.float32_to_bfloat16);
            break;
        case ACL_FLOAT:
            if (from_double) add(c.float64_to_float32);
            break;
        case ACL_COMPLEX64:
            if (from_double) add(c.float64_to_float32);
            add(c.float32_to_complex64);
            break;
        case ACL_COMPLEX128:
            add(c.float64_to_complex128);
            break;
        default:
            break;
    }
}

void Conversion::run(const void* in, void* out, void* scratch, size_t count) const {
    // The last step has to end in `out`; the ones before it alternate.
    const void* from = in;
    void* to = steps_ % 2 == 1 ? out : scratch;
    void* other = steps_ % 2 == 1 ? scratch : out;
    for (size_t i = 0; i < steps_; ++i) {
        step_[i].loop(from, to, count * step_[i].values_per_element);
        from = to;
        std::swap(to, other);
    }
}

}  // namespace onnx_ascend::simulator
