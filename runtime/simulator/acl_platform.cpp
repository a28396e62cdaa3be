// CANN's questions about the machine and its devices, and process-wide options.
#include <atomic>

#include "simulator/context.h"
#include "simulator/element_type.h"
#include "simulator/platform.h"
#include "simulator/process.h"
#include "simulator/settings.h"

namespace onnx_ascend::simulator {
namespace {

constexpr size_t option_count = 3;

struct Options {
    std::atomic<int64_t> values[option_count]{};
};

Options& options() {
    static Options& instance = *new Options;
    return instance;
}

int get_option(aclSysParamOpt opt, int64_t* value) {
    if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "value is nullptr");
    const auto index = static_cast<size_t>(opt);
    if (index >= option_count)
        return fail(ACL_ERROR_INVALID_PARAM, "option %d is unknown", static_cast<int>(opt));
    *value = options().values[index].load();
    return ACL_SUCCESS;
}

int set_option(aclSysParamOpt opt, int64_t value) {
    const auto index = static_cast<size_t>(opt);
    if (index >= option_count)
        return fail(ACL_ERROR_INVALID_PARAM, "option %d is unknown", static_cast<int>(opt));
    options().values[index].store(value);
    return ACL_SUCCESS;
}

}  // namespace

int64_t deterministic_level() {
    return options().values[ACL_OPT_DETERMINISTIC].load(std::memory_order_relaxed);
}

}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtGetSocName);
ONNX_ASCEND_CALL_POINT(aclrtGetRunMode);
ONNX_ASCEND_CALL_POINT(aclrtGetVersion);
ONNX_ASCEND_CALL_POINT(aclGetCannAttribute);
ONNX_ASCEND_CALL_POINT(aclGetDeviceCapability);
ONNX_ASCEND_CALL_POINT(aclDataTypeSize);
ONNX_ASCEND_CALL_POINT(aclrtGetDeviceCount);
ONNX_ASCEND_CALL_POINT(aclrtSetDeviceSatMode);
ONNX_ASCEND_CALL_POINT(aclrtGetDeviceSatMode);
ONNX_ASCEND_CALL_POINT(aclrtGetSysParamOpt);
ONNX_ASCEND_CALL_POINT(aclrtSetSysParamOpt);
ONNX_ASCEND_CALL_POINT(aclrtCtxGetSysParamOpt);
ONNX_ASCEND_CALL_POINT(aclrtCtxSetSysParamOpt);
ONNX_ASCEND_CALL_POINT(aclrtGetResInCurrentThread);

const char* aclrtGetSocName() {
    return guarded_pointer(call_aclrtGetSocName, [] { return settings().soc.name.c_str(); });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
    return guarded(call_aclrtGetRunMode, [&]() -> int {
        if (runMode == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "runMode is nullptr");
        *runMode = settings().run_mode;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
    return guarded(call_aclrtGetVersion, [&]() -> int {
        if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr) {
            return fail(ACL_ERROR_INVALID_PARAM, "a pointer is nullptr");
        }
        *majorVersion = 1;
        *minorVersion = 17;
        *patchVersion = 0;
        return ACL_SUCCESS;
    });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
    return guarded(call_aclGetCannAttribute, [&]() -> int {
        if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "value is nullptr");
        switch (cannAttr) {
            // INF_NAN arithmetic came with the same chips as bfloat16.
            case ACL_CANN_ATTR_INF_NAN:
            case ACL_CANN_ATTR_BF16:
                *value = settings().soc.bfloat16() ? 1 : 0;
                return ACL_SUCCESS;
            case ACL_CANN_ATTR_JIT_COMPILE:
                *value = 0;
                return ACL_SUCCESS;
            default:
                return fail(ACL_ERROR_INVALID_PARAM, "attribute %d is unknown", static_cast<int>(cannAttr));
        }
    });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
    return guarded(call_aclGetDeviceCapability, [&]() -> int {
        if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "value is nullptr");
        if (deviceId >= settings().visible.size()) {
            return fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %u is not in [0, %zu)", deviceId,
                        settings().visible.size());
        }
        const Soc& soc = settings().soc;
        switch (deviceInfo) {
            case ACL_DEVICE_INFO_AI_CORE_NUM:
                *value = soc.cube_cores;
                return ACL_SUCCESS;
            case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
                *value = soc.vector_cores;
                return ACL_SUCCESS;
            case ACL_DEVICE_INFO_L2_SIZE:
                *value = static_cast<int64_t>(soc.l2_cache);
                return ACL_SUCCESS;
            default:
                return fail(ACL_ERROR_INVALID_PARAM, "device info %d is unknown",
                            static_cast<int>(deviceInfo));
        }
    });
}

size_t aclDataTypeSize(aclDataType dataType) {
    return call_aclDataTypeSize.enter() == ACL_SUCCESS ? element_size(dataType) : 0;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
    return guarded(call_aclrtGetDeviceCount, [&]() -> int {
        if (count == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "count is nullptr");
        const std::string& fault = settings().visible_devices_fault;
        if (!fault.empty()) return fail(ACL_ERROR_RT_NO_DEVICE, "%s", fault.c_str());
        *count = static_cast<uint32_t>(settings().visible.size());
        return ACL_SUCCESS;
    });
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    return guarded(call_aclrtSetDeviceSatMode, [&]() -> int {
        if (current_context() == nullptr) return refuse_without_context();
        if (mode == ACL_RT_OVERFLOW_MODE_INFNAN) return ACL_SUCCESS;
        return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the simulator computes in INFNAN mode only");
    });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
    return guarded(call_aclrtGetDeviceSatMode, [&]() -> int {
        if (mode == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "mode is nullptr");
        if (current_context() == nullptr) return refuse_without_context();
        *mode = ACL_RT_OVERFLOW_MODE_INFNAN;
        return ACL_SUCCESS;
    });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return guarded(call_aclrtGetSysParamOpt, [&] { return get_option(opt, value); });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return guarded(call_aclrtSetSysParamOpt, [&] { return set_option(opt, value); });
}

// One set of options for all contexts: the kernels here are deterministic whatever the options say.

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
    return guarded(call_aclrtCtxGetSysParamOpt, [&]() -> int {
        if (current_context() == nullptr) return refuse_without_context();
        return get_option(opt, value);
    });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return guarded(call_aclrtCtxSetSysParamOpt, [&]() -> int {
        if (current_context() == nullptr) return refuse_without_context();
        return set_option(opt, value);
    });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
    return guarded(call_aclrtGetResInCurrentThread, [&]() -> int {
        if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "value is nullptr");
        if (current_context() == nullptr) return refuse_without_context();
        switch (type) {
            case ACL_RT_DEV_RES_CUBE_CORE:
                *value = settings().soc.cube_cores;
                return ACL_SUCCESS;
            case ACL_RT_DEV_RES_VECTOR_CORE:
                *value = settings().soc.vector_cores;
                return ACL_SUCCESS;
        }
        return fail(ACL_ERROR_INVALID_PARAM, "type %d is unknown", static_cast<int>(type));
    });
}
