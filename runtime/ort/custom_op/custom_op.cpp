#include "ort/custom_op/custom_op.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/host_call.h"
#include "ort/custom_op/shape_inference.h"
#include "ort/tensors.h"

namespace onnx_ascend::ort {
namespace {

const CustomOp& self(const OrtCustomOp* op) {
    return *static_cast<const CustomOp*>(op);
}

// A node of the operator in a session. Its tensors are ONNX Runtime's CPU tensors.
class CustomKernel {
  public:
    CustomKernel(const Ort& ort, const Kernel& kernel, DType dtype, std::string node)
        : ort_(ort), kernel_(kernel, Acl::instance().device(0)), dtype_(dtype), node_(std::move(node)) {
        const std::string reason = unsupported_reason(kernel, kernel_.device().acl().soc_name(), dtype);
        if (!reason.empty()) throw InvalidArgument("node '" + node_ + "': " + reason);
    }

    OrtStatus* compute(OrtKernelContext* context) const {
        return ort_.guarded([&] {
            std::array<Dims, kInputCount> shapes;
            std::array<Tensor, kInputCount> inputs;
            for (size_t k = 0; k < kInputCount; ++k) inputs[k] = input(context, k, shapes[k]);
            try {
                run(context, inputs.data());
            } catch (const InvalidArgument& error) {
                throw InvalidArgument("node '" + node_ + "': " + error.what());
            } catch (const Error& error) {
                throw Error(error.code(), error.function(), "node '" + node_ + "': " + error.what());
            }
        });
    }

  private:
    using Dims = std::array<int64_t, kMaxRank>;

    Tensor input(OrtKernelContext* context, size_t index, Dims& dims) const {
        const OrtValue* value = nullptr;
        ort_.check(ort_.api().KernelContext_GetInput(context, index, &value));
        if (ort_.api().GetTensorElementTypeAndShapeDataReference != nullptr) return view_of(ort_, value);
        OrtTensorTypeAndShapeInfo* raw = nullptr;
        ort_.check(ort_.api().GetTensorTypeAndShape(value, &raw));
        const std::unique_ptr<OrtTensorTypeAndShapeInfo, void (*)(OrtTensorTypeAndShapeInfo*)> info(
            raw, ort_.api().ReleaseTensorTypeAndShapeInfo);
        size_t rank = 0;
        ort_.check(ort_.api().GetDimensionsCount(raw, &rank));
        if (rank > dims.size())
            throw InvalidArgument("a tensor has " + std::to_string(rank) + " dimensions; at most " +
                                  std::to_string(kMaxRank) + " are possible");
        ort_.check(ort_.api().GetDimensions(raw, dims.data(), rank));
        Tensor tensor;
        tensor.dtype = dtype_;
        tensor.rank = static_cast<int32_t>(rank);
        tensor.dims = dims.data();
        // The oldest ONNX Runtimes have no reading access; this one only gives the address.
        ort_.check(ort_.api().GetTensorMutableData(const_cast<OrtValue*>(value), &tensor.data));
        return tensor;
    }

    void run(OrtKernelContext* context, const Tensor* inputs) const {
        Dims dims;
        Tensor output;
        output.dtype = dtype_;
        output.rank = broadcast_shape(kernel_.kernel(), inputs, dims.data());
        output.dims = dims.data();
        OrtValue* value = nullptr;
        ort_.check(ort_.api().KernelContext_GetOutput(context, 0, dims.data(),
                                                      static_cast<size_t>(output.rank), &value));
        ort_.check(ort_.api().GetTensorMutableData(value, &output.data));
        call_on_host(kernel_, inputs, output);
    }

