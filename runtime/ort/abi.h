// The slice of ONNX Runtime's C ABI that this library uses. The wheels of ONNX Runtime bring no headers, so
// it is declared here, by us: functions that we call by their slot in ONNX Runtime's tables, and in full the
// structs that we fill. The ABI only ever grows at the end, and OrtApiBase::GetApi guards it by version.
// tests/abi holds this file against the official headers where they are at hand.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnx_ascend::ort {

// The newest version whose structs are declared here, and the oldest that each door works with.
constexpr uint32_t kNewestVersion = 29;
constexpr uint32_t kOldestPluginVersion = 24;
constexpr uint32_t kOldestCustomOpVersion = 17;

// ---- opaque types ----

struct OrtApi;
struct OrtEpApi;
struct OrtStatus;
struct OrtLogger;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtShapeInferContext;
struct OrtCustomOpDomain;
struct OrtValue;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtMemoryInfo;
struct OrtMemoryDevice;
struct OrtKeyValuePairs;
struct OrtHardwareDevice;
struct OrtEpDevice;
struct OrtGraph;
struct OrtNode;
struct OrtValueInfo;
struct OrtEpGraphSupportInfo;
struct OrtNodeComputeContext;
struct OrtSyncStream;
struct OrtKernelRegistry;
struct OrtKernelDefBuilder;
struct OrtKernelDef;
struct OrtDataType;
struct OrtSharedPrePackedWeightCache;
struct OrtProfilingEvent;
struct OrtProfilingEventsContainer;

// ---- structs that we fill, declared in full below ----

struct OrtCustomOp;
struct OrtEp;
struct OrtEpFactory;
struct OrtEpProfilerImpl;
struct OrtKernelImpl;
struct OrtNodeComputeInfo;
struct OrtNodeFusionOptions;
struct OrtSyncNotificationImpl;
struct OrtSyncStreamImpl;

using OrtKernelCreateFunc = OrtStatus* (*)(void* state, const OrtKernelInfo* info, OrtKernelImpl** out);

// ---- enumerations ----
// They name their type, the one that compilers give ONNX Runtime's, because a newer one may pass other
// values.

enum OrtErrorCode : uint32_t {
    ORT_OK = 0,
    ORT_FAIL = 1,
    ORT_INVALID_ARGUMENT = 2,
    ORT_ENGINE_ERROR = 5,
    ORT_RUNTIME_EXCEPTION = 6,
};

enum OrtLoggingLevel : uint32_t {
    ORT_LOGGING_LEVEL_VERBOSE = 0,
    ORT_LOGGING_LEVEL_INFO = 1,
    ORT_LOGGING_LEVEL_WARNING = 2,
    ORT_LOGGING_LEVEL_ERROR = 3,
    ORT_LOGGING_LEVEL_FATAL = 4,
};

enum OrtHardwareDeviceType : uint32_t {
    OrtHardwareDeviceType_CPU = 0,
    OrtHardwareDeviceType_GPU = 1,
    OrtHardwareDeviceType_NPU = 2,
};

enum OrtMemoryInfoDeviceType : uint32_t {
    OrtMemoryInfoDeviceType_CPU = 0,
    OrtMemoryInfoDeviceType_GPU = 1,
    OrtMemoryInfoDeviceType_FPGA = 2,
    OrtMemoryInfoDeviceType_NPU = 3,
};

enum OrtDeviceMemoryType : uint32_t {
    OrtDeviceMemoryType_DEFAULT = 0,
    OrtDeviceMemoryType_HOST_ACCESSIBLE = 5
};

enum OrtAllocatorType : int32_t { OrtInvalidAllocator = -1, OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };

enum OrtMemType : int32_t { OrtMemTypeCPUInput = -2, OrtMemTypeCPUOutput = -1, OrtMemTypeDefault = 0 };

enum OrtCustomOpInputOutputCharacteristic : uint32_t { INPUT_OUTPUT_REQUIRED = 0 };

enum ONNXType : uint32_t { ONNX_TYPE_UNKNOWN = 0, ONNX_TYPE_TENSOR = 1 };

enum OrtProfilingEventCategory : uint32_t { OrtProfilingEventCategory_KERNEL = 2 };

// The numbers of onnx.TensorProto.DataType.
using ONNXTensorElementDataType = int32_t;

using OrtStatusPtr = OrtStatus*;

// ---- tables that ONNX Runtime fills ----

struct OrtApiBase {
    const OrtApi* (*GetApi)(uint32_t version);
    const char* (*GetVersionString)();
};

// ---- structs that we fill ----

// A member that we leave null, because ONNX Runtime's default is right.
using Unused = void*;

