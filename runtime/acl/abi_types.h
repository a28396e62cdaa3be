// Types and constants of the slice of CANN's C ABI that the runtime and the simulator use, declared by us
// because CANN's own headers are present only where CANN is. Names, values and types are CANN's (ACL 1.17).
// tests/abi compiles every declaration of this file against the official headers. Enumerations name their
// type, the one that compilers give CANN's, because a C caller may pass values that are no enumerators.
#pragma once

#include <cstddef>
#include <cstdint>

// ---- types ----

using aclError = int;
using aclnnStatus = int32_t;

using aclrtStream = void*;
using aclrtEvent = void*;
using aclrtContext = void*;
using aclrtCallback = void (*)(void* userData);

struct aclOpExecutor;
struct aclTensor;
struct aclScalar;
struct aclIntArray;
struct aclFloatArray;
struct aclBoolArray;
struct aclTensorList;
struct aclScalarList;

enum aclDataType : int32_t {
    ACL_DT_UNDEFINED = -1,
    ACL_FLOAT = 0,
    ACL_FLOAT16 = 1,
    ACL_INT8 = 2,
    ACL_INT32 = 3,
    ACL_UINT8 = 4,
    ACL_INT16 = 6,
    ACL_UINT16 = 7,
    ACL_UINT32 = 8,
    ACL_INT64 = 9,
    ACL_UINT64 = 10,
    ACL_DOUBLE = 11,
    ACL_BOOL = 12,
    ACL_STRING = 13,
    ACL_COMPLEX64 = 16,
    ACL_COMPLEX128 = 17,
    ACL_BF16 = 27,
    ACL_INT4 = 29,
    ACL_UINT1 = 30,
    ACL_COMPLEX32 = 33,
    ACL_HIFLOAT8 = 34,
    ACL_FLOAT8_E5M2 = 35,
    ACL_FLOAT8_E4M3FN = 36,
    ACL_FLOAT8_E8M0 = 37,
    ACL_FLOAT6_E3M2 = 38,
    ACL_FLOAT6_E2M3 = 39,
    ACL_FLOAT4_E2M1 = 40,
    ACL_FLOAT4_E1M2 = 41,
};

enum aclFormat : int32_t {
    ACL_FORMAT_UNDEFINED = -1,
    ACL_FORMAT_NCHW = 0,
    ACL_FORMAT_NHWC = 1,
    ACL_FORMAT_ND = 2,
    ACL_FORMAT_NC1HWC0 = 3,
    ACL_FORMAT_FRACTAL_Z = 4,
    ACL_FORMAT_NC1HWC0_C04 = 12,
    ACL_FORMAT_HWCN = 16,
    ACL_FORMAT_NDHWC = 27,
    ACL_FORMAT_FRACTAL_NZ = 29,
    ACL_FORMAT_NCDHW = 30,
    ACL_FORMAT_NDC1HWC0 = 32,
    ACL_FRACTAL_Z_3D = 33,
    ACL_FORMAT_NC = 35,
    ACL_FORMAT_NCL = 47,
    ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
    ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
    ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
    ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
    ACL_FORMAT_FRACTAL_NZ_C0_8 = 54,
};

enum aclrtRunMode : uint32_t {
    ACL_DEVICE,
    ACL_HOST,
};

enum aclrtEventRecordedStatus : uint32_t {
    ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
    ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
};

enum aclrtEventWaitStatus : uint32_t {
    ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
    ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
    ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF,
};

enum aclrtStreamStatus : uint32_t {
    ACL_STREAM_STATUS_COMPLETE = 0,
    ACL_STREAM_STATUS_NOT_READY = 1,
    ACL_STREAM_STATUS_RESERVED = 0xFFFF,
};

enum aclrtCallbackBlockType : uint32_t {
    ACL_CALLBACK_NO_BLOCK,
    ACL_CALLBACK_BLOCK,
};

enum aclrtMemcpyKind : uint32_t {
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEFAULT,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE,
};

enum aclrtMemMallocPolicy : uint32_t {
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEM_MALLOC_HUGE_ONLY,
    ACL_MEM_MALLOC_NORMAL_ONLY,
    ACL_MEM_MALLOC_HUGE_FIRST_P2P,
    ACL_MEM_MALLOC_HUGE_ONLY_P2P,
    ACL_MEM_MALLOC_NORMAL_ONLY_P2P,
    ACL_MEM_MALLOC_HUGE1G_ONLY,
    ACL_MEM_MALLOC_HUGE1G_ONLY_P2P,
    ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
    ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
    ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000,
};

enum aclrtMemAttr : uint32_t {
    ACL_DDR_MEM,
    ACL_HBM_MEM,
    ACL_DDR_MEM_HUGE,
    ACL_DDR_MEM_NORMAL,
    ACL_HBM_MEM_HUGE,
    ACL_HBM_MEM_NORMAL,
    ACL_DDR_MEM_P2P_HUGE,
    ACL_DDR_MEM_P2P_NORMAL,
    ACL_HBM_MEM_P2P_HUGE,
    ACL_HBM_MEM_P2P_NORMAL,
    ACL_HBM_MEM_HUGE1G,
    ACL_HBM_MEM_P2P_HUGE1G,
    ACL_MEM_NORMAL,
    ACL_MEM_HUGE,
    ACL_MEM_HUGE1G,
    ACL_MEM_P2P_NORMAL,
    ACL_MEM_P2P_HUGE,
    ACL_MEM_P2P_HUGE1G,
};

