// Copying a tensor between the host and a device.
#pragma once

#include "ort/stream.h"

namespace onnx_ascend::ort {

// Whether the memory belongs to this provider's kind of device.
bool is_ours(const Ort& ort, const OrtMemoryDevice* device);

// Copies all bytes of `source` to `target`; at least one of them is on a device of ours. With a stream the
// copy takes its place in it, and only the result in pageable host memory is waited for: `synchronize_later`
// leaves even that to the caller and says whether it is needed. Without a stream everything on the device is
// waited for first.
void copy_tensor(const Ort& ort, const OrtValue* source, OrtValue* target, SyncStream* stream,
                 bool* synchronize_later);

}  // namespace onnx_ascend::ort
