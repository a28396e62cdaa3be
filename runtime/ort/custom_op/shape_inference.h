// The shape of an operator's output from what is known of its inputs.
#pragma once

#include "ort/api.h"

namespace onnx_ascend::ort {

// Broadcasts the shapes of the two inputs, with sizes that are only named or not known at all, and sets the
// output's. Sets nothing where the rank cannot be told.
void infer_broadcast_shape(const Ort& ort, OrtShapeInferContext* context);

}  // namespace onnx_ascend::ort
