// One row per kernel: what it is called, what it accepts and which loops compute it.
#pragma once

#include "simulator/call.h"
#include "simulator/kernels/loops.h"
#include "simulator/soc.h"

namespace onnx_ascend::simulator {

constexpr int operand_count = 3;  // two inputs, one output

// A kernel of two operands that promotes and broadcasts them. Its two exported functions call
// get_workspace_size and execute with the row.
struct BinaryKernel {
    const char* name;
    const char* operand_names[operand_count];
    bool (*accepts)(aclDataType type);
    // Chips without a binary for the kernel fail after the checks of the arguments.
    bool (*has_binary)(const Soc& soc);
    BinaryLoops InstructionSetLoops::* loops;
};

// The two phases of a kernel, behind its two exported functions.
int get_workspace_size(const BinaryKernel& kernel, CallPoint& point,
                       const aclTensor* const (&operands)[operand_count], uint64_t* workspace_size,
                       aclOpExecutor** executor) noexcept;
int execute(const BinaryKernel& kernel, CallPoint& point, void* workspace, uint64_t workspace_size,
            aclOpExecutor* executor, aclrtStream stream) noexcept;

}  // namespace onnx_ascend::simulator