struct OrtNodeFusionOptions {
    uint32_t ort_version_supported;
    bool drop_constant_initializers;
};

struct OrtAllocator {
    uint32_t version;
    void* (*Alloc)(OrtAllocator* self, size_t size);
    void (*Free)(OrtAllocator* self, void* pointer);
    const OrtMemoryInfo* (*Info)(const OrtAllocator* self);
    void* (*Reserve)(OrtAllocator* self, size_t size);
    OrtStatusPtr (*GetStats)(const OrtAllocator* self, OrtKeyValuePairs** out);
    void* (*AllocOnStream)(OrtAllocator* self, size_t size, OrtSyncStream* stream);
    OrtStatusPtr (*Shrink)(OrtAllocator* self);
};

struct OrtDataTransferImpl {
    uint32_t ort_version_supported;
    void (*Release)(OrtDataTransferImpl* self);
    bool (*CanCopy)(const OrtDataTransferImpl* self, const OrtMemoryDevice* source,
                    const OrtMemoryDevice* target);
    OrtStatusPtr (*CopyTensors)(OrtDataTransferImpl* self, const OrtValue** sources, OrtValue** targets,
                                OrtSyncStream** streams, size_t count);
};

struct OrtSyncStreamImpl {
    uint32_t ort_version_supported;
    void (*Release)(OrtSyncStreamImpl* self);
    void* (*GetHandle)(OrtSyncStreamImpl* self);
    OrtStatusPtr (*CreateNotification)(OrtSyncStreamImpl* self, OrtSyncNotificationImpl** out);
    OrtStatusPtr (*Flush)(OrtSyncStreamImpl* self);
    OrtStatusPtr (*OnSessionRunEnd)(OrtSyncStreamImpl* self);
};

struct OrtSyncNotificationImpl {
    uint32_t ort_version_supported;
    void (*Release)(OrtSyncNotificationImpl* self);
    OrtStatusPtr (*Activate)(OrtSyncNotificationImpl* self);
    OrtStatusPtr (*WaitOnDevice)(OrtSyncNotificationImpl* self, OrtSyncStream* consumer);
    OrtStatusPtr (*WaitOnHost)(OrtSyncNotificationImpl* self);
};

struct OrtNodeComputeInfo {
    uint32_t ort_version_supported;
    OrtStatus* (*CreateState)(OrtNodeComputeInfo* self, OrtNodeComputeContext* context, void** state);
    OrtStatus* (*Compute)(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context);
    void (*ReleaseState)(OrtNodeComputeInfo* self, void* state);
};

struct OrtKernelImpl {
    uint32_t ort_version_supported;
    uint32_t flags;
    OrtStatusPtr (*Compute)(OrtKernelImpl* self, OrtKernelContext* context);
    void (*Release)(OrtKernelImpl* self);
    Unused PrePackWeight;
    Unused SetSharedPrePackedWeight;
};

struct OrtEpProfilerImpl {
    uint32_t ort_version_supported;
    void (*Release)(OrtEpProfilerImpl* self);
    OrtStatusPtr (*StartProfiling)(OrtEpProfilerImpl* self, int64_t start_offset_ns);
    OrtStatusPtr (*StartEvent)(OrtEpProfilerImpl* self, uint64_t correlation_id);
    OrtStatusPtr (*StopEvent)(OrtEpProfilerImpl* self, uint64_t correlation_id,
                              const OrtProfilingEvent* event);
    OrtStatusPtr (*EndProfiling)(OrtEpProfilerImpl* self, OrtProfilingEventsContainer* container);
};

struct OrtEp {
    uint32_t ort_version_supported;
    const char* (*GetName)(const OrtEp* self);
    OrtStatusPtr (*GetCapability)(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info);
    OrtStatusPtr (*Compile)(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                            OrtNodeComputeInfo** compute_infos, OrtNode** ep_context_nodes);
    void (*ReleaseNodeComputeInfos)(OrtEp* self, OrtNodeComputeInfo** compute_infos, size_t count);
    Unused GetPreferredDataLayout;
    Unused ShouldConvertDataLayoutForOp;
    Unused SetDynamicOptions;
    Unused OnRunStart;
    Unused OnRunEnd;
    OrtStatusPtr (*CreateAllocator)(OrtEp* self, const OrtMemoryInfo* info, OrtAllocator** out);
    OrtStatusPtr (*CreateSyncStreamForDevice)(OrtEp* self, const OrtMemoryDevice* device,
                                              OrtSyncStreamImpl** out);
    Unused GetCompiledModelCompatibilityInfo;
    OrtStatusPtr (*GetKernelRegistry)(OrtEp* self, const OrtKernelRegistry** out);
    OrtStatusPtr (*IsConcurrentRunSupported)(OrtEp* self, bool* out);
    OrtStatusPtr (*Sync)(OrtEp* self);
    OrtStatusPtr (*CreateProfiler)(OrtEp* self, OrtEpProfilerImpl** out);
    Unused IsGraphCaptureEnabled;
    Unused IsGraphCaptured;
    Unused ReplayGraph;
    Unused GetGraphCaptureNodeAssignmentPolicy;
    Unused GetAvailableResource;
    Unused OnSessionInitializationEnd;
    OrtStatusPtr (*GetDefaultMemoryDevice)(const OrtEp* self, const OrtMemoryDevice** out);
    Unused ReleaseCapturedGraph;
    Unused GetWeightlessSupport;
};

