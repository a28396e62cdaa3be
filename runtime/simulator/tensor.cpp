#include "simulator/tensor.h"

#include <algorithm>

#include "simulator/call.h"

namespace onnx_ascend::simulator {

HandleTable<aclTensor>& tensors() {
    static HandleTable<aclTensor>& instance = *new HandleTable<aclTensor>(1u << 18);
    return instance;
}

namespace {

// False when the array is missing or too long.
bool copy_dims(const int64_t* values, uint64_t count, Dims& dims) {
    if (count > max_tensor_rank || (values == nullptr && count != 0)) return false;
    dims.rank = static_cast<uint32_t>(count);
    std::copy_n(values, count, dims.at);
    return true;
}

void set_contiguous_strides(const Dims& shape, Dims& strides) {
    strides.rank = shape.rank;
    // Unsigned: sizes that no memory has may wrap here, and are refused where they are used.
    uint64_t stride = 1;
    for (uint32_t i = shape.rank; i-- > 0;) {
        strides.at[i] = static_cast<int64_t>(stride);
        stride *= static_cast<uint64_t>(shape.at[i]);
    }
}

bool describe(aclTensor& tensor, const int64_t* view_dims, uint64_t view_rank, aclDataType type,
              const int64_t* stride, int64_t offset, aclFormat format, const int64_t* storage_dims,
              uint64_t storage_rank, void* data) {
    if (!copy_dims(view_dims, view_rank, tensor.shape) ||
        !copy_dims(storage_dims, storage_rank, tensor.storage)) {
        fail(ACLNN_ERR_PARAM_INVALID,
             "viewDims (%llu) or storageDims (%llu) is missing or has more than %llu entries",
             static_cast<unsigned long long>(view_rank), static_cast<unsigned long long>(storage_rank),
             static_cast<unsigned long long>(max_tensor_rank));
        return false;
    }
    for (const Dims* dims : {&tensor.shape, &tensor.storage}) {
        if (std::any_of(dims->at, dims->at + dims->rank, [](int64_t dim) { return dim < 0; })) {
            fail(ACLNN_ERR_PARAM_INVALID, "a dimension is negative");
            return false;
        }
    }
    if (stride == nullptr) {
        set_contiguous_strides(tensor.shape, tensor.strides);
    } else {
        copy_dims(stride, view_rank, tensor.strides);
    }
    tensor.offset = offset;
    tensor.type = type;
    tensor.format = format;
    tensor.address = data;
    return true;
}

// The live tensor behind a pointer, or nullptr with the refusal in status.
aclTensor* find_tensor(const aclTensor* tensor, int& status) {
    if (tensor == nullptr) {
        status = fail(ACLNN_ERR_PARAM_NULLPTR, "the tensor is nullptr");
        return nullptr;
    }
    aclTensor* found = tensors().find(tensor);
    if (found == nullptr) {
        status = violation(ACLNN_ERR_PARAM_INVALID, "tensor %p %s", static_cast<const void*>(tensor),
                           tensors().describe(tensor));
    }
    return found;
}

// CANN hands out arrays of new[], which the caller gives to delete[].
int hand_out(const aclTensor* tensor, const Dims aclTensor::* member, int64_t** values, uint64_t* count) {
    int status = ACLNN_SUCCESS;
    const aclTensor* found = find_tensor(tensor, status);
    if (found == nullptr) return status;
    if (values == nullptr || count == nullptr)
        return fail(ACLNN_ERR_PARAM_NULLPTR, "an out-pointer is nullptr");
    const Dims& dims = found->*member;
    *values = new int64_t[dims.rank];
    std::copy_n(dims.at, dims.rank, *values);
    *count = dims.rank;
    return ACLNN_SUCCESS;
}

template <typename Value>
int answer(const aclTensor* tensor, Value aclTensor::* member, Value* value) {
    int status = ACLNN_SUCCESS;
    const aclTensor* found = find_tensor(tensor, status);
    if (found == nullptr) return status;
    if (value == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "the out-pointer is nullptr");
    *value = found->*member;
    return ACLNN_SUCCESS;
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclCreateTensor);
ONNX_ASCEND_CALL_POINT(aclInitTensor);
ONNX_ASCEND_CALL_POINT(aclDestroyTensor);
ONNX_ASCEND_CALL_POINT(aclGetViewShape);
ONNX_ASCEND_CALL_POINT(aclGetStorageShape);
ONNX_ASCEND_CALL_POINT(aclGetViewStrides);
ONNX_ASCEND_CALL_POINT(aclGetViewOffset);
ONNX_ASCEND_CALL_POINT(aclGetFormat);
ONNX_ASCEND_CALL_POINT(aclGetDataType);
ONNX_ASCEND_CALL_POINT(aclSetRawTensorAddr);
ONNX_ASCEND_CALL_POINT(aclGetRawTensorAddr);
ONNX_ASCEND_CALL_POINT(aclDumpOpTensors);

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
    return guarded_pointer(call_aclCreateTensor, [&]() -> aclTensor* {
        aclTensor* tensor = tensors().create();
        if (tensor == nullptr) {
            fail(ACLNN_ERR_INNER, "no tensor left: %lld are alive", static_cast<long long>(tensors().live()));
            return nullptr;
        }
        if (describe(*tensor, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                     storageDimsNum, tensorData)) {
            return tensor;
        }
        tensors().destroy(tensor);
        return nullptr;
    });
}

aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims, uint64_t viewDimsNum,
                          aclDataType dataType, const int64_t* stride, int64_t offset, aclFormat format,
                          const int64_t* storageDims, uint64_t storageDimsNum, void* tensorDataAddr) {
    return guarded(call_aclInitTensor, [&]() -> int {
        int status = ACLNN_SUCCESS;
        aclTensor* found = find_tensor(tensor, status);
        if (found == nullptr) return status;
        aclTensor described;
        if (!describe(described, viewDims, viewDimsNum, dataType, stride, offset, format, storageDims,
                      storageDimsNum, tensorDataAddr)) {
            return ACLNN_ERR_PARAM_INVALID;
        }
        *found = described;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
    return guarded_release(call_aclDestroyTensor, [&]() -> int {
        if (tensor == nullptr || tensors().destroy(tensor)) return ACLNN_SUCCESS;
        return violation(ACLNN_ERR_PARAM_INVALID, "tensor %p %s", static_cast<const void*>(tensor),
                         tensors().describe(tensor));
    });
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
    return guarded(call_aclGetViewShape,
                   [&] { return hand_out(tensor, &aclTensor::shape, viewDims, viewDimsNum); });
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims, uint64_t* storageDimsNum) {
    return guarded(call_aclGetStorageShape,
                   [&] { return hand_out(tensor, &aclTensor::storage, storageDims, storageDimsNum); });
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue, uint64_t* stridesNum) {
    return guarded(call_aclGetViewStrides,
                   [&] { return hand_out(tensor, &aclTensor::strides, stridesValue, stridesNum); });
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
    return guarded(call_aclGetViewOffset, [&] { return answer(tensor, &aclTensor::offset, offset); });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
    return guarded(call_aclGetFormat, [&] { return answer(tensor, &aclTensor::format, format); });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
    return guarded(call_aclGetDataType, [&] { return answer(tensor, &aclTensor::type, dataType); });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
    return guarded(call_aclSetRawTensorAddr, [&]() -> int {
        int status = ACLNN_SUCCESS;
        aclTensor* found = find_tensor(tensor, status);
        if (found == nullptr) return status;
        found->address = addr;
        return ACLNN_SUCCESS;
    });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
    return guarded(call_aclGetRawTensorAddr, [&] { return answer(tensor, &aclTensor::address, addr); });
}

// Nothing is written: as with CANN where no dump is configured.
aclnnStatus aclDumpOpTensors(const char* opType, const char* opName, aclTensor** tensors,
                             size_t inputTensorNum, size_t outputTensorNum, aclrtStream stream) {
    return guarded(call_aclDumpOpTensors, [&]() -> int {
        if (opType == nullptr || opName == nullptr || tensors == nullptr || stream == nullptr) {
            return fail(ACLNN_ERR_PARAM_NULLPTR, "an argument is nullptr");
        }
        for (size_t i = 0; i < inputTensorNum + outputTensorNum; ++i) {
            int status = ACLNN_SUCCESS;
            if (find_tensor(tensors[i], status) == nullptr) return status;
        }
        return ACLNN_SUCCESS;
    });
}
