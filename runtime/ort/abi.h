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

enum OrtErrorCode {
    ORT_OK = 0,
    ORT_FAIL = 1,
    ORT_INVALID_ARGUMENT = 2,
    ORT_NOT_IMPLEMENTED = 9,
    ORT_EP_FAIL = 11
};

enum OrtLoggingLevel {
    ORT_LOGGING_LEVEL_VERBOSE = 0,
    ORT_LOGGING_LEVEL_INFO = 1,
    ORT_LOGGING_LEVEL_WARNING = 2,
    ORT_LOGGING_LEVEL_ERROR = 3,
    ORT_LOGGING_LEVEL_FATAL = 4,
};

enum OrtHardwareDeviceType {
    OrtHardwareDeviceType_CPU = 0,
    OrtHardwareDeviceType_GPU = 1,
    OrtHardwareDeviceType_NPU = 2,
};

enum OrtMemoryInfoDeviceType {
    OrtMemoryInfoDeviceType_CPU = 0,
    OrtMemoryInfoDeviceType_GPU = 1,
    OrtMemoryInfoDeviceType_FPGA = 2,
    OrtMemoryInfoDeviceType_NPU = 3,
};

enum OrtDeviceMemoryType { OrtDeviceMemoryType_DEFAULT = 0, OrtDeviceMemoryType_HOST_ACCESSIBLE = 5 };

enum OrtAllocatorType { OrtInvalidAllocator = -1, OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };

enum OrtMemType { OrtMemTypeCPUInput = -2, OrtMemTypeCPUOutput = -1, OrtMemTypeDefault = 0 };

enum OrtCustomOpInputOutputCharacteristic { INPUT_OUTPUT_REQUIRED = 0 };

enum ONNXType { ONNX_TYPE_UNKNOWN = 0, ONNX_TYPE_TENSOR = 1 };

enum OrtProfilingEventCategory { OrtProfilingEventCategory_KERNEL = 2 };

// The numbers of onnx.TensorProto.DataType.
using ONNXTensorElementDataType = int32_t;

using OrtStatusPtr = OrtStatus*;

// ---- tables that ONNX Runtime fills ----

struct OrtApiBase {
    const OrtApi* (*GetApi)(uint32_t version);
    const char* (*GetVersionString)();
};

