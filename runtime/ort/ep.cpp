#include "ort/ep.h"

#include "ort/capability.h"
#include "ort/compute.h"
#include "ort/profiler.h"

namespace onnx_ascend::ort {
namespace {

Ep* self(OrtEp* ep) {
    return static_cast<Ep*>(ep);
}

}  // namespace

Ep::Ep(Factory& factory, Device& device, const OrtLogger* logger, bool ep_context)
    : OrtEp{}, factory_(factory), device_(device), logger_(logger), ep_context_(ep_context) {
    ort_version_supported = ort().version();
    OrtEp::GetName = [](const OrtEp*) { return kEpName; };
    OrtEp::GetCapability = [](OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
        return self(ep)->ort().guarded([&] { claim_nodes(*self(ep), graph, info); });
    };
    OrtEp::Compile = [](OrtEp* ep, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                        OrtNodeComputeInfo** compute_infos, OrtNode**) {
        return self(ep)->ort().guarded([&] { self(ep)->compile(graphs, fused_nodes, count, compute_infos); });
    };
    OrtEp::ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** compute_infos, size_t count) {
        for (size_t i = 0; i < count; ++i) delete static_cast<NodeCompute*>(compute_infos[i]);
    };
    OrtEp::GetKernelRegistry = [](OrtEp* ep, const OrtKernelRegistry** out) {
        *out = nullptr;
        return self(ep)->ort().guarded([&] {
            if (!self(ep)->device_.acl().shares_memory()) *out = self(ep)->factory_.memcpy_kernels();
        });
    };
    OrtEp::Sync = [](OrtEp* ep) { return self(ep)->ort().guarded([&] { self(ep)->device_.synchronize(); }); };
    OrtEp::CreateProfiler = [](OrtEp* ep, OrtEpProfilerImpl** out) {
        *out = nullptr;
        return self(ep)->ort().guarded([&] { *out = new Profiler(*self(ep)); });
    };
    OrtEp::GetDefaultMemoryDevice = [](const OrtEp* ep, const OrtMemoryDevice** out) {
        const auto* me = static_cast<const Ep*>(ep);
        *out = nullptr;
        return me->ort().guarded([&] {
            const DeviceMemory* memory = me->factory_.memory_of(me->device_.id());
            if (memory != nullptr) *out = me->ort().ep_api().MemoryInfo_GetMemoryDevice(memory->device.get());
        });
    };
}

void Ep::compile(const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                 OrtNodeComputeInfo** compute_infos) {
    if (ep_context_ && count > 0)
        throw InvalidArgument(
            std::string(kEpName) +
            " compiles nothing that a model could store; remove the session option ep.context_enable");
    for (size_t i = 0; i < count; ++i) compute_infos[i] = make_node_compute(*this, graphs[i], fused_nodes[i]);
}

}  // namespace onnx_ascend::ort
