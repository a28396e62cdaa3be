// Sizes and kinds of ACL's element types.
#pragma once

#include "acl/abi.h"

namespace onnx_ascend::simulator {

// Bytes of one element; 0 for types without a fixed whole number of bytes.
constexpr size_t element_size(aclDataType type) noexcept {
    switch (type) {
        case ACL_INT8:
        case ACL_UINT8:
        case ACL_BOOL:
        case ACL_HIFLOAT8:
        case ACL_FLOAT8_E5M2:
        case ACL_FLOAT8_E4M3FN:
        case ACL_FLOAT8_E8M0:
            return 1;
        case ACL_FLOAT16:
        case ACL_BF16:
        case ACL_INT16:
        case ACL_UINT16:
            return 2;
        case ACL_FLOAT:
        case ACL_INT32:
        case ACL_UINT32:
        case ACL_COMPLEX32:
            return 4;
        case ACL_DOUBLE:
        case ACL_INT64:
        case ACL_UINT64:
        case ACL_COMPLEX64:
            return 8;
        case ACL_COMPLEX128:
            return 16;
        default:
            return 0;
    }
}

constexpr bool is_complex(aclDataType type) noexcept {
    return type == ACL_COMPLEX64 || type == ACL_COMPLEX128;
}

// Types that CANN computes on the device's own CPUs (AICPU) instead of its vector cores.
constexpr bool runs_on_aicpu(aclDataType type) noexcept {
    return type == ACL_DOUBLE || is_complex(type);
}

constexpr const char* type_name(aclDataType type) noexcept {
    switch (type) {
        case ACL_FLOAT:
            return "FLOAT";
        case ACL_FLOAT16:
            return "FLOAT16";
        case ACL_BF16:
            return "BFLOAT16";
        case ACL_DOUBLE:
            return "DOUBLE";
        case ACL_COMPLEX64:
            return "COMPLEX64";
        case ACL_COMPLEX128:
            return "COMPLEX128";
        default:
            return "another type";
    }
}

}  // namespace onnx_ascend::simulator
