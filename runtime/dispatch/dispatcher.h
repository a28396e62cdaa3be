// Where every door of the library ends: one kernel, its operands, one stream.
#pragma once

#include "dispatch/bound_kernel.h"
#include "dispatch/tensor.h"

namespace onnx_ascend {

// Checks types and shapes of the operands against the kernel's contract, so that the caller learns which one
// is wrong. Throws InvalidArgument.
void check_operands(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output);

// Launches the kernel into the stream and returns without waiting for it. Data and streams are the device's,
// strides are not negative, and the device is current in the calling thread. The operands' data must live
// until the stream has passed the launch; the Tensors themselves need not. Nothing is launched for zero
// elements.
//
// Operands that need more dimensions than the kernel takes are launched in slices. Throws Error when ACL
// fails; the stream can be used again after it.
void dispatch(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output, ExecutionStream& stream);

// "SigmoidBackward(grad_output float[2,3], output float[3]) -> grad_input float[2,3] on device 0
// (Ascend910B3)"
std::string describe_call(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output);

}  // namespace onnx_ascend
