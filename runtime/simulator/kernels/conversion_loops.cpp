// Compiled once for each instruction set.

#include "simulator/kernels/half_vectors.h"
#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

template <typename In, typename Out, Out (*Convert)(In)>
void convert_each(const void* in, void* out, size_t count) {
    const In* from = static_cast<const In*>(in);
    Out* to = static_cast<Out*>(out);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) to[i] = Convert(from[i]);
}

inline double widen(float value) {
    return static_cast<double>(value);
}
inline float narrow(double value) {
    return static_cast<float>(value);
}
inline uint16_t float64_to_float16(double value) {
    return float32_to_float16(float64_to_float32_odd(value));
}
inline uint16_t float64_to_bfloat16(double value) {
    return float32_to_bfloat16(float64_to_float32_odd(value));
}

// Complex numbers from their real parts.
template <typename Real>
void add_imaginary_zero(const void* in, void* out, size_t count) {
    const Real* from = static_cast<const Real*>(in);
    Real* to = static_cast<Real*>(out);
    for (size_t i = 0; i < count; ++i) {
        to[2 * i] = from[i];
        to[2 * i + 1] = Real(0);
    }
}

}  // namespace

extern const ConversionLoops conversion_loops{
    widen_loop<Float16>,
    widen_loop<Bfloat16>,
    narrow_loop<Float16>,
    narrow_loop<Bfloat16>,
    convert_each<float, double, widen>,
    convert_each<double, float, narrow>,
    convert_each<double, uint16_t, float64_to_float16>,
    convert_each<double, uint16_t, float64_to_bfloat16>,
    add_imaginary_zero<float>,
    add_imaginary_zero<double>,
};

}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