    const Ort& ort_;
    BoundKernel kernel_;
    DType dtype_;
    std::string node_;
};

std::string node_name(const Ort& ort, const OrtKernelInfo* info) {
    char name[256];
    size_t size = sizeof name;
    OrtStatus* status = ort.api().KernelInfo_GetNodeName(info, name, &size);
    if (status == nullptr) return name;
    // A longer name than fits is no reason to fail.
    ort.api().ReleaseStatus(status);
    return "?";
}

// The log of the session that the node is in; registering the library gives none.
const OrtLogger* logger_of(const Ort& ort, const OrtKernelInfo* info) {
    const OrtLogger* logger = nullptr;
    OrtStatus* status = ort.api().KernelInfo_GetLogger(info, &logger);
    if (status != nullptr) ort.api().ReleaseStatus(status);
    return logger;
}

OrtCustomOpDomain* make_domain(const Ort& ort) {
    OrtCustomOpDomain* domain = nullptr;
    ort.check(ort.api().CreateCustomOpDomain(kDomain, &domain));
    for (const Kernel& kernel : kernels())
        for (const DType dtype : kernel.dtypes)
            if (!dtype_info(dtype).complex)
                ort.check(ort.api().CustomOpDomain_Add(domain, new CustomOp(ort, kernel, dtype)));
    return domain;
}

// The domain of this ONNX Runtime, made once for all sessions: they only refer to it.
OrtCustomOpDomain* domain_for(const Ort& ort) {
    static std::mutex* mutex = new std::mutex();
    static auto* domains = new std::map<const Ort*, OrtCustomOpDomain*>();
    std::lock_guard<std::mutex> lock(*mutex);
    OrtCustomOpDomain*& domain = (*domains)[&ort];
    if (domain == nullptr) domain = make_domain(ort);
    return domain;
}

// ONNX Runtime refuses a session whose options have a domain twice, and offers no way to ask for it, so the
// options themselves remember it; their copies have both.
void register_once(const Ort& ort, OrtSessionOptions* options) {
    constexpr const char* kMark = "onnx_ascend_ext.custom_ops";
    int marked = 0;
    ort.check(ort.api().HasSessionConfigEntry(options, kMark, &marked));
    if (marked != 0) return;
    ort.check(ort.api().AddCustomOpDomain(options, domain_for(ort)));
    ort.check(ort.api().AddSessionConfigEntry(options, kMark, "1"));
}

}  // namespace

CustomOp::CustomOp(const Ort& ort, const Kernel& kernel, DType dtype)
    : OrtCustomOp{}, ort_(ort), kernel_(kernel), dtype_(dtype) {
    version = ort.version();
    GetName = [](const OrtCustomOp* op) { return self(op).kernel_.name; };
    GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
    GetInputTypeCount = [](const OrtCustomOp*) { return kInputCount; };
    GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
    GetInputType = [](const OrtCustomOp* op, size_t) {
        return static_cast<ONNXTensorElementDataType>(self(op).dtype_);
    };
    GetOutputType = GetInputType;
    GetInputCharacteristic = [](const OrtCustomOp*, size_t) { return INPUT_OUTPUT_REQUIRED; };
    GetOutputCharacteristic = GetInputCharacteristic;
    GetInputMemoryType = [](const OrtCustomOp*, size_t) { return OrtMemTypeDefault; };
    GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
    GetVariadicInputHomogeneity = GetVariadicInputMinArity;
    GetVariadicOutputMinArity = GetVariadicInputMinArity;
    GetVariadicOutputHomogeneity = GetVariadicInputMinArity;
    GetStartVersion = [](const OrtCustomOp*) { return 1; };
    GetEndVersion = [](const OrtCustomOp*) { return INT32_MAX; };
    CreateKernelV2 = [](const OrtCustomOp* op, const OrtApi*, const OrtKernelInfo* info, void** out) {
        *out = nullptr;
        const CustomOp& me = self(op);
        return me.ort_.guarded([&] {
            *out = new CustomKernel(me.ort_, me.kernel_, me.dtype_, node_name(me.ort_, info));
            me.ort_.log_simulator_notice(logger_of(me.ort_, info));
        });
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
        return static_cast<const CustomKernel*>(kernel)->compute(context);
    };
    KernelDestroy = [](void* kernel) { delete static_cast<CustomKernel*>(kernel); };
    InferOutputShapeFn = [](const OrtCustomOp* op, OrtShapeInferContext* context) {
        const CustomOp& me = self(op);
        return me.ort_.guarded([&] { infer_broadcast_shape(me.ort_, context); });
    };
}

}  // namespace onnx_ascend::ort

extern "C" __attribute__((visibility("default"))) onnx_ascend::ort::OrtStatus* RegisterCustomOps(
    onnx_ascend::ort::OrtSessionOptions* options, const onnx_ascend::ort::OrtApiBase* base) {
    using namespace onnx_ascend::ort;
    const Ort* ort = Ort::negotiate(base, kOldestCustomOpVersion);
    if (ort == nullptr)
        return too_old_status(base, "the custom-op library onnx_ascend_ext", kOldestCustomOpVersion);
    return ort->guarded([&] { register_once(*ort, options); });
}
