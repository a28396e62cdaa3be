#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "c_api/onnx_ascend_ext.h"
#include "dispatch/host_call.h"
#include "ort/names.h"

using namespace onnx_ascend;

namespace {

void write_text(char* target, size_t capacity, const std::string& text) {
    const size_t length = std::min(text.size(), capacity - 1);
    std::memcpy(target, text.data(), length);
    target[length] = '\0';
}

int32_t report(onnx_ascend_error* error, int32_t code, const std::string& function,
               const std::string& message) {
    if (error != nullptr) {
        error->code = code;
        write_text(error->function, sizeof error->function, function);
        write_text(error->message, sizeof error->message, message);
    }
    return code;
}

Tensor to_tensor(const onnx_ascend_tensor& from, const char* name) {
    const DTypeInfo* info = find_dtype(from.dtype);
    if (info == nullptr)
        throw InvalidArgument(std::string(name) + " has data type " + std::to_string(from.dtype) +
                              " (onnx.TensorProto.DataType), which no kernel takes");
    if (from.rank < 0 || from.rank > kMaxRank)
        throw InvalidArgument(std::string(name) + " has " + std::to_string(from.rank) + " dimensions; 0 to " +
                              std::to_string(kMaxRank) + " are possible");
    if (from.rank > 0 && from.dims == nullptr) throw InvalidArgument(std::string(name) + " has no dims");
    Tensor tensor;
    tensor.data = from.data;
    tensor.dtype = info->dtype;
    tensor.rank = from.rank;
    tensor.dims = from.dims;
    tensor.strides = from.rank > 0 ? from.strides : nullptr;
    for (int32_t d = 0; d < tensor.rank; ++d)
        if (tensor.dims[d] < 0)
            throw InvalidArgument(std::string(name) + " has a negative size: " + describe(tensor));
    int64_t bytes = static_cast<int64_t>(info->size);
    for (int32_t d = 0; d < tensor.rank; ++d)
        if (__builtin_mul_overflow(bytes, tensor.dims[d], &bytes))
            throw InvalidArgument(std::string(name) + " " + describe(tensor) +
                                  " is larger than memory can be");
    if (tensor.data == nullptr && tensor.elements() > 0)
        throw InvalidArgument(std::string(name) + " " + describe(tensor) + " has no data");
    return tensor;
}

void check_output_strides(const Tensor& output, const char* name) {
    for (int32_t d = 0; output.strides != nullptr && d < output.rank; ++d)
        if (output.strides[d] == 0 && output.dims[d] > 1 && output.elements() > 0)
            throw InvalidArgument(std::string(name) + " " + describe(output) +
                                  " has a stride of 0: several of its elements are one place in memory");
}

void call(const char* name, const onnx_ascend_tensor* inputs, size_t input_count,
          const onnx_ascend_tensor* outputs, size_t output_count, int32_t device_id) {
    const Kernel* kernel = name == nullptr ? nullptr : find_kernel(name);
    if (kernel == nullptr)
        throw InvalidArgument(std::string("there is no kernel '") + (name ? name : "") + "'");
    if (input_count != kInputCount || output_count != 1 || inputs == nullptr || outputs == nullptr)
        throw InvalidArgument(std::string(kernel->name) + " takes " + std::to_string(kInputCount) +
                              " inputs and 1 output, not " + std::to_string(input_count) + " and " +
                              std::to_string(output_count));
    std::array<Tensor, kInputCount> operands;
    for (size_t k = 0; k < kInputCount; ++k) operands[k] = to_tensor(inputs[k], kernel->inputs[k]);
    const Tensor output = to_tensor(outputs[0], kernel->output);
    check_output_strides(output, kernel->output);
    const BoundKernel bound(*kernel, Acl::instance().device(device_id));
    check_operands(bound, operands.data(), output);
    call_on_host(bound, operands.data(), output);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char* onnx_ascend_version(void) {
    return ONNX_ASCEND_VERSION;
}

__attribute__((visibility("default"))) const char* onnx_ascend_ep_name(void) {
    return kEpName;
}

__attribute__((visibility("default"))) int32_t onnx_ascend_call(
    const char* kernel, const onnx_ascend_tensor* inputs, size_t input_count,
    const onnx_ascend_tensor* outputs, size_t output_count, int32_t device_id, onnx_ascend_error* error) {
    try {
        call(kernel, inputs, input_count, outputs, output_count, device_id);
        return report(error, ONNX_ASCEND_OK, "", "");
    } catch (const Error& failure) {
        return report(error, failure.code(), failure.function(), failure.what());
    } catch (const std::bad_alloc&) {
        return report(error, ONNX_ASCEND_INTERNAL_ERROR, "", "the host has no memory left");
    } catch (const std::exception& failure) {
        return report(error, ONNX_ASCEND_INTERNAL_ERROR, "", failure.what());
    } catch (...) {
        return report(error, ONNX_ASCEND_INTERNAL_ERROR, "", "an unknown exception");
    }
}

}  // extern "C"
