#include "dispatch/tensor.h"

#include <array>
#include <cstring>

namespace onnx_ascend {
namespace {

// Calls `visit(address of a strided element, index in row-major order)` for every element.
template <typename Visit>
void for_each_element(const Tensor& tensor, Visit visit) {
    const int64_t count = tensor.elements();
    const int64_t size = static_cast<int64_t>(dtype_info(tensor.dtype).size);
    std::array<int64_t, kMaxRank> index{};
    char* address = static_cast<char*>(tensor.data);
    for (int64_t i = 0; i < count; ++i) {
        visit(address, i);
        for (int32_t d = tensor.rank - 1; d >= 0; --d) {
            address += tensor.strides[d] * size;
            if (++index[d] < tensor.dims[d]) break;
            address -= tensor.strides[d] * size * tensor.dims[d];
            index[d] = 0;
        }
    }
}

}  // namespace

int64_t Tensor::elements() const {
    int64_t count = 1;
    for (int32_t d = 0; d < rank; ++d) count *= dims[d];
    return count;
}

bool Tensor::contiguous() const {
    if (strides == nullptr) return true;
    int64_t expected = 1;
    for (int32_t d = rank - 1; d >= 0; --d) {
        if (dims[d] == 0) return true;
        if (dims[d] != 1 && strides[d] != expected) return false;
        expected *= dims[d];
    }
    return true;
}

std::string describe_dims(const int64_t* dims, int32_t rank) {
    std::string text = "[";
    for (int32_t d = 0; d < rank; ++d) text += (d == 0 ? "" : ",") + std::to_string(dims[d]);
    return text + "]";
}

std::string describe(const Tensor& tensor) {
    return dtype_info(tensor.dtype).name + describe_dims(tensor.dims, tensor.rank);
}

void pack(const Tensor& source, void* target) {
    if (source.contiguous()) {
        std::memcpy(target, source.data, source.bytes());
        return;
    }
    const size_t size = dtype_info(source.dtype).size;
    char* to = static_cast<char*>(target);
    for_each_element(source, [&](const char* from, int64_t i) { std::memcpy(to + i * size, from, size); });
}

void unpack(const void* source, const Tensor& target) {
    if (target.contiguous()) {
        std::memcpy(target.data, source, target.bytes());
        return;
    }
    const size_t size = dtype_info(target.dtype).size;
    const char* from = static_cast<const char*>(source);
    for_each_element(target, [&](char* to, int64_t i) { std::memcpy(to, from + i * size, size); });
}

}  // namespace onnx_ascend
