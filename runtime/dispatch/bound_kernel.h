// A kernel where it can be called.
#pragma once

#include "dispatch/execution_stream.h"
#include "dispatch/kernel.h"

namespace onnx_ascend {

// A kernel on a device, its symbols looked up. Throws Unavailable or InvalidArgument when that cannot be.
class BoundKernel {
  public:
    using GetWorkspaceSize = decltype(&::aclnnSigmoidBackwardGetWorkspaceSize);
    using Run = decltype(&::aclnnSigmoidBackward);

    BoundKernel(const Kernel& kernel, Device& device);

    const Kernel& kernel() const { return *kernel_; }
    Device& device() const { return *device_; }
    GetWorkspaceSize get_workspace_size() const { return get_workspace_size_; }
    Run run() const { return run_; }

    // Streams for callers that have none.
    StreamPool& streams() const { return *streams_; }

  private:
    const Kernel* kernel_;
    Device* device_;
    StreamPool* streams_;
    GetWorkspaceSize get_workspace_size_;
    Run run_;
};

}  // namespace onnx_ascend
