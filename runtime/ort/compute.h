// OrtNodeComputeInfo: one claimed node at run time.
#pragma once

#include <array>
#include <string>

#include "dispatch/dispatcher.h"
#include "ort/ep.h"

namespace onnx_ascend::ort {

class NodeCompute : public OrtNodeComputeInfo {
  public:
    // `operands[k]` is the index of the kernel's k-th input among the inputs of the fused node.
    NodeCompute(const Ep& ep, BoundKernel kernel, std::string node, std::array<size_t, kInputCount> operands);

  private:
    void compute(OrtKernelContext* context) const;
    void run(OrtKernelContext* context, const Tensor* inputs, const Tensor& output) const;

    const Ep& ep_;
    const Ort& ort_;
    BoundKernel kernel_;
    std::string node_;
    std::array<size_t, kInputCount> operands_;
};

// From the graph of one node that was claimed, and the node that stands for it.
OrtNodeComputeInfo* make_node_compute(const Ep& ep, const OrtGraph* graph, const OrtNode* fused_node);

}  // namespace onnx_ascend::ort
