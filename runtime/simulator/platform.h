// Process-wide options that other parts ask for.
#pragma once

#include <cstdint>

namespace onnx_ascend::simulator {

// What aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC) says.
int64_t deterministic_level();

}  // namespace onnx_ascend::simulator