struct OrtEpFactory {
    uint32_t ort_version_supported;
    const char* (*GetName)(const OrtEpFactory* self);
    const char* (*GetVendor)(const OrtEpFactory* self);
    OrtStatusPtr (*GetSupportedDevices)(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                        size_t count, OrtEpDevice** ep_devices, size_t max_ep_devices,
                                        size_t* ep_device_count);
    OrtStatusPtr (*CreateEp)(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                             const OrtKeyValuePairs* const* metadata, size_t count,
                             const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** out);
    void (*ReleaseEp)(OrtEpFactory* self, OrtEp* ep);
    uint32_t (*GetVendorId)(const OrtEpFactory* self);
    const char* (*GetVersion)(const OrtEpFactory* self);
    Unused ValidateCompiledModelCompatibilityInfo;
    OrtStatusPtr (*CreateAllocator)(OrtEpFactory* self, const OrtMemoryInfo* info,
                                    const OrtKeyValuePairs* options, OrtAllocator** out);
    void (*ReleaseAllocator)(OrtEpFactory* self, OrtAllocator* allocator);
    OrtStatusPtr (*CreateDataTransfer)(OrtEpFactory* self, OrtDataTransferImpl** out);
    bool (*IsStreamAware)(const OrtEpFactory* self);
    OrtStatusPtr (*CreateSyncStreamForDevice)(OrtEpFactory* self, const OrtMemoryDevice* device,
                                              const OrtKeyValuePairs* options, OrtSyncStreamImpl** out);
    Unused GetHardwareDeviceIncompatibilityDetails;
    Unused CreateExternalResourceImporterForDevice;
    Unused GetNumCustomOpDomains;
    Unused GetCustomOpDomains;
    Unused InitGraphicsInterop;
    Unused DeinitGraphicsInterop;
    Unused SelectBestModelCandidate;
};

struct OrtCustomOp {
    uint32_t version;
    void* (*CreateKernel)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info);
    const char* (*GetName)(const OrtCustomOp* op);
    const char* (*GetExecutionProviderType)(const OrtCustomOp* op);
    ONNXTensorElementDataType (*GetInputType)(const OrtCustomOp* op, size_t index);
    size_t (*GetInputTypeCount)(const OrtCustomOp* op);
    ONNXTensorElementDataType (*GetOutputType)(const OrtCustomOp* op, size_t index);
    size_t (*GetOutputTypeCount)(const OrtCustomOp* op);
    void (*KernelCompute)(void* kernel, OrtKernelContext* context);
    void (*KernelDestroy)(void* kernel);
    OrtCustomOpInputOutputCharacteristic (*GetInputCharacteristic)(const OrtCustomOp* op, size_t index);
    OrtCustomOpInputOutputCharacteristic (*GetOutputCharacteristic)(const OrtCustomOp* op, size_t index);
    OrtMemType (*GetInputMemoryType)(const OrtCustomOp* op, size_t index);
    int (*GetVariadicInputMinArity)(const OrtCustomOp* op);
    int (*GetVariadicInputHomogeneity)(const OrtCustomOp* op);
    int (*GetVariadicOutputMinArity)(const OrtCustomOp* op);
    int (*GetVariadicOutputHomogeneity)(const OrtCustomOp* op);
    OrtStatusPtr (*CreateKernelV2)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                                   void** out);
    OrtStatusPtr (*KernelComputeV2)(void* kernel, OrtKernelContext* context);
    OrtStatusPtr (*InferOutputShapeFn)(const OrtCustomOp* op, OrtShapeInferContext* context);
    int (*GetStartVersion)(const OrtCustomOp* op);
    int (*GetEndVersion)(const OrtCustomOp* op);
    Unused GetMayInplace;
    Unused ReleaseMayInplace;
    Unused GetAliasMap;
    Unused ReleaseAliasMap;
};

}  // namespace onnx_ascend::ort
