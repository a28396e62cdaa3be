// A kernel on tensors in the host's memory, from start to end.
#pragma once

#include "dispatch/dispatcher.h"

namespace onnx_ascend {

// Computes `output` and returns when it is there. Where the device has memory of its own, operands are copied
// to it and the result is copied back. Strides may be anything; `output` may overlap the inputs. Throws like
// `dispatch`.
void call_on_host(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output);

}  // namespace onnx_ascend
