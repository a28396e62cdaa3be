// The state of ACL in this process: initialised or not, and whether the process is a fork of one that was.
#pragma once

#include "simulator/call.h"

namespace onnx_ascend::simulator {

bool initialised() noexcept;

// ACL_SUCCESS, or the recorded refusal of a call before aclInit or after aclFinalize.
int require_initialised() noexcept;

}  // namespace onnx_ascend::simulator
