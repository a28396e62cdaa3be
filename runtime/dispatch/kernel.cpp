#include "dispatch/kernel.h"

#include <algorithm>

namespace onnx_ascend {

const std::vector<Kernel>& kernels() {
    static const auto* table = new std::vector<Kernel>{
        {"SigmoidBackward",
         "aclnnSigmoidBackward",
         {"grad_output", "output"},
         "grad_input",
         {DType::float32, DType::float16, DType::bfloat16, DType::float64, DType::complex64,
          DType::complex128},
         SocFamily::ascend910 | SocFamily::ascend910b | SocFamily::ascend910_93 | SocFamily::ascend950 |
             SocFamily::ascend310p,
         SocFamily::ascend910b | SocFamily::ascend910_93 | SocFamily::ascend950,
         8,
         5},
    };
    return *table;
}

const Kernel* find_kernel(const std::string& name) {
    for (const Kernel& kernel : kernels())
        if (name == kernel.name) return &kernel;
    return nullptr;
}

std::string unsupported_reason(const Kernel& kernel, const std::string& soc_name) {
    if (contains(kernel.families, soc_family(soc_name))) return {};
    return std::string(kernel.symbol) + " does not support " +
           (soc_name.empty() ? "an unknown SoC" : soc_name);
}

std::string unsupported_reason(const Kernel& kernel, const std::string& soc_name, DType dtype) {
    std::string reason = unsupported_reason(kernel, soc_name);
    if (!reason.empty()) return reason;
    const std::string type = dtype_info(dtype).name;
    if (std::find(kernel.dtypes.begin(), kernel.dtypes.end(), dtype) == kernel.dtypes.end())
        return std::string(kernel.symbol) + " does not take " + type;
    if (dtype == DType::bfloat16 && !contains(kernel.bfloat16_families, soc_family(soc_name)))
        return soc_name + " does not compute " + type;
    return {};
}

int32_t rank_limit(const Kernel& kernel, DType dtype, bool broadcast) {
    return broadcast && dtype_info(dtype).on_ai_cpu ? kernel.max_ai_cpu_broadcast_rank : kernel.max_rank;
}

std::string rank_reason(const Kernel& kernel, DType dtype, int32_t rank, bool broadcast) {
    const int32_t limit = rank_limit(kernel, dtype, broadcast);
    if (rank <= limit) return {};
    const bool on_ai_cpu = limit != kernel.max_rank;
    return std::string(kernel.symbol) + " takes at most " + std::to_string(limit) + " dimensions" +
           (on_ai_cpu ? std::string(" of ") + dtype_info(dtype).name + " that broadcast" : "") +
           ", and these need " + std::to_string(rank) + " after adjacent ones are merged";
}

}  // namespace onnx_ascend
