// OrtCustomOp: the kernels as operators of a custom-op library, for ONNX Runtime from 1.17 on, which needs no
// execution provider for them.
#pragma once

#include <string>

#include "dispatch/kernel.h"
#include "ort/api.h"

namespace onnx_ascend::ort {

// One kernel for one element type: ONNX Runtime before 1.20 takes no operator with two inputs of undeclared
// type, so each type has its own operator, and ONNX Runtime joins those of one name.
class CustomOp : public OrtCustomOp {
  public:
    CustomOp(const Ort& ort, const Kernel& kernel, DType dtype);

    const Ort& ort() const { return ort_; }
    const Kernel& kernel() const { return kernel_; }
    DType dtype() const { return dtype_; }

  private:
    const Ort& ort_;
    const Kernel& kernel_;
    DType dtype_;
};

}  // namespace onnx_ascend::ort
