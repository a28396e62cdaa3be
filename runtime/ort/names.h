// How the execution provider presents itself to ONNX Runtime.
#pragma once

#include <cstdint>

namespace onnx_ascend {

// A constant: the name under which the library is registered does not matter.
constexpr const char* kEpName = "AscendExecutionProvider";
constexpr const char* kVendor = "Huawei";

// Huawei's PCI vendor id. ONNX Runtime's built-in CANN provider uses the same, so that tensors of both are on
// one device in ONNX Runtime's eyes.
constexpr uint32_t kVendorId = 0x19E5;

}  // namespace onnx_ascend
