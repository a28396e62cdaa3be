// Compiles only when runtime/ort/abi.h agrees with the official headers: every slot, struct and enumeration
// that we declare has the official offset, and every function the official type, up to names of types.
#include <onnxruntime_c_api.h>

#include <type_traits>

#include "ort/abi_functions.h"

namespace ours = onnx_ascend::ort;

namespace {

// A type with everything that differs only by name made equal: pointers to structs, enumerations.
template <typename T, typename = void>
struct Plain {
    using type = T;
};
template <typename T>
struct Plain<T, std::enable_if_t<std::is_enum_v<T>>> {
    using type = int;
};
template <typename T>
struct Plain<T*, std::enable_if_t<std::is_class_v<std::remove_cv_t<T>>>> {
    using type = std::conditional_t<std::is_const_v<T>, const void*, void*>;
};
template <typename T>
struct Plain<T*, std::enable_if_t<std::is_enum_v<std::remove_cv_t<T>>>> {
    using type = int*;
};
template <typename T>
struct Plain<T**, void> {
    using type = std::add_pointer_t<typename Plain<T*>::type>;
};
template <typename T>
struct Plain<T* const*, void> {
    using type = std::add_pointer_t<std::add_const_t<typename Plain<T*>::type>>;
};
template <typename R, typename... A>
struct Plain<R (*)(A...), void> {
    using type = typename Plain<R>::type (*)(typename Plain<A>::type...);
};
template <typename R, typename... A>
struct Plain<R (*)(A...) noexcept, void> {
    using type = typename Plain<R>::type (*)(typename Plain<A>::type...);
};

template <typename A, typename B>
constexpr bool same = std::is_same_v<typename Plain<A>::type, typename Plain<B>::type>;

// Looked up in the official namespace by name, in ours by the declaration.
using namespace onnx_ascend::ort;
#define CHECK_API(slot, since, name, result, parameters)                      \
    static_assert(offsetof(::OrtApi, name) == (slot) * sizeof(void*), #name); \
    static_assert(same<decltype(::OrtApi::name), result(*) parameters>, #name);
#define CHECK_EP_API(slot, since, name, result, parameters)                     \
    static_assert(offsetof(::OrtEpApi, name) == (slot) * sizeof(void*), #name); \
    static_assert(same<decltype(::OrtEpApi::name), result(*) parameters>, #name);
}  // namespace

namespace onnx_ascend::ort {
ONNX_ASCEND_ORT_API(CHECK_API)
ONNX_ASCEND_ORT_EP_API(CHECK_EP_API)
}  // namespace onnx_ascend::ort

#define SAME_MEMBER(type, member)                                                           \
    static_assert(offsetof(ours::type, member) == offsetof(::type, member), #type #member); \
    static_assert(same<decltype(ours::type::member), decltype(::type::member)>, #type #member);
#define SAME_OFFSET(type, member) \
    static_assert(offsetof(ours::type, member) == offsetof(::type, member), #type #member);
#define SAME_SIZE(type) static_assert(sizeof(ours::type) == sizeof(::type), #type);
#define SAME_VALUE(name) static_assert(static_cast<int>(ours::name) == static_cast<int>(::name), #name);

static_assert(ours::kNewestVersion <= ORT_API_VERSION, "the headers are older than what is declared");

SAME_MEMBER(OrtApiBase, GetApi)
SAME_MEMBER(OrtApiBase, GetVersionString)

SAME_SIZE(OrtNodeFusionOptions)
SAME_MEMBER(OrtNodeFusionOptions, drop_constant_initializers)

SAME_SIZE(OrtAllocator)
SAME_MEMBER(OrtAllocator, version)
SAME_MEMBER(OrtAllocator, Alloc)
SAME_MEMBER(OrtAllocator, Free)
SAME_MEMBER(OrtAllocator, Info)
SAME_MEMBER(OrtAllocator, Reserve)
SAME_MEMBER(OrtAllocator, GetStats)
SAME_MEMBER(OrtAllocator, AllocOnStream)
SAME_MEMBER(OrtAllocator, Shrink)

SAME_SIZE(OrtDataTransferImpl)
SAME_MEMBER(OrtDataTransferImpl, Release)
SAME_MEMBER(OrtDataTransferImpl, CanCopy)
SAME_MEMBER(OrtDataTransferImpl, CopyTensors)

SAME_SIZE(OrtSyncStreamImpl)
SAME_MEMBER(OrtSyncStreamImpl, Release)
SAME_MEMBER(OrtSyncStreamImpl, GetHandle)
SAME_MEMBER(OrtSyncStreamImpl, CreateNotification)
SAME_MEMBER(OrtSyncStreamImpl, Flush)
SAME_MEMBER(OrtSyncStreamImpl, OnSessionRunEnd)

SAME_SIZE(OrtSyncNotificationImpl)
SAME_MEMBER(OrtSyncNotificationImpl, Release)
SAME_MEMBER(OrtSyncNotificationImpl, Activate)
SAME_MEMBER(OrtSyncNotificationImpl, WaitOnDevice)
SAME_MEMBER(OrtSyncNotificationImpl, WaitOnHost)

SAME_SIZE(OrtNodeComputeInfo)
SAME_MEMBER(OrtNodeComputeInfo, CreateState)
SAME_MEMBER(OrtNodeComputeInfo, Compute)
SAME_MEMBER(OrtNodeComputeInfo, ReleaseState)

SAME_SIZE(OrtKernelImpl)
SAME_MEMBER(OrtKernelImpl, flags)
SAME_MEMBER(OrtKernelImpl, Compute)
SAME_MEMBER(OrtKernelImpl, Release)

SAME_SIZE(OrtEpProfilerImpl)
SAME_MEMBER(OrtEpProfilerImpl, Release)
SAME_MEMBER(OrtEpProfilerImpl, StartProfiling)
SAME_MEMBER(OrtEpProfilerImpl, StartEvent)
SAME_MEMBER(OrtEpProfilerImpl, StopEvent)
SAME_MEMBER(OrtEpProfilerImpl, EndProfiling)

SAME_SIZE(OrtEp)
SAME_MEMBER(OrtEp, GetName)
SAME_MEMBER(OrtEp, GetCapability)
SAME_MEMBER(OrtEp, Compile)
SAME_MEMBER(OrtEp, ReleaseNodeComputeInfos)
SAME_OFFSET(OrtEp, GetPreferredDataLayout)
SAME_OFFSET(OrtEp, OnRunEnd)
SAME_MEMBER(OrtEp, CreateAllocator)
SAME_MEMBER(OrtEp, CreateSyncStreamForDevice)
SAME_OFFSET(OrtEp, GetCompiledModelCompatibilityInfo)
SAME_MEMBER(OrtEp, GetKernelRegistry)
SAME_MEMBER(OrtEp, IsConcurrentRunSupported)
SAME_MEMBER(OrtEp, Sync)
SAME_MEMBER(OrtEp, CreateProfiler)
SAME_OFFSET(OrtEp, OnSessionInitializationEnd)
SAME_MEMBER(OrtEp, GetDefaultMemoryDevice)
SAME_OFFSET(OrtEp, GetWeightlessSupport)

SAME_SIZE(OrtEpFactory)
SAME_MEMBER(OrtEpFactory, GetName)
SAME_MEMBER(OrtEpFactory, GetVendor)
SAME_MEMBER(OrtEpFactory, GetSupportedDevices)
SAME_MEMBER(OrtEpFactory, CreateEp)
SAME_MEMBER(OrtEpFactory, ReleaseEp)
SAME_MEMBER(OrtEpFactory, GetVendorId)
SAME_MEMBER(OrtEpFactory, GetVersion)
SAME_OFFSET(OrtEpFactory, ValidateCompiledModelCompatibilityInfo)
SAME_MEMBER(OrtEpFactory, CreateAllocator)
SAME_MEMBER(OrtEpFactory, ReleaseAllocator)
SAME_MEMBER(OrtEpFactory, CreateDataTransfer)
SAME_MEMBER(OrtEpFactory, IsStreamAware)
SAME_MEMBER(OrtEpFactory, CreateSyncStreamForDevice)
SAME_OFFSET(OrtEpFactory, SelectBestModelCandidate)

SAME_SIZE(OrtCustomOp)
SAME_MEMBER(OrtCustomOp, CreateKernel)
SAME_MEMBER(OrtCustomOp, GetName)
SAME_MEMBER(OrtCustomOp, GetExecutionProviderType)
SAME_MEMBER(OrtCustomOp, GetInputType)
SAME_MEMBER(OrtCustomOp, GetInputTypeCount)
SAME_MEMBER(OrtCustomOp, GetOutputType)
SAME_MEMBER(OrtCustomOp, GetOutputTypeCount)
SAME_MEMBER(OrtCustomOp, KernelCompute)
SAME_MEMBER(OrtCustomOp, KernelDestroy)
SAME_MEMBER(OrtCustomOp, GetInputCharacteristic)
SAME_MEMBER(OrtCustomOp, GetOutputCharacteristic)
SAME_MEMBER(OrtCustomOp, GetInputMemoryType)
SAME_MEMBER(OrtCustomOp, GetVariadicInputMinArity)
SAME_MEMBER(OrtCustomOp, GetVariadicOutputHomogeneity)
SAME_MEMBER(OrtCustomOp, CreateKernelV2)
SAME_MEMBER(OrtCustomOp, KernelComputeV2)
SAME_MEMBER(OrtCustomOp, InferOutputShapeFn)
SAME_MEMBER(OrtCustomOp, GetStartVersion)
SAME_MEMBER(OrtCustomOp, GetEndVersion)
SAME_OFFSET(OrtCustomOp, ReleaseAliasMap)

SAME_VALUE(ORT_FAIL)
SAME_VALUE(ORT_INVALID_ARGUMENT)
SAME_VALUE(ORT_ENGINE_ERROR)
SAME_VALUE(ORT_RUNTIME_EXCEPTION)
SAME_VALUE(ORT_LOGGING_LEVEL_INFO)
SAME_VALUE(ORT_LOGGING_LEVEL_WARNING)
SAME_VALUE(OrtHardwareDeviceType_NPU)
SAME_VALUE(OrtMemoryInfoDeviceType_CPU)
SAME_VALUE(OrtMemoryInfoDeviceType_NPU)
SAME_VALUE(OrtDeviceMemoryType_DEFAULT)
SAME_VALUE(OrtDeviceMemoryType_HOST_ACCESSIBLE)
SAME_VALUE(OrtDeviceAllocator)
SAME_VALUE(OrtMemTypeCPUInput)
SAME_VALUE(OrtMemTypeCPUOutput)
SAME_VALUE(OrtMemTypeDefault)
SAME_VALUE(INPUT_OUTPUT_REQUIRED)
SAME_VALUE(OrtProfilingEventCategory_KERNEL)
