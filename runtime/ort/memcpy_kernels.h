// The copy nodes that ONNX Runtime puts between its CPU nodes and ours where the device has memory of its
// own.
#pragma once

#include "ort/factory.h"

namespace onnx_ascend::ort {

// A registry with MemcpyFromHost and MemcpyToHost for every element type of a fixed size.
Handle<OrtKernelRegistry> make_memcpy_kernels(const Ort& ort);

}  // namespace onnx_ascend::ort
