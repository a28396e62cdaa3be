// What a first program for aclnnSigmoidBackward looks like: one device, one stream, four numbers.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_sigmoid_backward.h"

namespace {

bool failed(const char* function, int status) {
    if (status == 0) return false;
    const char* text = aclGetRecentErrMsg();
    std::fprintf(stderr, "%s failed: %d (%s)\n", function, status, text == nullptr ? "" : text);
    return true;
}

#define TRY(function, ...)                                      \
    do {                                                        \
        if (failed(#function, function(__VA_ARGS__))) return 1; \
    } while (false)

struct DeviceArray {
    void* address = nullptr;
    aclTensor* tensor = nullptr;
};

int make_array(const std::vector<float>& values, const std::vector<int64_t>& shape, DeviceArray& array) {
    const size_t size = values.size() * sizeof(float);
    TRY(aclrtMalloc, &array.address, size, ACL_MEM_MALLOC_HUGE_FIRST);
    TRY(aclrtMemcpy, array.address, size, values.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * shape[i];
    array.tensor = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, strides.data(), 0, ACL_FORMAT_ND,
                                   shape.data(), shape.size(), array.address);
    return array.tensor == nullptr ? 1 : 0;
}

int compute(aclrtStream stream) {
    const std::vector<int64_t> shape = {2, 2};
    DeviceArray grad_output, output, grad_input;
    if (make_array({1, 1, 1, 1}, shape, grad_output) != 0 || make_array({1, 2, 3, 4}, shape, output) != 0 ||
        make_array({0, 0, 0, 0}, shape, grad_input) != 0) {
        return 1;
    }

    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    TRY(aclnnSigmoidBackwardGetWorkspaceSize, grad_output.tensor, output.tensor, grad_input.tensor,
        &workspace_size, &executor);
    void* workspace = nullptr;
    if (workspace_size > 0) TRY(aclrtMalloc, &workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST);
    TRY(aclnnSigmoidBackward, workspace, workspace_size, executor, stream);
    TRY(aclrtSynchronizeStream, stream);

    std::vector<float> result(4, 0);
    TRY(aclrtMemcpy, result.data(), result.size() * sizeof(float), grad_input.address,
        result.size() * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%g %g %g %g\n", result[0], result[1], result[2], result[3]);

    for (const DeviceArray& array : {grad_output, output, grad_input}) {
        TRY(aclDestroyTensor, array.tensor);
        TRY(aclrtFree, array.address);
    }
    if (workspace != nullptr) TRY(aclrtFree, workspace);
    return 0;
}

}  // namespace

int main() {
    TRY(aclInit, nullptr);
    TRY(aclrtSetDevice, 0);
    aclrtStream stream = nullptr;
    TRY(aclrtCreateStream, &stream);
    const int status = compute(stream);
    if (status != 0) return status;
    TRY(aclrtDestroyStream, stream);
    TRY(aclrtResetDevice, 0);
    TRY(aclFinalize);
    return 0;
}
