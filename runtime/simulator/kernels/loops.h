// Loops over contiguous elements, compiled once for each instruction set and chosen at run time.
#pragma once

#include <cstddef>

#include "acl/abi.h"

namespace onnx_ascend::simulator {

// out[i] = f(a[i], b[i]), all of one type. out may be a or b.
using BinaryLoop = void (*)(const void* a, const void* b, void* out, size_t count);
// out[i] = convert(in[i]). The arrays do not overlap.
using ConversionLoop = void (*)(const void* in, void* out, size_t count);

// One loop for each type that kernels compute in.
struct RealLoops {
    BinaryLoop float32;
    BinaryLoop float16;
    BinaryLoop bfloat16;
    BinaryLoop float64;
};
struct ComplexLoops {
    BinaryLoop complex64;
    BinaryLoop complex128;
};
struct BinaryLoops {
    RealLoops real;
    RealLoops streaming;
    ComplexLoops complex;

    // `streams` where the operands together are larger than the caches, so that writing past them is faster.
    BinaryLoop of(aclDataType type, bool streams) const noexcept {
        const RealLoops& chosen = streams ? streaming : real;
        switch (type) {
            case ACL_FLOAT:
                return chosen.float32;
            case ACL_FLOAT16:
                return chosen.float16;
            case ACL_BF16:
                return chosen.bfloat16;
            case ACL_DOUBLE:
                return chosen.float64;
            case ACL_COMPLEX64:
                return complex.complex64;
            case ACL_COMPLEX128:
                return complex.complex128;
            default:
                return nullptr;
        }
    }
};

// Widening is exact; narrowing rounds once, to nearest even. Complex numbers are pairs of their parts.
struct ConversionLoops {
    ConversionLoop float16_to_float32;
    ConversionLoop bfloat16_to_float32;
    ConversionLoop float32_to_float16;
    ConversionLoop float32_to_bfloat16;
    ConversionLoop float32_to_float64;
    ConversionLoop float64_to_float32;
    ConversionLoop float64_to_float16;
    ConversionLoop float64_to_bfloat16;
    ConversionLoop float32_to_complex64;
    ConversionLoop float64_to_complex128;
};

struct InstructionSetLoops {
    ConversionLoops conversions;
    BinaryLoops sigmoid_backward;
};

// The loops of the best instruction set that this CPU has, or of the one that ASCEND_SIM_ISA names.
const InstructionSetLoops& loops();

namespace portable {
extern const ConversionLoops conversion_loops;
extern const RealLoops sigmoid_backward_real_loops;
extern const RealLoops sigmoid_backward_streaming_loops;
extern const ComplexLoops sigmoid_backward_complex_loops;
}  // namespace portable
#ifdef ONNX_ASCEND_SIM_X86
namespace avx2 {
extern const ConversionLoops conversion_loops;
extern const RealLoops sigmoid_backward_real_loops;
extern const RealLoops sigmoid_backward_streaming_loops;
extern const ComplexLoops sigmoid_backward_complex_loops;
}  // namespace avx2
namespace avx512 {
extern const ConversionLoops conversion_loops;
extern const RealLoops sigmoid_backward_real_loops;
extern const RealLoops sigmoid_backward_streaming_loops;
}  // namespace avx512
#endif

}  // namespace onnx_ascend::simulator
