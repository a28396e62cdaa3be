#include "dispatch/bound_kernel.h"

namespace onnx_ascend {

BoundKernel::BoundKernel(const Kernel& kernel, Device& device)
    : kernel_(&kernel), device_(&device), streams_(&StreamPool::of(device)) {
    const std::string reason = unsupported_reason(kernel, device.acl().soc_name());
    if (!reason.empty()) throw Unavailable(reason);
    const Libraries::KernelSymbols symbols = device.acl().kernel_symbols(kernel.symbol);
    get_workspace_size_ = reinterpret_cast<GetWorkspaceSize>(symbols.get_workspace_size);
    run_ = reinterpret_cast<Run>(symbols.run);
}

}  // namespace onnx_ascend
