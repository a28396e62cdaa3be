// The checks of the arguments that precede a launch, in the order of the operator library.
#pragma once

#include "simulator/kernels/kernel.h"
#include "simulator/tensor.h"

namespace onnx_ascend::simulator {

// Shape and types that the checks derive.
struct Signature {
    aclDataType promoted = ACL_DT_UNDEFINED;
    Dims shape;
};

// Operands are live handles. `soc` is nullptr in a thread without a device.
int check_contract(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count],
                   const Soc* soc, Signature& signature);

// A view must stay within its storage; checked when the launch is built, after everything else.
int check_storage(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count]);

}  // namespace onnx_ascend::simulator
