// aclTensor and its siblings: descriptions that the program makes and destroys.
#pragma once

#include <cstdint>

#include "acl/abi.h"
#include "simulator/handles.h"

namespace onnx_ascend::simulator {

// As many dimensions as libnnopbase can represent; operators accept fewer.
constexpr uint64_t max_tensor_rank = 25;

struct Dims {
    uint32_t rank = 0;
    int64_t at[max_tensor_rank];

    // Product of all dimensions: 1 for rank 0, the largest number there is where the product does not fit.
    int64_t count() const noexcept {
        int64_t product = 1;
        bool fits = true;
        for (uint32_t i = 0; i < rank; ++i) {
            if (at[i] == 0) return 0;
            fits = fits && !__builtin_mul_overflow(product, at[i], &product);
        }
        return fits ? product : INT64_MAX;
    }
    bool operator==(const Dims& other) const noexcept {
        if (rank != other.rank) return false;
        for (uint32_t i = 0; i < rank; ++i) {
            if (at[i] != other.at[i]) return false;
        }
        return true;
    }
};

}  // namespace onnx_ascend::simulator

struct aclTensor {
    onnx_ascend::simulator::Dims shape;
    onnx_ascend::simulator::Dims strides;  // in elements
    onnx_ascend::simulator::Dims storage;
    int64_t offset = 0;  // in elements
    aclDataType type = ACL_DT_UNDEFINED;
    aclFormat format = ACL_FORMAT_UNDEFINED;
    void* address = nullptr;  // of the storage, before the offset
};

namespace onnx_ascend::simulator {

HandleTable<aclTensor>& tensors();

}  // namespace onnx_ascend::simulator
