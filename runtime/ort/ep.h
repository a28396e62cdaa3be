// OrtEp: the provider inside one session. It claims our nodes and turns each into a computation.
#pragma once

#include <string>

#include "ort/factory.h"

namespace onnx_ascend::ort {

class Ep : public OrtEp {
  public:
    // `ep_context`: the session is to write a model with compiled nodes, which this provider has none of.
    Ep(Factory& factory, Device& device, const OrtLogger* logger, bool ep_context);

    const Ort& ort() const { return factory_.ort(); }
    Device& device() const { return device_; }
    const OrtLogger* logger() const { return logger_; }

  private:
    void compile(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                 OrtNodeComputeInfo** compute_infos);

    Factory& factory_;
    Device& device_;
    const OrtLogger* logger_;
    bool ep_context_;
};

}  // namespace onnx_ascend::ort
