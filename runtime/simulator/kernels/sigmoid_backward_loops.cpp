// Compiled once for each instruction set, without contraction to fused multiply-add.
#include <algorithm>
#include <complex>

#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

constexpr size_t block = 256;

// (dy * (1 - y)) * y, each step rounded.
template <typename Real>
void real_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const Real* dy = static_cast<const Real*>(grad_output);
    const Real* y = static_cast<const Real*>(output);
    Real* z = static_cast<Real*>(grad_input);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) {
        const Real one_minus_y = Real(1) - y[i];
        const Real scaled = dy[i] * one_minus_y;
        z[i] = scaled * y[i];
    }
}

// The half formats go through float32 and are rounded once, at the end.
template <ConversionLoop ConversionLoops::* Widen, ConversionLoop ConversionLoops::* Narrow>
void half_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    const uint16_t* dy = static_cast<const uint16_t*>(grad_output);
    const uint16_t* y = static_cast<const uint16_t*>(output);
    uint16_t* z = static_cast<uint16_t*>(grad_input);
    alignas(64) float wide_dy[block];
    alignas(64) float wide_y[block];
    for (size_t i = 0; i < count; i += block) {
        const size_t n = std::min(block, count - i);
        (conversion_loops.*Widen)(dy + i, wide_dy, n);
        (conversion_loops.*Widen)(y + i, wide_y, n);
        real_loop<float>(wide_dy, wide_y, wide_dy, n);
        (conversion_loops.*Narrow)(wide_dy, z + i, n);
    }
}

// conj((1 - y) * y) * dy with the complex product of C++, which recovers infinities where the plain formula
// gives NaN in both parts. The plain formula runs first; the recovery is needed only where it does.
template <typename Real>
void complex_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    using Complex = std::complex<Real>;
    const Real* dy = static_cast<const Real*>(grad_output);
    const Real* y = static_cast<const Real*>(output);
    Real* z = static_cast<Real*>(grad_input);
    alignas(64) Real plain[2 * block];
    for (size_t begin = 0; begin < count; begin += block) {
        const size_t n = std::min(block, count - begin);
        const Real* block_dy = dy + 2 * begin;
        const Real* block_y = y + 2 * begin;
        int unordered = 0;
        for (size_t i = 0; i < n; ++i) {
            const Real c = block_y[2 * i];
            const Real d = block_y[2 * i + 1];
            const Real a = Real(1) - c;
            const Real b = Real(0) - d;
            const Real real = a * c - b * d;
            const Real conjugate = -(a * d + b * c);
            const Real e = block_dy[2 * i];
            const Real f = block_dy[2 * i + 1];
            const Real z_real = real * e - conjugate * f;
            const Real z_imaginary = real * f + conjugate * e;
            plain[2 * i] = z_real;
            plain[2 * i + 1] = z_imaginary;
            unordered |= static_cast<int>(z_real != z_real) | static_cast<int>(z_imaginary != z_imaginary) |
                         static_cast<int>(real != real) | static_cast<int>(conjugate != conjugate);
        }
        if (unordered != 0) {
            for (size_t i = 0; i < n; ++i) {
                const Complex element(block_y[2 * i], block_y[2 * i + 1]);
                const Complex gradient(block_dy[2 * i], block_dy[2 * i + 1]);
                const Complex result = std::conj((Complex(1) - element) * element) * gradient;
                plain[2 * i] = result.real();
                plain[2 * i + 1] = result.imag();
            }
        }
        std::copy_n(plain, 2 * n, z + 2 * begin);
    }
}

}  // namespace

extern const BinaryLoops sigmoid_backward_loops{
    real_loop<float>,
    half_loop<&ConversionLoops::float16_to_float32, &ConversionLoops::float32_to_float16>,
    half_loop<&ConversionLoops::bfloat16_to_float32, &ConversionLoops::float32_to_bfloat16>,
    real_loop<double>,
    complex_loop<float>,
    complex_loop<double>,
};

}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
