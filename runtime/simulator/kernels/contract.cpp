#include "simulator/kernels/contract.h"

#include <algorithm>
#include <string>

#include "simulator/errors.h"
#include "simulator/kernels/conversion.h"

namespace onnx_ascend::simulator {
namespace {

constexpr uint32_t max_rank = 8;
// Keeps sizes in bytes, workspace included, far from the end of 64 bits.
constexpr int64_t max_elements = int64_t{1} << 48;

std::string text_of(const Dims& dims) {
    std::string text = "[";
    for (uint32_t i = 0; i < dims.rank; ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims.at[i]);
    return text + "]";
}

// False when a dimension fits neither way.
bool broadcast(const Dims& a, const Dims& b, Dims& result) {
    result.rank = std::max(a.rank, b.rank);
    for (uint32_t i = 1; i <= result.rank; ++i) {
        const int64_t of_a = i <= a.rank ? a.at[a.rank - i] : 1;
        const int64_t of_b = i <= b.rank ? b.at[b.rank - i] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1) return false;
        result.at[result.rank - i] = of_a == 1 ? of_b : of_a;
    }
    return true;
}

// Whether every element that the view reaches lies in the storage, in numbers that fit.
bool stays_in_storage(const aclTensor& tensor) {
    int64_t last = tensor.offset;
    if (last < 0 || tensor.shape.count() > max_elements) return false;
    for (uint32_t d = 0; d < tensor.shape.rank; ++d) {
        if (tensor.shape.at[d] <= 1) continue;
        int64_t step = 0;
        if (tensor.strides.at[d] < 0 ||
            __builtin_mul_overflow(tensor.shape.at[d] - 1, tensor.strides.at[d], &step) ||
            __builtin_add_overflow(last, step, &last)) {
            return false;
        }
    }
    return last < tensor.storage.count();
}

}  // namespace

int check_contract(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count],
                   const Soc* soc, Signature& signature) {
    for (int i = 0; i < operand_count; ++i) {
        if (!kernel.accepts(operands[i]->type)) {
            return fail(ACLNN_ERR_PARAM_INVALID, "data type %d of %s is not supported",
                        static_cast<int>(operands[i]->type), kernel.operand_names[i]);
        }
    }
    const auto& [a, b, out] = operands;
    // CANN asks this of the first operand only. A thread without a device has no chip that could do it.
    if (a->type == ACL_BF16 && (soc == nullptr || !soc->bfloat16())) {
        return fail(ACLNN_ERR_PARAM_INVALID, "%s has no BFLOAT16 (%s)",
                    soc == nullptr ? "a thread without a device" : soc->name.c_str(),
                    kernel.operand_names[0]);
    }
    for (int i = 0; i < operand_count - 1; ++i) {
        if (operands[i]->shape.rank > max_rank) {
            return fail(ACLNN_ERR_PARAM_INVALID, "%s has %u dimensions, more than %u",
                        kernel.operand_names[i], operands[i]->shape.rank, max_rank);
        }
    }
    signature.promoted = promote(a->type, b->type);
    if (!can_cast(signature.promoted, out->type)) {
        return fail(ACLNN_ERR_PARAM_INVALID, "%s cannot be cast to %s, the type of %s",
                    type_name(signature.promoted), type_name(out->type), kernel.operand_names[2]);
    }
    if (!broadcast(a->shape, b->shape, signature.shape)) {
        return fail(ACLNN_ERR_PARAM_INVALID, "%s %s and %s %s cannot be broadcast", kernel.operand_names[0],
                    text_of(a->shape).c_str(), kernel.operand_names[1], text_of(b->shape).c_str());
    }
    if (!(signature.shape == out->shape)) {
        return fail(ACLNN_ERR_PARAM_INVALID, "%s has shape %s, the operands have shape %s",
                    kernel.operand_names[2], text_of(out->shape).c_str(), text_of(signature.shape).c_str());
    }
    return ACLNN_SUCCESS;
}

int check_storage(const BinaryKernel& kernel, const aclTensor* const (&operands)[operand_count]) {
    for (int i = 0; i < operand_count; ++i) {
        if (!stays_in_storage(*operands[i])) {
            const aclTensor& tensor = *operands[i];
            return fail(ACLNN_ERR_INNER_NULLPTR,
                        "the view of %s (shape %s, strides %s, offset %lld) leaves its storage %s",
                        kernel.operand_names[i], text_of(tensor.shape).c_str(),
                        text_of(tensor.strides).c_str(), static_cast<long long>(tensor.offset),
                        text_of(tensor.storage).c_str());
        }
    }
    return ACLNN_SUCCESS;
}

}  // namespace onnx_ascend::simulator
