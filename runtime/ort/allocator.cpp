#include "ort/allocator.h"

#include "ort/stream.h"

namespace onnx_ascend::ort {
namespace {

Allocator* self(OrtAllocator* allocator) {
    return static_cast<Allocator*>(allocator);
}

}  // namespace

Allocator::Allocator(const Ort& ort, Device& device, bool pinned_host, const OrtMemoryInfo* info)
    : OrtAllocator{}, ort_(ort), device_(device), pinned_host_(pinned_host), info_(info) {
    version = ort.version();
    OrtAllocator::Alloc = [](OrtAllocator* allocator, size_t size) {
        return self(allocator)->allocate(size, nullptr);
    };
    OrtAllocator::Reserve = OrtAllocator::Alloc;
    OrtAllocator::AllocOnStream = [](OrtAllocator* allocator, size_t size, OrtSyncStream* stream) {
        return self(allocator)->allocate(size, stream);
    };
    OrtAllocator::Free = [](OrtAllocator* allocator, void* pointer) {
        self(allocator)->pool().free(pointer);
    };
    OrtAllocator::Info = [](const OrtAllocator* allocator) {
        return static_cast<const Allocator*>(allocator)->info_;
    };
    OrtAllocator::GetStats = [](const OrtAllocator* allocator, OrtKeyValuePairs** out) {
        const auto* me = static_cast<const Allocator*>(allocator);
        return me->ort_.guarded([&] {
            const MemoryPoolStatistics statistics = me->pool().statistics();
            me->ort_.api().CreateKeyValuePairs(out);
            const auto add = [&](const char* key, size_t value) {
                me->ort_.api().AddKeyValuePair(*out, key, std::to_string(value).c_str());
            };
            me->ort_.api().AddKeyValuePair(*out, "Limit", "-1");
            add("InUse", statistics.in_use);
            add("TotalAllocated", statistics.allocated);
            add("MaxInUse", statistics.max_in_use);
            add("NumAllocs", statistics.requests);
            add("NumArenaExtensions", statistics.allocations);
        });
    };
    OrtAllocator::Shrink = [](OrtAllocator* allocator) {
        return self(allocator)->ort_.guarded([&] { self(allocator)->pool().trim(); });
    };
}

Allocator::~Allocator() {
    if (device_.acl().forked()) return;
    try {
        pool().trim();
    } catch (const Error&) {
        // The device does not answer any more; the memory went with it.
    }
}

void* Allocator::allocate(size_t size, OrtSyncStream* stream) noexcept {
    try {
        const SyncStream* user = stream == nullptr ? nullptr : SyncStream::from(ort_, stream);
        return pool().allocate(size, user == nullptr ? nullptr : &user->stream());
    } catch (const std::exception&) {
        // The interface has no other way to fail; ONNX Runtime turns null into its own error.
        return nullptr;
    }
}

}  // namespace onnx_ascend::ort
