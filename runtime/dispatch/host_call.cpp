#include "dispatch/host_call.h"

#include <algorithm>
#include <vector>

namespace onnx_ascend {
namespace {

struct Span {
    const char* begin;
    const char* end;
};

Span span_of(const Tensor& tensor) {
    int64_t low = 0;
    int64_t high = 0;
    const int64_t dense = tensor.elements() - 1;
    if (tensor.strides == nullptr) high = dense;
    for (int32_t d = 0; tensor.strides != nullptr && d < tensor.rank; ++d) {
        const int64_t reach = (tensor.dims[d] - 1) * tensor.strides[d];
        (reach < 0 ? low : high) += reach;
    }
    const auto size = static_cast<int64_t>(dtype_info(tensor.dtype).size);
    const char* data = static_cast<const char*>(tensor.data);
    return {data + low * size, data + (high + 1) * size};
}

bool has_negative_stride(const Tensor& tensor) {
    return tensor.strides != nullptr && std::any_of(tensor.strides, tensor.strides + tensor.rank,
                                                    [](int64_t stride) { return stride < 0; });
}

// Whether writing `output` element by element could change an element of `input` that is still to be read.
// Exactly the same elements in the same order are no danger.
bool disturbs(const Tensor& output, const Tensor& input) {
    const Span a = span_of(output);
    const Span b = span_of(input);
    if (a.end <= b.begin || b.end <= a.begin) return false;
    return !(input.data == output.data && input.dtype == output.dtype && input.rank == output.rank &&
             std::equal(input.dims, input.dims + input.rank, output.dims) && input.contiguous() &&
             output.contiguous());
}

Tensor dense_at(const Tensor& tensor, void* data) {
    Tensor dense = tensor;
    dense.data = data;
    dense.strides = nullptr;
    return dense;
}

// Waits for the stream on every way out: what it still runs uses memory of the call that ends here.
class WaitOnExit {
  public:
    explicit WaitOnExit(ExecutionStream& stream) : stream_(stream) {}
    ~WaitOnExit() {
        try {
            stream_.synchronize();
        } catch (const Error&) {
            // Reached while another error is on its way to the caller, and that one came first.
        }
    }
    WaitOnExit(const WaitOnExit&) = delete;
    WaitOnExit& operator=(const WaitOnExit&) = delete;

  private:
    ExecutionStream& stream_;
};

// Uses the host's memory as it is where the kernel can, and a dense copy elsewhere.
void call_in_shared_memory(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output,
                           ExecutionStream& stream) {
    std::array<std::vector<char>, kOperandCount> copies;
    std::array<Tensor, kInputCount> usable;
    bool copy_output = has_negative_stride(output);
    for (size_t k = 0; k < kInputCount; ++k) {
        usable[k] = inputs[k];
        if (has_negative_stride(inputs[k])) {
            copies[k].resize(inputs[k].bytes());
            pack(inputs[k], copies[k].data());
            usable[k] = dense_at(inputs[k], copies[k].data());
        }
        copy_output = copy_output || disturbs(output, inputs[k]);
    }
    if (copy_output) copies[kInputCount].resize(output.bytes());
    const WaitOnExit wait(stream);
    const Tensor target = copy_output ? dense_at(output, copies[kInputCount].data()) : output;
    dispatch(kernel, usable.data(), target, stream);
    stream.synchronize();
    if (copy_output) unpack(target.data, output);
}

void call_with_copies(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output,
                      ExecutionStream& stream) {
    Device& device = stream.device();
    const Acl& acl = device.acl();
    std::array<std::vector<char>, kOperandCount> packed;
    std::array<PoolBuffer, kOperandCount> buffers;
    std::array<Tensor, kInputCount> on_device;
    const bool packs = !output.contiguous();
    if (packs) packed[kInputCount].resize(output.bytes());
    const WaitOnExit wait(stream);
    for (size_t k = 0; k < kInputCount; ++k) {
        const size_t bytes = inputs[k].bytes();
        const void* source = inputs[k].data;
        if (!inputs[k].contiguous()) {
            packed[k].resize(bytes);
            pack(inputs[k], packed[k].data());
            source = packed[k].data();
        }
        buffers[k] = PoolBuffer(device.memory(), bytes, &stream.stream());
        on_device[k] = dense_at(inputs[k], buffers[k].data());
        ONNX_ASCEND_CALL(acl, aclrtMemcpyAsync, buffers[k].data(), bytes, source, bytes,
                         ACL_MEMCPY_HOST_TO_DEVICE, stream.stream().handle());
        stream.stream().submitted();
    }
    const size_t bytes = output.bytes();
    buffers[kInputCount] = PoolBuffer(device.memory(), bytes, &stream.stream());
    dispatch(kernel, on_device.data(), dense_at(output, buffers[kInputCount].data()), stream);
    void* target = packs ? packed[kInputCount].data() : output.data;
    ONNX_ASCEND_CALL(acl, aclrtMemcpyAsync, target, bytes, buffers[kInputCount].data(), bytes,
                     ACL_MEMCPY_DEVICE_TO_HOST, stream.stream().handle());
    stream.stream().submitted();
    stream.synchronize();
    if (packs) unpack(target, output);
}

}  // namespace

void call_on_host(const BoundKernel& kernel, const Tensor* inputs, const Tensor& output) {
    if (output.elements() == 0) return;
    Device& device = kernel.device();
    const DeviceScope scope(device);
    const StreamLease stream(kernel.streams());
    if (device.acl().shares_memory())
        call_in_shared_memory(kernel, inputs, output, *stream);
    else
        call_with_copies(kernel, inputs, output, *stream);
}

}  // namespace onnx_ascend
