#include "dispatch/executor_cache.h"

#include <algorithm>

namespace onnx_ascend {

ExecutorKey::ExecutorKey(const Kernel& kernel, const Tensor* inputs, const Tensor& output,
                         const Layout& layout) {
    const auto add = [this](int64_t word) {
        words_[length_++] = word;
        // FNV-1a over whole words, with the high bits folded in.
        hash_ = (hash_ ^ static_cast<size_t>(word)) * 0x100000001b3ULL;
        hash_ ^= hash_ >> 29;
    };
    add(reinterpret_cast<intptr_t>(&kernel) * 16 + layout.rank);
    add(static_cast<int64_t>(inputs[0].dtype) | static_cast<int64_t>(inputs[1].dtype) << 8 |
        static_cast<int64_t>(output.dtype) << 16);
    for (const OperandView& view : layout.operands) {
        for (int32_t d = 0; d < layout.rank; ++d) add(view.dims[d]);
        for (int32_t d = 0; d < layout.rank; ++d) add(view.strides[d]);
    }
}

bool ExecutorKey::operator==(const ExecutorKey& other) const {
    return hash_ == other.hash_ && length_ == other.length_ &&
           std::equal(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(length_),
                      other.words_.begin());
}

OperandTensors::OperandTensors(const Acl& acl, const Tensor* inputs, const Tensor& output,
                               const Layout& layout)
    : acl_(&acl) {
    for (size_t k = 0; k < kOperandCount; ++k) {
        const Tensor& tensor = k < kInputCount ? inputs[k] : output;
        const OperandView& view = layout.operands[k];
        const auto rank = static_cast<uint64_t>(layout.rank);
        tensors_[k] = acl.functions().aclCreateTensor(view.dims.data(), rank, dtype_info(tensor.dtype).acl,
                                                      view.strides.data(), view.offset, ACL_FORMAT_ND,
                                                      &view.storage, 1, tensor.data);
        if (tensors_[k] == nullptr) {
            destroy();
            throw Error(
                kInternalError, "aclCreateTensor",
                failure_text("aclCreateTensor", kInternalError, acl.functions().aclGetRecentErrMsg()));
        }
    }
}

OperandTensors::OperandTensors(OperandTensors&& other) noexcept : acl_(other.acl_), tensors_(other.tensors_) {
    other.tensors_.fill(nullptr);
}

OperandTensors::~OperandTensors() {
    destroy();
}

void OperandTensors::destroy() noexcept {
    if (acl_->forked()) return;
    for (aclTensor* tensor : tensors_)
        if (tensor != nullptr) acl_->functions().aclDestroyTensor(tensor);
}

Executor::~Executor() {
    if (handle_ == nullptr || acl_->forked() || acl_->functions().aclDestroyAclOpExecutor == nullptr) return;
    acl_->functions().aclDestroyAclOpExecutor(handle_);
}

KeptExecutor* ExecutorCache::find(const ExecutorKey& key) {
    if (!entries_.empty() && entries_.front().key == key) return &entries_.front().kept;
    const auto known = index_.find(key);
    if (known == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, known->second);
    return &entries_.front().kept;
}

void ExecutorCache::remember_refusal(const ExecutorKey& key) {
    // Asking once more after so many others costs little; an unbounded set would cost memory.
    if (refused_.size() >= kCapacity) refused_.clear();
    refused_.emplace(key, 0);
}

KeptExecutor& ExecutorCache::insert(const ExecutorKey& key, KeptExecutor executor) {
    if (entries_.size() >= kCapacity) {
        index_.erase(entries_.back().key);
        retired_.splice(retired_.begin(), entries_, std::prev(entries_.end()));
    }
    entries_.push_front({key, std::move(executor)});
    index_[key] = entries_.begin();
    return entries_.front().kept;
}

void ExecutorCache::erase(const ExecutorKey& key) {
    const auto known = index_.find(key);
    if (known == index_.end()) return;
    retired_.splice(retired_.begin(), entries_, known->second);
    index_.erase(known);
}

}  // namespace onnx_ascend