enum aclrtMallocAttrType : uint32_t {
    ACL_RT_MEM_ATTR_RSV = 0,
    ACL_RT_MEM_ATTR_MODULE_ID,
    ACL_RT_MEM_ATTR_DEVICE_ID,
    ACL_RT_MEM_ATTR_VA_FLAG,
};

union aclrtMallocAttrValue {
    uint16_t moduleId;
    uint32_t deviceId;
    uint32_t vaFlag;
    uint8_t rsv[8];
};

struct aclrtMallocAttribute {
    aclrtMallocAttrType attr;
    aclrtMallocAttrValue value;
};

struct aclrtMallocConfig {
    aclrtMallocAttribute* attrs;
    size_t numAttrs;
};

enum aclrtMemLocationType : uint32_t {
    ACL_MEM_LOCATION_TYPE_HOST = 0,
    ACL_MEM_LOCATION_TYPE_DEVICE,
    ACL_MEM_LOCATION_TYPE_UNREGISTERED,
    ACL_MEM_LOCATION_TYPE_HOST_NUMA = 4,
};

struct aclrtMemLocation {
    uint32_t id;
    aclrtMemLocationType type;
};

struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize;
    uint32_t rsv[4];
};

struct aclrtStreamConfigHandle {
    void* workptr;
    size_t workSize;
    size_t flag;
    uint32_t priority;
};

enum aclrtFloatOverflowMode : uint32_t {
    ACL_RT_OVERFLOW_MODE_SATURATION = 0,
    ACL_RT_OVERFLOW_MODE_INFNAN,
    ACL_RT_OVERFLOW_MODE_UNDEF,
};

enum aclSysParamOpt : uint32_t {
    ACL_OPT_DETERMINISTIC = 0,
    ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
    ACL_OPT_STRONG_CONSISTENCY = 2,
};

enum aclCannAttr : int32_t {
    ACL_CANN_ATTR_UNDEFINED = -1,
    ACL_CANN_ATTR_INF_NAN = 0,
    ACL_CANN_ATTR_BF16 = 1,
    ACL_CANN_ATTR_JIT_COMPILE = 2,
};

enum aclDeviceInfo : int32_t {
    ACL_DEVICE_INFO_UNDEFINED = -1,
    ACL_DEVICE_INFO_AI_CORE_NUM = 0,
    ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
    ACL_DEVICE_INFO_L2_SIZE = 2,
};

enum aclrtDevResLimitType : uint32_t {
    ACL_RT_DEV_RES_CUBE_CORE = 0,
    ACL_RT_DEV_RES_VECTOR_CORE,
};

enum aclrtLastErrLevel : uint32_t {
    ACL_RT_THREAD_LEVEL = 0,
};

// ---- constants (macros or static ints in the official headers) ----

constexpr uint32_t ACL_EVENT_SYNC = 0x00000001U;
constexpr uint32_t ACL_EVENT_CAPTURE_STREAM_PROGRESS = 0x00000002U;
constexpr uint32_t ACL_EVENT_TIME_LINE = 0x00000008U;
constexpr uint32_t ACL_EVENT_DEVICE_USE_ONLY = 0x00000010U;
constexpr uint32_t ACL_EVENT_EXTERNAL = 0x00000020U;
constexpr uint32_t ACL_EVENT_IPC = 0x00000040U;

constexpr uint32_t ACL_STREAM_FAST_LAUNCH = 0x00000001U;
constexpr uint32_t ACL_STREAM_FAST_SYNC = 0x00000002U;
constexpr uint32_t ACL_STREAM_PERSISTENT = 0x00000004U;
constexpr uint32_t ACL_STREAM_HUGE = 0x00000008U;
constexpr uint32_t ACL_STREAM_CPU_SCHEDULE = 0x00000010U;
constexpr uint32_t ACL_STREAM_DEVICE_USE_ONLY = 0x00000020U;

constexpr aclError ACL_SUCCESS = 0;
constexpr aclError ACL_ERROR_INVALID_PARAM = 100000;
constexpr aclError ACL_ERROR_UNINITIALIZE = 100001;
constexpr aclError ACL_ERROR_REPEAT_INITIALIZE = 100002;
constexpr aclError ACL_ERROR_INVALID_FILE = 100003;
constexpr aclError ACL_ERROR_PARSE_FILE = 100006;
constexpr aclError ACL_ERROR_UNSUPPORTED_DATA_TYPE = 100026;
constexpr aclError ACL_ERROR_REPEAT_FINALIZE = 100037;
constexpr aclError ACL_ERROR_COMPILING_STUB_MODE = 100039;
constexpr aclError ACL_ERROR_INVALID_OPP_PATH = 148049;
constexpr aclError ACL_ERROR_BAD_ALLOC = 200000;
constexpr aclError ACL_ERROR_API_NOT_SUPPORT = 200001;
constexpr aclError ACL_ERROR_INVALID_DEVICE = 200002;
constexpr aclError ACL_ERROR_MEMORY_ADDRESS_UNALIGNED = 200003;
constexpr aclError ACL_ERROR_FEATURE_UNSUPPORTED = 200006;
constexpr aclError ACL_ERROR_STORAGE_OVER_LIMIT = 300000;
constexpr aclError ACL_ERROR_INTERNAL_ERROR = 500000;
constexpr aclError ACL_ERROR_FAILURE = 500001;
constexpr aclError ACL_ERROR_GE_FAILURE = 500002;
constexpr aclError ACL_ERROR_RT_FAILURE = 500003;
constexpr aclError ACL_ERROR_DRV_FAILURE = 500004;
constexpr aclError ACL_ERROR_PROFILING_FAILURE = 500005;

