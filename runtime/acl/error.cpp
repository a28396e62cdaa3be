#include "acl/error.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace onnx_ascend {
namespace {

struct CodeEntry {
    int32_t code;
    const char* symbol;
    const char* cause;
    const char* fix;
};

constexpr const char* kDeviceFault =
    "check `npu-smi info` and the device log under ~/ascend/log, then start again";
constexpr const char* kTooSmall = "close other processes on the device or use smaller tensors";
constexpr const char* kPackages = "install the kernel (opp) package of this CANN version for this SoC";

// Sorted by code.
constexpr CodeEntry kCodes[] = {
    {100000, "ACL_ERROR_INVALID_PARAM", "an argument of the call is not valid",
     "report it with this message"},
    {100001, "ACL_ERROR_UNINITIALIZE", "ACL is not initialised",
     "another library in this process finalised ACL; keep it initialised until the last session is gone"},
    {100002, "ACL_ERROR_REPEAT_INITIALIZE", "ACL was initialised before", "nothing needs to be done"},
    {100003, "ACL_ERROR_INVALID_FILE", "a file is missing or not valid", "check the CANN installation"},
    {100026, "ACL_ERROR_UNSUPPORTED_DATA_TYPE", "the data type is not supported", "use float or float16"},
    {100037, "ACL_ERROR_REPEAT_FINALIZE", "ACL was finalised before", "nothing needs to be done"},
    {100039, "ACL_ERROR_COMPILING_STUB_MODE",
     "a stub library for compiling is loaded instead of the real one",
     "take the folders named `stub` or `devlib` out of LD_LIBRARY_PATH"},
    {107000, "ACL_ERROR_RT_PARAM_INVALID", "an argument of the call is not valid",
     "report it with this message"},
    {107001, "ACL_ERROR_RT_INVALID_DEVICEID", "there is no device with this id",
     "use an id below the device count; ASCEND_RT_VISIBLE_DEVICES renumbers the devices from 0"},
    {107002, "ACL_ERROR_RT_CONTEXT_NULL", "the calling thread has no device",
     "another library reset the device under us; create the session again"},
    {107003, "ACL_ERROR_RT_STREAM_CONTEXT", "the stream belongs to another context",
     "pass a stream of the same device"},
    {107008, "ACL_ERROR_RT_ADDR_UNALIGNED", "an address is not aligned",
     "align device addresses to 64 bytes"},
    {107017, "ACL_ERROR_RT_INVALID_HANDLE", "a handle is not valid", "report it with this message"},
    {107019, "ACL_ERROR_RT_WAIT_TIMEOUT", "waiting for the device took too long", kDeviceFault},
    {107020, "ACL_ERROR_RT_TASK_TIMEOUT", "a task on the device took too long", kDeviceFault},
    {148049, "ACL_ERROR_INVALID_OPP_PATH", "the operator package was not found",
     "source CANN's set_env.sh before the process starts"},
    {161001, "ACLNN_ERR_PARAM_NULLPTR", "a tensor or an output pointer is null",
     "report it with this message"},
    {161002, "ACLNN_ERR_PARAM_INVALID",
     "the kernel does not take these data types, shapes or ranks on this SoC",
     "compare them with the kernel's contract (`onnx-ascend doctor` lists the data types of each device)"},
    {200000, "ACL_ERROR_BAD_ALLOC", "host memory ran out", "free memory on the host"},
    {200001, "ACL_ERROR_API_NOT_SUPPORT", "this function is not supported here", "use a newer CANN"},
    {200002, "ACL_ERROR_INVALID_DEVICE", "there is no device with this id",
     "use an id below the device count"},
    {200006, "ACL_ERROR_FEATURE_UNSUPPORTED", "this function is not supported here", "use a newer CANN"},
    {207000, "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "this function is not supported here", "use a newer CANN"},
    {207001, "ACL_ERROR_RT_MEMORY_ALLOCATION", "memory could not be allocated", kTooSmall},
    {207002, "ACL_ERROR_RT_MEMORY_FREE", "device memory could not be freed", "report it with this message"},
    {207004, "ACL_ERROR_RT_NO_DEVICE", "there is no device",
     "check `npu-smi info` and ASCEND_RT_VISIBLE_DEVICES; in a container, map /dev/davinci*"},
    {207005, "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", "a device resource ran out",
     "close sessions or other processes on the device"},
    {207007, "ACL_ERROR_RT_NO_EVENT_RESOURCE", "no event is left on the device", "close other sessions"},
    {207008, "ACL_ERROR_RT_NO_STREAM_RESOURCE", "no stream is left on the device",
     "run fewer threads at once"},
    {207018, "ACL_ERROR_RT_DEVICE_OOM", "device memory ran out during a task", kTooSmall},
    {361001, "ACLNN_ERR_RUNTIME_ERROR", "a call of the ACL runtime failed inside the kernel",
     "the text behind it names that call"},
    {500000, "ACL_ERROR_INTERNAL_ERROR", "ACL failed inside", kDeviceFault},
    {500001, "ACL_ERROR_FAILURE", "ACL failed inside", kDeviceFault},
    {500002, "ACL_ERROR_GE_FAILURE", "the graph engine failed", kDeviceFault},
    {500003, "ACL_ERROR_RT_FAILURE", "the runtime failed", kDeviceFault},
    {500004, "ACL_ERROR_DRV_FAILURE", "the driver failed",
     "check that the driver and firmware fit this CANN"},
    {507000, "ACL_ERROR_RT_INTERNAL_ERROR", "the runtime failed inside", kDeviceFault},
    {507014, "ACL_ERROR_RT_AICORE_TIMEOUT", "a kernel ran into its time limit", kDeviceFault},
    {507015, "ACL_ERROR_RT_AICORE_EXCEPTION", "a kernel failed on an AI core", kDeviceFault},
    {507018, "ACL_ERROR_RT_AICPU_EXCEPTION", "a kernel failed on the AI CPU", kDeviceFault},
    {507033, "ACL_ERROR_RT_DEV_SETUP_ERROR", "the device could not be set up",
     "check `npu-smi info`, the access rights of /dev/davinci* and whether another process holds the device"},
    {507035, "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", "a kernel failed on a vector core", kDeviceFault},
    {507046, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", "waiting for a stream took too long", kDeviceFault},
    {507047, "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT", "waiting for an event took too long", kDeviceFault},
    {507053, "ACL_ERROR_RT_DEVICE_MEM_ERROR", "the device memory has a fault", kDeviceFault},
    {507899, "ACL_ERROR_RT_DRV_INTERNAL_ERROR", "the driver failed inside",
     "check the access rights of /dev/davinci* and that the driver fits this CANN"},
    {561000, "ACLNN_ERR_INNER", "the kernel library failed inside", "the text behind it says where"},
    {561001, "ACLNN_ERR_INNER_INFERSHAPE_ERROR", "the kernel could not work out its shapes", kPackages},
    {561002, "ACLNN_ERR_INNER_TILING_ERROR", "the kernel could not be divided over the cores", kPackages},
    {561003, "ACLNN_ERR_INNER_FIND_KERNEL_ERROR",
     "there is no binary of the kernel for this data type and SoC", kPackages},
    {561101, "ACLNN_ERR_INNER_CREATE_EXECUTOR", "the executor could not be made", "free memory on the host"},
    {561102, "ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR", "the executor was not passed on",
     "report it with this message"},
    {561103, "ACLNN_ERR_INNER_NULLPTR", "a step inside the kernel gave nothing back", kPackages},
    {561107, "ACLNN_ERR_INNER_OPP_PATH_NOT_FOUND", "the operator package was not found",
     "source CANN's set_env.sh before the process starts (it sets ASCEND_OPP_PATH)"},
    {561108, "ACLNN_ERR_INNER_LOAD_JSON_FAILED", "a kernel description could not be read", kPackages},
    {561112, "ACLNN_ERR_INNER_OPP_KERNEL_PKG_NOT_FOUND", "the kernel package for this SoC is not installed",
     kPackages},
    {561113, "ACLNN_ERR_INNER_OP_FILE_INVALID", "a kernel file is not valid", kPackages},
};

std::string one_line(const char* text) {
    std::string line(text, std::min<size_t>(std::strlen(text), 2000));
    std::replace_if(
        line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return line;
}

}  // namespace

std::string code_text(int32_t code) {
    const auto* entry = std::lower_bound(std::begin(kCodes), std::end(kCodes), code,
                                         [](const CodeEntry& e, int32_t value) { return e.code < value; });
    if (entry == std::end(kCodes) || entry->code != code) return std::to_string(code);
    return std::to_string(code) + " (" + entry->symbol + "): " + entry->cause + "; " + entry->fix;
}

std::string failure_text(const char* function, int32_t code, const char* recent) {
    std::string text = std::string(function) + " returned " + code_text(code);
    if (recent != nullptr && *recent != '\0') text += "; ACL says: " + one_line(recent);
    return text;
}

}  // namespace onnx_ascend
