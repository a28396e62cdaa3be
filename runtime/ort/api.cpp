#include "ort/api.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/simulator_notice.h"

namespace onnx_ascend::ort {
namespace {

// "1.24.4" is API version 24. Asking GetApi instead would make an older ONNX Runtime print an error.
uint32_t runtime_version(const OrtApiBase* base) {
    const char* text = base->GetVersionString();
    const char* dot = text == nullptr ? nullptr : std::strchr(text, '.');
    if (dot == nullptr) return 0;
    const auto major = std::strtoul(text, nullptr, 10);
    return major > 1 ? kNewestVersion : static_cast<uint32_t>(std::strtoul(dot + 1, nullptr, 10));
}

struct Instances {
    std::mutex mutex;
    std::map<const OrtApi*, const Ort*> by_api;
};

Instances& instances() {
    static Instances* all = new Instances();
    return *all;
}

template <typename Table, typename Function>
void read_slot(const Table* table, size_t slot, Function& function) {
    std::memcpy(&function, reinterpret_cast<const char*>(table) + slot * sizeof(void*), sizeof function);
}

}  // namespace

const Ort* Ort::negotiate(const OrtApiBase* base, uint32_t oldest) {
    const uint32_t version = std::min(runtime_version(base), kNewestVersion);
    if (version < oldest) return nullptr;
    const OrtApi* api = base->GetApi(version);
    if (api == nullptr) return nullptr;
    Instances& all = instances();
    std::lock_guard<std::mutex> lock(all.mutex);
    const Ort*& ort = all.by_api[api];
    if (ort == nullptr) ort = new Ort(api, version);
    return ort;
}

Ort::Ort(const OrtApi* api, uint32_t version) : version_(version) {
#define ONNX_ASCEND_READ(slot, since, name, result, parameters) \
    if (version >= (since)) read_slot(api, slot, api_.name);
    ONNX_ASCEND_ORT_API(ONNX_ASCEND_READ)
#undef ONNX_ASCEND_READ
    if (version < kOldestPluginVersion) return;
    const OrtEpApi* ep_api = api_.GetEpApi();
#define ONNX_ASCEND_READ(slot, since, name, result, parameters) \
    if (version >= (since)) read_slot(ep_api, slot, ep_api_.name);
    ONNX_ASCEND_ORT_EP_API(ONNX_ASCEND_READ)
#undef ONNX_ASCEND_READ
}

void Ort::log(const OrtLogger* logger, OrtLoggingLevel level, const std::string& message) const {
    if (logger == nullptr || api_.Logger_LogMessage == nullptr) return;
    OrtStatus* status = api_.Logger_LogMessage(logger, level, message.c_str(), "onnx_ascend_ext", 0, "");
    if (status != nullptr) api_.ReleaseStatus(status);
}

bool Ort::shows(const OrtLogger* logger, OrtLoggingLevel level) const {
    if (logger == nullptr || api_.Logger_GetLoggingSeverityLevel == nullptr) return false;
    OrtLoggingLevel least = ORT_LOGGING_LEVEL_FATAL;
    OrtStatus* status = api_.Logger_GetLoggingSeverityLevel(logger, &least);
    if (status != nullptr) api_.ReleaseStatus(status);
    return status == nullptr && level >= least;
}

void Ort::log_simulator_notice(const OrtLogger* logger) const {
    if (!shows(logger, ORT_LOGGING_LEVEL_WARNING)) return;
    if (const char* notice = take_simulator_notice()) log(logger, ORT_LOGGING_LEVEL_WARNING, notice);
}

OrtStatus* Ort::current_exception_status() const noexcept {
    try {
        throw;
    } catch (const StatusError& error) {
        return error.status();
    } catch (const InvalidArgument& error) {
        return api_.CreateStatus(ORT_INVALID_ARGUMENT, error.what());
    } catch (const Error& error) {
        // Not ORT_EP_FAIL: on that, a Python session moves to the CPU unasked and goes on.
        return api_.CreateStatus(ORT_ENGINE_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        return api_.CreateStatus(ORT_RUNTIME_EXCEPTION, "the host has no memory left");
    } catch (const std::exception& error) {
        return api_.CreateStatus(ORT_RUNTIME_EXCEPTION, error.what());
    } catch (...) {
        return api_.CreateStatus(ORT_RUNTIME_EXCEPTION, "an unknown exception");
    }
}

std::string version_text(uint32_t version) {
    return "1." + std::to_string(version);
}

OrtStatus* too_old_status(const OrtApiBase* base, const std::string& door, uint32_t oldest) {
    const OrtApi* api = base->GetApi(1);
    if (api == nullptr) return nullptr;
    ApiFunctions functions;
    read_slot(api, 0, functions.CreateStatus);
    const std::string message = door + " needs ONNX Runtime " + version_text(oldest) +
                                " or newer, and this is " + base->GetVersionString();
    return functions.CreateStatus(ORT_FAIL, message.c_str());
}

}  // namespace onnx_ascend::ort
