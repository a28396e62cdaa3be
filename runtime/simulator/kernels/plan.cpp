#include "simulator/kernels/plan.h"

namespace onnx_ascend::simulator {
namespace {

constexpr int result = operand_count - 1;

int64_t stride_over(const aclTensor& tensor, const Dims& shape, uint32_t dimension) {
    const uint32_t missing = shape.rank - tensor.shape.rank;
    if (dimension < missing || tensor.shape.at[dimension - missing] == 1) return 0;
    return tensor.strides.at[dimension - missing];
}

// Appends a dimension on the inside, or merges it with the one before when every view steps through both
// alike.
void append_dimension(Plan& plan, int64_t extent, const int64_t (&strides)[operand_count]) {
    if (extent == 1) return;
    bool merges = plan.rank != 0;
    for (int i = 0; merges && i < operand_count; ++i) {
        merges = plan.stride[i][plan.rank - 1] == strides[i] * extent;
    }
    if (merges) {
        plan.extent[plan.rank - 1] *= extent;
    } else {
        plan.extent[plan.rank++] = extent;
    }
    for (int i = 0; i < operand_count; ++i) plan.stride[i][plan.rank - 1] = strides[i];
}

bool is_contiguous(const aclTensor& tensor) {
    int64_t expected = 1;
    for (uint32_t i = tensor.shape.rank; i-- > 0;) {
        if (tensor.shape.at[i] == 1) continue;
        if (tensor.strides.at[i] != expected) return false;
        expected *= tensor.shape.at[i];
    }
    return true;
}

// Dimensions that a broadcast of the operand to the shape has after merging neighbours of the same kind.
int broadcast_rank(const aclTensor& tensor, const Dims& shape) {
    int groups = 0;
    int last_kind = -1;
    const uint32_t missing = shape.rank - tensor.shape.rank;
    for (uint32_t i = 0; i < shape.rank; ++i) {
        if (shape.at[i] == 1) continue;
        const int kind = i < missing || tensor.shape.at[i - missing] != shape.at[i] ? 1 : 0;
        groups += kind != last_kind ? 1 : 0;
        last_kind = kind;
    }
    return groups;
}

uint64_t temporary(int64_t elements, aclDataType type) {
    const uint64_t bytes = static_cast<uint64_t>(elements) * element_size(type);
    return (bytes + 32 + 511) / 512 * 512;
}

// The temporaries of the steps that the operator library puts before and after the kernel: contiguous copies,
// broadcasts of both operands when their shapes differ, casts, and the copy into a strided result.
uint64_t workspace_size(const Plan& plan, const aclTensor* const (&operands)[operand_count], const Soc& soc) {
    uint64_t size = soc.family == SocFamily::ascend950 ? 512 : 0;
    const bool broadcasts = !(operands[0]->shape == operands[1]->shape);
    for (int i = 0; i < result; ++i) {
        if (!is_contiguous(*operands[i])) size += temporary(operands[i]->shape.count(), plan.types[i]);
        if (broadcasts) size += temporary(plan.count, plan.types[i]);
        if (plan.types[i] != plan.promoted) size += temporary(plan.count, plan.promoted);
    }
    const bool casts = plan.promoted != plan.types[result];
    const bool copies = !is_contiguous(*operands[result]);
    if (casts || copies) size += temporary(plan.count, plan.promoted);
    if (casts && copies) size += temporary(plan.count, plan.types[result]);
    return size;
}

}  // namespace

Plan make_plan(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count],
               const Signature& signature, const Soc& soc) {
    Plan plan;
    plan.kernel = &kernel;
    plan.promoted = signature.promoted;
    for (int i = 0; i < operand_count; ++i) {
        plan.types[i] = operands[i]->type;
        plan.offset[i] = operands[i]->offset;
    }
    plan.count = signature.shape.count();
    plan.empty = plan.count == 0;
    if (plan.empty) return plan;
    for (uint32_t d = 0; d < signature.shape.rank; ++d) {
        const int64_t strides[operand_count] = {stride_over(*operands[0], signature.shape, d),
                                                stride_over(*operands[1], signature.shape, d),
                                                stride_over(*operands[2], signature.shape, d)};
        append_dimension(plan, signature.shape.at[d], strides);
    }
    for (int i = 0; i < operand_count; ++i) {
        plan.reach[i] = 1;
        for (uint32_t d = 0; d < plan.rank; ++d) plan.reach[i] += (plan.extent[d] - 1) * plan.stride[i][d];
    }
    plan.workspace_size = workspace_size(plan, operands, soc);
    constexpr int max_aicpu_broadcast_rank = 5;
    for (int i = 0; i < result; ++i) {
        if (runs_on_aicpu(plan.types[i]) && !(operands[i]->shape == signature.shape) &&
            broadcast_rank(*operands[i], signature.shape) > max_aicpu_broadcast_rank) {
            plan.device_failure =
                "BroadcastTo of a DOUBLE or complex tensor takes fewer than 6 merged dimensions";
        }
    }
    return plan;
}

}  // namespace onnx_ascend::simulator
