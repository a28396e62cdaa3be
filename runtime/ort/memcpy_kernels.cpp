#include "ort/memcpy_kernels.h"

#include <vector>

#include "ort/copy.h"
#include "ort/tensors.h"

namespace onnx_ascend::ort {
namespace {

class CopyKernel : public OrtKernelImpl {
  public:
    explicit CopyKernel(const Ort& ort) : OrtKernelImpl{}, ort_(ort) {
        ort_version_supported = ort.version();
        OrtKernelImpl::Compute = [](OrtKernelImpl* self, OrtKernelContext* context) {
            const auto* me = static_cast<const CopyKernel*>(self);
            return me->ort_.guarded([&] { me->compute(context); });
        };
        OrtKernelImpl::Release = [](OrtKernelImpl* self) { delete static_cast<CopyKernel*>(self); };
    }

  private:
    void compute(OrtKernelContext* context) const {
        const OrtValue* source = nullptr;
        OrtValue* target = nullptr;
        ort_.check(ort_.api().KernelContext_GetInput(context, 0, &source));
        const Tensor shape = view_of(ort_, source);
        ort_.check(ort_.api().KernelContext_GetOutput(context, 0, shape.dims, static_cast<size_t>(shape.rank),
                                                      &target));
        void* handle = nullptr;
        ort_.check(ort_.api().KernelContext_GetGPUComputeStream(context, &handle));
        copy_tensor(ort_, source, target, SyncStream::from_handle(handle), nullptr);
    }

    const Ort& ort_;
};

OrtStatus* create_copy_kernel(void* state, const OrtKernelInfo*, OrtKernelImpl** out) {
    const auto& ort = *static_cast<const Ort*>(state);
    *out = nullptr;
    return ort.guarded([&] { *out = new CopyKernel(ort); });
}

// Every element type that ONNX Runtime knows but strings, which have no bytes to copy.
std::vector<const OrtDataType*> copyable_types(const Ort& ort) {
    constexpr ONNXTensorElementDataType kLast = 26;
    constexpr ONNXTensorElementDataType kString = 8;
    std::vector<const OrtDataType*> types;
    for (ONNXTensorElementDataType element = 1; element <= kLast; ++element) {
        const OrtDataType* type = nullptr;
        if (element == kString) continue;
        OrtStatus* status = ort.ep_api().GetTensorDataType(element, &type);
        // This ONNX Runtime may not know the newest ones.
        if (status != nullptr)
            ort.api().ReleaseStatus(status);
        else if (type != nullptr)
            types.push_back(type);
    }
    return types;
}

void add_kernel(const Ort& ort, OrtKernelRegistry* registry, const char* name,
                const std::vector<const OrtDataType*>& types, bool from_host) {
    const EpApiFunctions& api = ort.ep_api();
    OrtKernelDefBuilder* raw_builder = nullptr;
    ort.check(api.CreateKernelDefBuilder(&raw_builder));
    const Handle<OrtKernelDefBuilder> builder(raw_builder, api.ReleaseKernelDefBuilder);
    ort.check(api.KernelDefBuilder_SetOperatorType(builder.get(), name));
    ort.check(api.KernelDefBuilder_SetDomain(builder.get(), ""));
    ort.check(api.KernelDefBuilder_SetSinceVersion(builder.get(), 1, 1));
    ort.check(api.KernelDefBuilder_SetExecutionProvider(builder.get(), kEpName));
    ort.check(api.KernelDefBuilder_AddTypeConstraint(builder.get(), "T", types.data(), types.size()));
    ort.check(from_host ? api.KernelDefBuilder_SetInputMemType(builder.get(), 0, OrtMemTypeCPUInput)
                        : api.KernelDefBuilder_SetOutputMemType(builder.get(), 0, OrtMemTypeCPUOutput));
    OrtKernelDef* raw_definition = nullptr;
    ort.check(api.KernelDefBuilder_Build(builder.get(), &raw_definition));
    const Handle<OrtKernelDef> definition(raw_definition, api.ReleaseKernelDef);
    ort.check(
        api.KernelRegistry_AddKernel(registry, definition.get(), create_copy_kernel, const_cast<Ort*>(&ort)));
}

}  // namespace

Handle<OrtKernelRegistry> make_memcpy_kernels(const Ort& ort) {
    OrtKernelRegistry* raw = nullptr;
    ort.check(ort.ep_api().CreateKernelRegistry(&raw));
    Handle<OrtKernelRegistry> registry(raw, ort.ep_api().ReleaseKernelRegistry);
    const std::vector<const OrtDataType*> types = copyable_types(ort);
    add_kernel(ort, registry.get(), "MemcpyFromHost", types, true);
    add_kernel(ort, registry.get(), "MemcpyToHost", types, false);
    return registry;
}

}  // namespace onnx_ascend::ort
