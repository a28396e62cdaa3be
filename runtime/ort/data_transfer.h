// OrtDataTransferImpl: ONNX Runtime's copies to, from and between our devices.
#pragma once

#include "ort/api.h"

namespace onnx_ascend::ort {

class DataTransfer : public OrtDataTransferImpl {
  public:
    explicit DataTransfer(const Ort& ort);

  private:
    bool can_copy(const OrtMemoryDevice* source, const OrtMemoryDevice* target) const;
    void copy_tensors(const OrtValue** sources, OrtValue** targets, OrtSyncStream** streams,
                      size_t count) const;

    const Ort& ort_;
};

}  // namespace onnx_ascend::ort