// X(slot, since, name, result, parameters): slot in OrtApi, first version that has it.
#define ONNX_ASCEND_ORT_API(X)                                                                              \
    X(0, 1, CreateStatus, OrtStatus*, (OrtErrorCode code, const char* message))                             \
    X(2, 1, GetErrorMessage, const char*, (const OrtStatus* status))                                        \
    X(26, 1, CreateCustomOpDomain, OrtStatusPtr, (const char* domain, OrtCustomOpDomain** out))             \
    X(27, 1, CustomOpDomain_Add, OrtStatusPtr, (OrtCustomOpDomain * domain, const OrtCustomOp* op))         \
    X(28, 1, AddCustomOpDomain, OrtStatusPtr, (OrtSessionOptions * options, OrtCustomOpDomain * domain))    \
    X(51, 1, GetTensorMutableData, OrtStatusPtr, (OrtValue * value, void** out))                            \
    X(55, 1, CastTypeInfoToTensorInfo, OrtStatusPtr,                                                        \
      (const OrtTypeInfo* type_info, const OrtTensorTypeAndShapeInfo** out))                                \
    X(57, 1, CreateTensorTypeAndShapeInfo, OrtStatusPtr, (OrtTensorTypeAndShapeInfo * *out))                \
    X(58, 1, SetTensorElementType, OrtStatusPtr,                                                            \
      (OrtTensorTypeAndShapeInfo * info, ONNXTensorElementDataType type))                                   \
    X(59, 1, SetDimensions, OrtStatusPtr,                                                                   \
      (OrtTensorTypeAndShapeInfo * info, const int64_t* dims, size_t rank))                                 \
    X(60, 1, GetTensorElementType, OrtStatusPtr,                                                            \
      (const OrtTensorTypeAndShapeInfo* info, ONNXTensorElementDataType* out))                              \
    X(61, 1, GetDimensionsCount, OrtStatusPtr, (const OrtTensorTypeAndShapeInfo* info, size_t* out))        \
    X(62, 1, GetDimensions, OrtStatusPtr,                                                                   \
      (const OrtTensorTypeAndShapeInfo* info, int64_t* dims, size_t rank))                                  \
    X(63, 1, GetSymbolicDimensions, OrtStatusPtr,                                                           \
      (const OrtTensorTypeAndShapeInfo* info, const char** names, size_t rank))                             \
    X(65, 1, GetTensorTypeAndShape, OrtStatusPtr, (const OrtValue* value, OrtTensorTypeAndShapeInfo** out)) \
    X(90, 1, KernelContext_GetInput, OrtStatusPtr,                                                          \
      (const OrtKernelContext* context, size_t index, const OrtValue** out))                                \
    X(91, 1, KernelContext_GetOutput, OrtStatusPtr,                                                         \
      (OrtKernelContext * context, size_t index, const int64_t* dims, size_t rank, OrtValue** out))         \
    X(93, 1, ReleaseStatus, void, (OrtStatus * status))                                                     \
    X(94, 1, ReleaseMemoryInfo, void, (OrtMemoryInfo * info))                                               \
    X(99, 1, ReleaseTensorTypeAndShapeInfo, void, (OrtTensorTypeAndShapeInfo * info))                       \
    X(101, 1, ReleaseCustomOpDomain, void, (OrtCustomOpDomain * domain))                                    \
    X(193, 10, KernelContext_GetGPUComputeStream, OrtStatusPtr,                                             \
      (const OrtKernelContext* context, void** out))                                                        \
    X(244, 15, KernelInfo_GetNodeName, OrtStatusPtr, (const OrtKernelInfo* info, char* out, size_t* size))  \
    X(247, 15, Logger_LogMessage, OrtStatusPtr,                                                             \
      (const OrtLogger* logger, OrtLoggingLevel level, const char* message, const char* file, int line,     \
       const char* function))                                                                               \
    X(268, 17, ShapeInferContext_GetInputTypeShape, OrtStatusPtr,                                           \
      (const OrtShapeInferContext* context, size_t index, OrtTensorTypeAndShapeInfo** info))                \
    X(270, 17, ShapeInferContext_SetOutputTypeShape, OrtStatusPtr,                                          \
      (const OrtShapeInferContext* context, size_t index, const OrtTensorTypeAndShapeInfo* info))           \
    X(271, 17, SetSymbolicDimensions, OrtStatusPtr,                                                         \
      (OrtTensorTypeAndShapeInfo * info, const char** names, size_t rank))                                  \
    X(289, 22, GetValueInfoName, OrtStatusPtr, (const OrtValueInfo* value, const char** out))               \
    X(290, 22, GetValueInfoTypeInfo, OrtStatusPtr, (const OrtValueInfo* value, const OrtTypeInfo** out))    \
    X(295, 22, CreateKeyValuePairs, void, (OrtKeyValuePairs * *out))                                        \
    X(296, 22, AddKeyValuePair, void, (OrtKeyValuePairs * pairs, const char* key, const char* value))       \
    X(297, 22, GetKeyValue, const char*, (const OrtKeyValuePairs* pairs, const char* key))                  \
    X(298, 22, GetKeyValuePairs, void,                                                                      \
      (const OrtKeyValuePairs* pairs, const char* const** keys, const char* const** values, size_t* count)) \
    X(300, 22, ReleaseKeyValuePairs, void, (OrtKeyValuePairs * pairs))                                      \
    X(307, 22, HardwareDevice_Type, OrtHardwareDeviceType, (const OrtHardwareDevice* device))               \
    X(308, 22, HardwareDevice_VendorId, uint32_t, (const OrtHardwareDevice* device))                        \
    X(317, 22, GetEpApi, const OrtEpApi*, ())                                                               \
    X(318, 23, GetTensorSizeInBytes, OrtStatusPtr, (const OrtValue* value, size_t* out))                    \
    X(320, 23, CreateMemoryInfo_V2, OrtStatusPtr,                                                           \
      (const char* name, OrtMemoryInfoDeviceType type, uint32_t vendor, int32_t device,                     \
       OrtDeviceMemoryType memory, size_t alignment, OrtAllocatorType allocator, OrtMemoryInfo** out))      \
    X(344, 23, Graph_GetNumNodes, OrtStatusPtr, (const OrtGraph* graph, size_t* out))                       \
    X(345, 23, Graph_GetNodes, OrtStatusPtr, (const OrtGraph* graph, const OrtNode** nodes, size_t count))  \
    X(349, 23, Node_GetName, OrtStatusPtr, (const OrtNode* node, const char** out))                         \
    X(350, 23, Node_GetOperatorType, OrtStatusPtr, (const OrtNode* node, const char** out))                 \
    X(351, 23, Node_GetDomain, OrtStatusPtr, (const OrtNode* node, const char** out))                       \
    X(353, 23, Node_GetNumInputs, OrtStatusPtr, (const OrtNode* node, size_t* out))                         \
    X(354, 23, Node_GetInputs, OrtStatusPtr,                                                                \
      (const OrtNode* node, const OrtValueInfo** inputs, size_t count))                                     \
    X(355, 23, Node_GetNumOutputs, OrtStatusPtr, (const OrtNode* node, size_t* out))                        \
    X(356, 23, Node_GetOutputs, OrtStatusPtr,                                                               \
      (const OrtNode* node, const OrtValueInfo** outputs, size_t count))                                    \
    X(368, 23, Node_GetEpName, OrtStatusPtr, (const OrtNode* node, const char** out))                       \
    X(378, 23, GetTensorData, OrtStatusPtr, (const OrtValue* value, const void** out))                      \
    X(379, 23, GetSessionOptionsConfigEntries, OrtStatusPtr,                                                \
      (const OrtSessionOptions* options, OrtKeyValuePairs** out))                                           \
    X(390, 24, TensorTypeAndShape_HasShape, bool, (const OrtTensorTypeAndShapeInfo* info))                  \
    X(414, 24, GetTensorElementTypeAndShapeDataReference, OrtStatusPtr,                                     \
      (const OrtValue* value, ONNXTensorElementDataType* type, const int64_t** dims, size_t* rank))

