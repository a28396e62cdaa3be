// The functions that we call in ONNX Runtime's tables, by slot. A slot never changes, and a newer version
// only has more.
#pragma once

#include "ort/abi.h"

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
    X(130, 1, AddSessionConfigEntry, OrtStatusPtr,                                                          \
      (OrtSessionOptions * options, const char* key, const char* value))                                    \
    X(193, 10, KernelContext_GetGPUComputeStream, OrtStatusPtr,                                             \
      (const OrtKernelContext* context, void** out))                                                        \
    X(237, 14, HasSessionConfigEntry, OrtStatusPtr,                                                         \
      (const OrtSessionOptions* options, const char* key, int* out))                                        \
    X(244, 15, KernelInfo_GetNodeName, OrtStatusPtr, (const OrtKernelInfo* info, char* out, size_t* size))  \
    X(245, 15, KernelInfo_GetLogger, OrtStatusPtr, (const OrtKernelInfo* info, const OrtLogger** out))      \
    X(247, 15, Logger_LogMessage, OrtStatusPtr,                                                             \
      (const OrtLogger* logger, OrtLoggingLevel level, const char* message, const char* file, int line,     \
       const char* function))                                                                               \
    X(248, 15, Logger_GetLoggingSeverityLevel, OrtStatusPtr,                                                \
      (const OrtLogger* logger, OrtLoggingLevel* out))                                                      \
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
    X(384, 23, SyncStream_GetHandle, void*, (OrtSyncStream * stream))                                       \
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
