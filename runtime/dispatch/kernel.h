// The table of kernels: one row each, from the ONNX operator to the aclnn symbol and its contract.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dispatch/dtype.h"
#include "dispatch/soc.h"

namespace onnx_ascend {

// The domain of our operators.
constexpr const char* kDomain = "onnx_ascend_ext";

// Every kernel so far takes two tensors that broadcast against each other and fills a third of the broadcast
// shape.
constexpr size_t kInputCount = 2;
constexpr size_t kOperandCount = kInputCount + 1;

struct Kernel {
    const char* name;    // of the ONNX operator in kDomain
    const char* symbol;  // of the second phase; the first is symbol + "GetWorkspaceSize"
    std::array<const char*, kInputCount> inputs;  // in the order of both the operator and the aclnn call
    const char* output;
    std::vector<DType> dtypes;
    uint32_t families;           // SocFamily bits that have the kernel
    uint32_t bfloat16_families;  // those of them that compute bfloat16
    int32_t max_rank;
    int32_t max_ai_cpu_broadcast_rank;  // of a broadcast that the AI CPU does (double and complex)
};

const std::vector<Kernel>& kernels();

// Null when there is none of this name.
const Kernel* find_kernel(const std::string& name);

// Empty where the kernel takes the type on this SoC, else why it does not.
std::string unsupported_reason(const Kernel& kernel, const std::string& soc_name, DType dtype);
// The same for the kernel as a whole.
std::string unsupported_reason(const Kernel& kernel, const std::string& soc_name);

// The most dimensions in which the kernel takes operands of this type.
int32_t rank_limit(const Kernel& kernel, DType dtype, bool broadcast);
// Empty when operands of this type, coalesced to `rank` dimensions, are within that limit.
std::string rank_reason(const Kernel& kernel, DType dtype, int32_t rank, bool broadcast);

}  // namespace onnx_ascend
