// Scalars, arrays and lists: what operators with attributes take beside tensors.
#include <cstring>
#include <vector>

#include "simulator/call.h"
#include "simulator/element_type.h"
#include "simulator/tensor.h"

struct aclScalar {
    unsigned char value[16];
    aclDataType type;
};
struct aclIntArray {
    std::vector<int64_t> values;
};
struct aclFloatArray {
    std::vector<float> values;
};
struct aclBoolArray {
    std::vector<unsigned char> values;
};
struct aclTensorList {
    std::vector<const aclTensor*> values;
};
struct aclScalarList {
    std::vector<const aclScalar*> values;
};

namespace onnx_ascend::simulator {

template <typename T>
HandleTable<T>& table() {
    static HandleTable<T>& instance = *new HandleTable<T>(1u << 14);
    return instance;
}

aclTensor* tensor_of_list(const aclTensorList* list, size_t index) {
    const aclTensorList* found = table<aclTensorList>().find(list);
    if (found == nullptr || index >= found->values.size()) return nullptr;
    return tensors().find(found->values[index]);
}

namespace {

template <typename T, typename Value>
T* create(const Value* values, uint64_t size) {
    if (values == nullptr && size != 0) {
        fail(ACLNN_ERR_PARAM_NULLPTR, "value is nullptr and size is not 0");
        return nullptr;
    }
    T* created = table<T>().create();
    if (created == nullptr) {
        fail(ACLNN_ERR_INNER, "no handle left");
        return nullptr;
    }
    created->values.assign(values, values + size);
    return created;
}

template <typename T>
int destroy(const T* handle) {
    if (handle == nullptr || table<T>().destroy(handle)) return ACLNN_SUCCESS;
    return violation(ACLNN_ERR_PARAM_INVALID, "%p %s", static_cast<const void*>(handle),
                     table<T>().describe(handle));
}

template <typename T>
int size_of(const T* handle, uint64_t* size) {
    if (handle == nullptr || size == nullptr) return fail(ACLNN_ERR_PARAM_NULLPTR, "an argument is nullptr");
    const T* found = table<T>().find(handle);
    if (found == nullptr) {
        return violation(ACLNN_ERR_PARAM_INVALID, "%p %s", static_cast<const void*>(handle),
                         table<T>().describe(handle));
    }
    *size = found->values.size();
    return ACLNN_SUCCESS;
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclCreateScalar);
ONNX_ASCEND_CALL_POINT(aclCreateIntArray);
ONNX_ASCEND_CALL_POINT(aclCreateFloatArray);
ONNX_ASCEND_CALL_POINT(aclCreateBoolArray);
ONNX_ASCEND_CALL_POINT(aclCreateTensorList);
ONNX_ASCEND_CALL_POINT(aclCreateScalarList);
ONNX_ASCEND_CALL_POINT(aclDestroyScalar);
ONNX_ASCEND_CALL_POINT(aclDestroyIntArray);
ONNX_ASCEND_CALL_POINT(aclDestroyFloatArray);
ONNX_ASCEND_CALL_POINT(aclDestroyBoolArray);
ONNX_ASCEND_CALL_POINT(aclDestroyTensorList);
ONNX_ASCEND_CALL_POINT(aclDestroyScalarList);
ONNX_ASCEND_CALL_POINT(aclGetIntArraySize);
ONNX_ASCEND_CALL_POINT(aclGetFloatArraySize);
ONNX_ASCEND_CALL_POINT(aclGetBoolArraySize);
ONNX_ASCEND_CALL_POINT(aclGetTensorListSize);
ONNX_ASCEND_CALL_POINT(aclGetScalarListSize);

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
    return guarded_pointer(call_aclCreateScalar, [&]() -> aclScalar* {
        const size_t size = element_size(dataType);
        if (value == nullptr || size == 0) {
            fail(ACLNN_ERR_PARAM_INVALID, "value is nullptr, or data type %d has no fixed size",
                 static_cast<int>(dataType));
            return nullptr;
        }
        aclScalar* scalar = table<aclScalar>().create();
        if (scalar == nullptr) return nullptr;
        std::memcpy(scalar->value, value, size);
        scalar->type = dataType;
        return scalar;
    });
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
    return guarded_pointer(call_aclCreateIntArray, [&] { return create<aclIntArray>(value, size); });
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
    return guarded_pointer(call_aclCreateFloatArray, [&] { return create<aclFloatArray>(value, size); });
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
    return guarded_pointer(call_aclCreateBoolArray, [&] { return create<aclBoolArray>(value, size); });
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
    return guarded_pointer(call_aclCreateTensorList, [&] { return create<aclTensorList>(value, size); });
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
    return guarded_pointer(call_aclCreateScalarList, [&] { return create<aclScalarList>(value, size); });
}

aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
    return guarded_release(call_aclDestroyScalar, [&] { return destroy(scalar); });
}

aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
    return guarded_release(call_aclDestroyIntArray, [&] { return destroy(array); });
}

aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
    return guarded_release(call_aclDestroyFloatArray, [&] { return destroy(array); });
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
    return guarded_release(call_aclDestroyBoolArray, [&] { return destroy(array); });
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
    return guarded_release(call_aclDestroyTensorList, [&]() -> int {
        const aclTensorList* found = table<aclTensorList>().find(array);
        const std::vector<const aclTensor*> owned =
            found == nullptr ? std::vector<const aclTensor*>() : found->values;
        const int status = destroy(array);
        for (const aclTensor* tensor : owned) tensors().destroy(tensor);
        return status;
    });
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
    return guarded_release(call_aclDestroyScalarList, [&]() -> int {
        const aclScalarList* found = table<aclScalarList>().find(array);
        const std::vector<const aclScalar*> owned =
            found == nullptr ? std::vector<const aclScalar*>() : found->values;
        const int status = destroy(array);
        for (const aclScalar* scalar : owned) table<aclScalar>().destroy(scalar);
        return status;
    });
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
    return guarded(call_aclGetIntArraySize, [&] { return size_of(array, size); });
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
    return guarded(call_aclGetFloatArraySize, [&] { return size_of(array, size); });
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
    return guarded(call_aclGetBoolArraySize, [&] { return size_of(array, size); });
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
    return guarded(call_aclGetTensorListSize, [&] { return size_of(tensorList, size); });
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
    return guarded(call_aclGetScalarListSize, [&] { return size_of(scalarList, size); });
}
