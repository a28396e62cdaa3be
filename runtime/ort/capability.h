// Which nodes of a graph the provider takes.
#pragma once

#include "ort/ep.h"

namespace onnx_ascend::ort {

// Claims every node of our domain whose types and shapes the kernel takes on this device. For each of the
// others of our domain the reason is logged and kept for `onnx_ascend_describe`; those run from their
// function body elsewhere.
void claim_nodes(const Ep& ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info);

}  // namespace onnx_ascend::ort
