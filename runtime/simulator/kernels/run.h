// Computes a plan.
#pragma once

#include "simulator/kernels/plan.h"

namespace onnx_ascend::simulator {

// `views` are the addresses of the first element of each operand.
void run(const Plan& plan, void* const (&views)[operand_count]);

}  // namespace onnx_ascend::simulator
