// Compiled once for each instruction set without fused multiply-add instructions: where gcc 12 has them, it
// fuses the formula of a complex product in spite of -ffp-contract=off.
#include <algorithm>
#include <complex>

#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA {
namespace {

constexpr size_t block = 256;

template <typename Real>
struct ComplexBlock {
    alignas(64) Real real[block];
    alignas(64) Real imaginary[block];

    void load(const Real* pairs, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            real[i] = pairs[2 * i];
            imaginary[i] = pairs[2 * i + 1];
        }
    }
    void store(Real* pairs, size_t count) const {
        for (size_t i = 0; i < count; ++i) {
            pairs[2 * i] = real[i];
            pairs[2 * i + 1] = imaginary[i];
        }
    }
};

// The product by its plain formula; whether any part of it is NaN.
template <typename Real>
bool multiply_plainly(const ComplexBlock<Real>& a, const ComplexBlock<Real>& b, ComplexBlock<Real>& product,
                      size_t count) {
    int unordered = 0;
    for (size_t i = 0; i < count; ++i) {
        const Real real = a.real[i] * b.real[i] - a.imaginary[i] * b.imaginary[i];
        const Real imaginary = a.real[i] * b.imaginary[i] + a.imaginary[i] * b.real[i];
        product.real[i] = real;
        product.imaginary[i] = imaginary;
        unordered |= static_cast<int>(real != real) | static_cast<int>(imaginary != imaginary);
    }
    return unordered != 0;
}

// conj((1 - y) * y) * dy with the complex product of C++, which recovers infinities where the plain formula
// gives NaN. So the plain formula runs first, and the product of C++ only for a block in which a NaN came up.
template <typename Real>
void complex_loop(const void* grad_output, const void* output, void* grad_input, size_t count) {
    using Complex = std::complex<Real>;
    const Real* dy = static_cast<const Real*>(grad_output);
    const Real* y = static_cast<const Real*>(output);
    Real* z = static_cast<Real*>(grad_input);
    ComplexBlock<Real> of_dy;
    ComplexBlock<Real> of_y;
    ComplexBlock<Real> one_minus_y;
    ComplexBlock<Real> slope;
    ComplexBlock<Real> result;
    for (size_t begin = 0; begin < count; begin += block) {
        const size_t n = std::min(block, count - begin);
        of_dy.load(dy + 2 * begin, n);
        of_y.load(y + 2 * begin, n);
        for (size_t i = 0; i < n; ++i) {
            one_minus_y.real[i] = Real(1) - of_y.real[i];
            one_minus_y.imaginary[i] = Real(0) - of_y.imaginary[i];
        }
        bool unordered = multiply_plainly(one_minus_y, of_y, slope, n);
        for (size_t i = 0; i < n; ++i) slope.imaginary[i] = -slope.imaginary[i];
        unordered = multiply_plainly(slope, of_dy, result, n) || unordered;
        for (size_t i = 0; unordered && i < n; ++i) {
            const Complex element(of_y.real[i], of_y.imaginary[i]);
            const Complex gradient(of_dy.real[i], of_dy.imaginary[i]);
            const Complex exact = std::conj((Complex(1) - element) * element) * gradient;
            result.real[i] = exact.real();
            result.imaginary[i] = exact.imag();
        }
        result.store(z + 2 * begin, n);
    }
}

}  // namespace

extern const ComplexLoops sigmoid_backward_complex_loops{complex_loop<float>, complex_loop<double>};

}  // namespace onnx_ascend::simulator::ONNX_ASCEND_SIM_ISA
