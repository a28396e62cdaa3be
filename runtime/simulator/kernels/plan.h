// What a launch computes, without addresses: made by phase 1, shared by all executors of the same arguments.
#pragma once

#include <cstdint>

#include "simulator/element_type.h"
#include "simulator/kernels/contract.h"

namespace onnx_ascend::simulator {

struct Plan {
    const BinaryKernel* kernel = nullptr;
    aclDataType types[operand_count]{};
    aclDataType promoted = ACL_DT_UNDEFINED;
    uint64_t workspace_size = 0;
    bool empty = false;  // nothing to compute
    // Why the work will fail on the device although it can be launched; nullptr when it will not.
    const char* device_failure = nullptr;

    // The result's shape with neighbouring dimensions merged where all three views allow it, and the strides
    // (in elements) of the views over it; 0 where an operand is broadcast.
    uint32_t rank = 0;
    int64_t extent[max_tensor_rank]{};
    int64_t stride[operand_count][max_tensor_rank]{};
    int64_t count = 1;

    int64_t offset[operand_count]{};  // in elements
    int64_t reach[operand_count]{};   // elements from the first to the last one touched

    bool contiguous(int operand) const noexcept {
        return rank == 0 || (rank == 1 && stride[operand][0] == 1);
    }
    bool on_aicpu() const noexcept {
        return runs_on_aicpu(promoted) || runs_on_aicpu(types[operand_count - 1]);
    }
};

Plan make_plan(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count],
               const Signature& signature, const Soc& soc);

}  // namespace onnx_ascend::simulator
