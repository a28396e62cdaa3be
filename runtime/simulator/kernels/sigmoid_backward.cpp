// aclnnSigmoidBackward: gradInput = gradOutput * (1 - output) * output.
#include "simulator/call.h"
#include "simulator/kernels/kernel.h"

namespace onnx_ascend::simulator {
namespace {

bool accepts(aclDataType type) {
    switch (type) {
        case ACL_FLOAT:
        case ACL_FLOAT16:
        case ACL_DOUBLE:
        case ACL_COMPLEX64:
        case ACL_COMPLEX128:
        case ACL_BF16:
            return true;
        default:
            return false;
    }
}

constexpr BinaryKernel sigmoid_backward{
    "aclnnSigmoidBackward",
    {"gradOutput", "output", "gradInput"},
    accepts,
    [](const Soc& soc) { return soc.family != SocFamily::ascend310b; },
    &InstructionSetLoops::sigmoid_backward,
};

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclnnSigmoidBackwardGetWorkspaceSize);
ONNX_ASCEND_CALL_POINT(aclnnSigmoidBackward);

aclnnStatus aclnnSigmoidBackwardGetWorkspaceSize(const aclTensor* gradOutput, const aclTensor* output,
                                                 aclTensor* gradInput, uint64_t* workspaceSize,
                                                 aclOpExecutor** executor) {
    return get_workspace_size(sigmoid_backward, call_aclnnSigmoidBackwardGetWorkspaceSize,
                              {gradOutput, output, gradInput}, workspaceSize, executor);
}

aclnnStatus aclnnSigmoidBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                 aclrtStream stream) {
    return execute(sigmoid_backward, call_aclnnSigmoidBackward, workspace, workspaceSize, executor, stream);
}
