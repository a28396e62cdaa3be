// Nodes of our domain that the execution provider has left to ONNX Runtime, and why.
#pragma once

#include <string>
#include <vector>

namespace onnx_ascend {

struct UnclaimedNode {
    std::string node;
    std::string reason;
};

// Keeps the latest ones of the process, up to a bound; one entry per node and reason.
void remember_unclaimed(const std::string& node, const std::string& reason);
std::vector<UnclaimedNode> unclaimed_nodes();

}  // namespace onnx_ascend