constexpr aclError ACL_ERROR_RT_PARAM_INVALID = 107000;
constexpr aclError ACL_ERROR_RT_INVALID_DEVICEID = 107001;
constexpr aclError ACL_ERROR_RT_CONTEXT_NULL = 107002;
constexpr aclError ACL_ERROR_RT_STREAM_CONTEXT = 107003;
constexpr aclError ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID = 107006;
constexpr aclError ACL_ERROR_RT_ADDR_UNALIGNED = 107008;
constexpr aclError ACL_ERROR_RT_STREAM_SUBSCRIBE = 107011;
constexpr aclError ACL_ERROR_RT_THREAD_SUBSCRIBE = 107012;
constexpr aclError ACL_ERROR_RT_STREAM_NO_CB_REG = 107015;
constexpr aclError ACL_ERROR_RT_INVALID_HANDLE = 107017;
constexpr aclError ACL_ERROR_RT_WAIT_TIMEOUT = 107019;
constexpr aclError ACL_ERROR_RT_TASK_TIMEOUT = 107020;
constexpr aclError ACL_ERROR_RT_FEATURE_NOT_SUPPORT = 207000;
constexpr aclError ACL_ERROR_RT_MEMORY_ALLOCATION = 207001;
constexpr aclError ACL_ERROR_RT_MEMORY_FREE = 207002;
constexpr aclError ACL_ERROR_RT_NO_DEVICE = 207004;
constexpr aclError ACL_ERROR_RT_RESOURCE_ALLOC_FAIL = 207005;
constexpr aclError ACL_ERROR_RT_NO_EVENT_RESOURCE = 207007;
constexpr aclError ACL_ERROR_RT_NO_STREAM_RESOURCE = 207008;
constexpr aclError ACL_ERROR_RT_DEVICE_OOM = 207018;
constexpr aclError ACL_ERROR_RT_INTERNAL_ERROR = 507000;
constexpr aclError ACL_ERROR_RT_STREAM_NOT_COMPLETE = 507004;
constexpr aclError ACL_ERROR_RT_EVENT_NOT_COMPLETE = 507006;
constexpr aclError ACL_ERROR_RT_REPORT_TIMEOUT = 507012;
constexpr aclError ACL_ERROR_RT_AICORE_TIMEOUT = 507014;
constexpr aclError ACL_ERROR_RT_AICORE_EXCEPTION = 507015;
constexpr aclError ACL_ERROR_RT_AICPU_EXCEPTION = 507018;
constexpr aclError ACL_ERROR_RT_DEV_SETUP_ERROR = 507033;
constexpr aclError ACL_ERROR_RT_VECTOR_CORE_EXCEPTION = 507035;
constexpr aclError ACL_ERROR_RT_STREAM_SYNC_TIMEOUT = 507046;
constexpr aclError ACL_ERROR_RT_EVENT_SYNC_TIMEOUT = 507047;
constexpr aclError ACL_ERROR_RT_DEVICE_MEM_ERROR = 507053;
constexpr aclError ACL_ERROR_RT_DRV_INTERNAL_ERROR = 507899;

// ---- constants of libnnopbase (opdev/op_errno.h; not among the ACL headers) ----

constexpr aclnnStatus ACLNN_SUCCESS = 0;
constexpr aclnnStatus ACLNN_ERR_PARAM_NULLPTR = 161001;
constexpr aclnnStatus ACLNN_ERR_PARAM_INVALID = 161002;
constexpr aclnnStatus ACLNN_ERR_RUNTIME_ERROR = 361001;
constexpr aclnnStatus ACLNN_ERR_INNER = 561000;
constexpr aclnnStatus ACLNN_ERR_INNER_INFERSHAPE_ERROR = 561001;
constexpr aclnnStatus ACLNN_ERR_INNER_TILING_ERROR = 561002;
constexpr aclnnStatus ACLNN_ERR_INNER_FIND_KERNEL_ERROR = 561003;
constexpr aclnnStatus ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101;
constexpr aclnnStatus ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR = 561102;
constexpr aclnnStatus ACLNN_ERR_INNER_NULLPTR = 561103;
constexpr aclnnStatus ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND = 561107;
constexpr aclnnStatus ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND = 561112;
