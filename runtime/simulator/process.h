// The state of ACL in this process: initialised or not, and whether the process is a fork of one that was.
#pragma once

#include "simulator/errors.h"

namespace onnx_ascend::simulator {

bool initialised() noexcept;

// ACL_SUCCESS, or the recorded refusal of a call before aclInit or after aclFinalize.
int require_initialised() noexcept;

// Whether this is a child of fork() whose parent had initialised ACL, and the refusal of its calls: device
// state does not cross a fork.
bool forked_child() noexcept;
int refuse_forked_child() noexcept;

// What aclInit, aclFinalize, aclFinalizeReference, aclnnInit and aclnnFinalize do.
int initialise(const char* config_path);
int finalise();
int drop_reference(uint64_t* left);
int initialise_aclnn(const char* config_path);
int finalise_aclnn();

}  // namespace onnx_ascend::simulator