// The same for OrtEpApi.
#define ONNX_ASCEND_ORT_EP_API(X)                                                                            \
    X(0, 22, CreateEpDevice, OrtStatusPtr,                                                                   \
      (OrtEpFactory * factory, const OrtHardwareDevice* hardware, const OrtKeyValuePairs* metadata,          \
       const OrtKeyValuePairs* options, OrtEpDevice** out))                                                  \
    X(1, 22, ReleaseEpDevice, void, (OrtEpDevice * device))                                                  \
    X(2, 23, EpGraphSupportInfo_AddNodesToFuse, OrtStatusPtr,                                                \
      (OrtEpGraphSupportInfo * info, const OrtNode* const* nodes, size_t count,                              \
       const OrtNodeFusionOptions* options))                                                                 \
    X(5, 23, EpDevice_AddAllocatorInfo, OrtStatusPtr, (OrtEpDevice * device, const OrtMemoryInfo* info))     \
    X(6, 23, MemoryInfo_GetMemoryDevice, const OrtMemoryDevice*, (const OrtMemoryInfo* info))                \
    X(7, 23, Value_GetMemoryDevice, const OrtMemoryDevice*, (const OrtValue* value))                         \
    X(9, 23, MemoryDevice_GetDeviceType, OrtMemoryInfoDeviceType, (const OrtMemoryDevice* device))           \
    X(10, 23, MemoryDevice_GetMemoryType, OrtDeviceMemoryType, (const OrtMemoryDevice* device))              \
    X(11, 23, MemoryDevice_GetVendorId, uint32_t, (const OrtMemoryDevice* device))                           \
    X(12, 23, MemoryDevice_GetDeviceId, uint32_t, (const OrtMemoryDevice* device))                           \
    X(13, 23, SyncStream_GetImpl, const OrtSyncStreamImpl*, (const OrtSyncStream* stream))                   \
    X(16, 24, CreateHardwareDevice, OrtStatusPtr,                                                            \
      (OrtHardwareDeviceType type, uint32_t vendor, uint32_t device, const char* vendor_name,                \
       const OrtKeyValuePairs* metadata, OrtHardwareDevice** out))                                           \
    X(17, 24, ReleaseHardwareDevice, void, (OrtHardwareDevice * device))                                     \
    X(18, 24, CreateKernelRegistry, OrtStatusPtr, (OrtKernelRegistry * *out))                                \
    X(19, 24, ReleaseKernelRegistry, void, (OrtKernelRegistry * registry))                                   \
    X(20, 24, KernelRegistry_AddKernel, OrtStatusPtr,                                                        \
      (OrtKernelRegistry * registry, const OrtKernelDef* definition, OrtKernelCreateFunc create,             \
       void* state))                                                                                         \
    X(21, 24, CreateKernelDefBuilder, OrtStatusPtr, (OrtKernelDefBuilder * *out))                            \
    X(22, 24, ReleaseKernelDefBuilder, void, (OrtKernelDefBuilder * builder))                                \
    X(23, 24, KernelDefBuilder_SetOperatorType, OrtStatusPtr,                                                \
      (OrtKernelDefBuilder * builder, const char* type))                                                     \
    X(24, 24, KernelDefBuilder_SetDomain, OrtStatusPtr, (OrtKernelDefBuilder * builder, const char* domain)) \
    X(25, 24, KernelDefBuilder_SetSinceVersion, OrtStatusPtr,                                                \
      (OrtKernelDefBuilder * builder, int first, int last))                                                  \
    X(26, 24, KernelDefBuilder_SetExecutionProvider, OrtStatusPtr,                                           \
      (OrtKernelDefBuilder * builder, const char* name))                                                     \
    X(27, 24, KernelDefBuilder_SetInputMemType, OrtStatusPtr,                                                \
      (OrtKernelDefBuilder * builder, size_t index, OrtMemType type))                                        \
    X(28, 24, KernelDefBuilder_SetOutputMemType, OrtStatusPtr,                                               \
      (OrtKernelDefBuilder * builder, size_t index, OrtMemType type))                                        \
    X(29, 24, KernelDefBuilder_AddTypeConstraint, OrtStatusPtr,                                              \
      (OrtKernelDefBuilder * builder, const char* name, const OrtDataType* const* types, size_t count))      \
    X(32, 24, KernelDefBuilder_Build, OrtStatusPtr, (OrtKernelDefBuilder * builder, OrtKernelDef * *out))    \
    X(33, 24, ReleaseKernelDef, void, (OrtKernelDef * definition))                                           \
    X(40, 24, GetTensorDataType, OrtStatusPtr, (ONNXTensorElementDataType type, const OrtDataType** out))    \
    X(65, 25, CreateProfilingEvent, OrtStatusPtr,                                                            \
      (OrtProfilingEventCategory category, int32_t process, int32_t thread, const char* name,                \
       int64_t timestamp_us, int64_t duration_us, const char* const* keys, const char* const* values,        \
       size_t count, OrtProfilingEvent** out))                                                               \
    X(66, 25, ReleaseProfilingEvent, void, (OrtProfilingEvent * event))                                      \
    X(72, 25, ProfilingEventsContainer_AddEvents, OrtStatusPtr,                                              \
      (OrtProfilingEventsContainer * container, const OrtProfilingEvent* const* events, size_t count))

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
