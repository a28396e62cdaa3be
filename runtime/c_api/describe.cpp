#include <cstring>

#include "acl/device.h"
#include "c_api/json.h"
#include "c_api/onnx_ascend_ext.h"
#include "dispatch/kernel.h"
#include "dispatch/soc.h"
#include "ort/names.h"
#include "ort/unclaimed.h"

using namespace onnx_ascend;

namespace {

// The outcome of starting ACL: the instance, or why there is none.
struct Started {
    Acl* acl = nullptr;
    std::string error;
};

Started start() {
    try {
        Acl& acl = Acl::instance();
        acl.require_same_process();
        return {&acl, acl.device_count() > 0
                          ? ""
                          : "ACL shows no device; check `npu-smi info`, ASCEND_RT_VISIBLE_DEVICES "
                            "and, in a container, that /dev/davinci* is mapped"};
    } catch (const Error& error) {
        return {nullptr, error.what()};
    }
}

void write_searched(JsonWriter& json, const Libraries& libraries) {
    json.key("searched").begin_array();
    for (const SearchedLibrary& place : libraries.searched()) {
        json.begin_object();
        json.key("library").string(place.library);
        json.key("path").string(place.path);
        json.key("found").boolean(place.found);
        json.key("error").string_or_null(place.error);
        json.end_object();
    }
    json.end_array();
    json.key("libraries").begin_object();
    json.key("ascendcl").string_or_null(libraries.ascendcl_path());
    json.key("nnopbase").string_or_null(libraries.nnopbase_path());
    json.key("opapi").string_or_null(libraries.opapi_path());
    json.end_object();
}

void write_devices(JsonWriter& json, Acl* acl) {
    json.key("devices").begin_array();
    for (int32_t id = 0; acl != nullptr && id < acl->device_count(); ++id) {
        const std::optional<DeviceMemoryInfo> memory = query_memory(*acl, id);
        json.begin_object();
        json.key("id").integer(id);
        json.key("soc").string_or_null(acl->soc_name());
        json.key("soc_family").string_or_null(family_name(soc_family(acl->soc_name())));
        json.key("simulated").boolean(acl->simulated());
        for (const bool total : {true, false}) {
            json.key(total ? "memory_total" : "memory_free");
            if (memory)
                json.integer(static_cast<int64_t>(total ? memory->total : memory->free));
            else
                json.null();
        }
        json.end_object();
    }
    json.end_array();
}

// Empty where the kernel can be called, else why not.
std::string kernel_reason(const Kernel& kernel, const Started& started) {
    if (started.acl == nullptr) return started.error;
    try {
        started.acl->kernel_symbols(kernel.symbol);
    } catch (const Error& error) {
        return error.what();
    }
    return started.error.empty() ? unsupported_reason(kernel, started.acl->soc_name()) : started.error;
}

void write_kernels(JsonWriter& json, const Started& started) {
    json.key("kernels").begin_array();
    for (const Kernel& kernel : kernels()) {
        const std::string reason = kernel_reason(kernel, started);
        json.begin_object();
        json.key("name").string(kernel.name);
        json.key("symbol").string(kernel.symbol);
        json.key("available").boolean(reason.empty());
        json.key("reason").string_or_null(reason);
        json.key("devices").begin_array();
        for (int32_t id = 0; started.acl != nullptr && id < started.acl->device_count(); ++id) {
            std::string first_refusal;
            json.begin_object();
            json.key("id").integer(id);
            json.key("dtypes").begin_array();
            for (const DType dtype : kernel.dtypes) {
                const std::string refusal = unsupported_reason(kernel, started.acl->soc_name(), dtype);
                if (refusal.empty())
                    json.string(dtype_info(dtype).name);
                else if (first_refusal.empty())
                    first_refusal = refusal;
            }
            json.end_array();
            json.key("reason").string_or_null(first_refusal);
            json.end_object();
        }
        json.end_array();
        json.end_object();
    }
    json.end_array();
}

void write_unclaimed(JsonWriter& json) {
    json.key("unclaimed").begin_array();
    for (const UnclaimedNode& each : unclaimed_nodes()) {
        json.begin_object();
        json.key("node").string(each.node);
        json.key("reason").string(each.reason);
        json.end_object();
    }
    json.end_array();
}

std::string describe_machine() {
    const Started started = start();
    JsonWriter json;
    json.begin_object();
    json.key("version").string(ONNX_ASCEND_VERSION);
    json.key("ep_name").string(kEpName);
    json.key("run_mode");
    if (started.acl == nullptr)
        json.null();
    else
        json.string(started.acl->shares_memory() ? "device" : "host");
    json.key("error").string_or_null(started.error);
    write_devices(json, started.acl);
    // Looking kernels up opens operator libraries, so the list of what was searched comes after it.
    write_kernels(json, started);
    const std::shared_ptr<Libraries> libraries = Acl::libraries();
    json.key("backend").string_or_null(libraries->backend());
    json.key("requested").string(libraries->requested());
    json.key("set_env").string_or_null(set_env_script());
    write_searched(json, *libraries);
    write_unclaimed(json);
    json.end_object();
    return json.text();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) size_t onnx_ascend_describe(char* buffer, size_t capacity) {
    std::string text;
    try {
        text = describe_machine();
    } catch (const std::exception& error) {
        JsonWriter json;
        text = json.begin_object().key("error").string(error.what()).end_object().text();
    }
    if (buffer != nullptr && text.size() < capacity) std::memcpy(buffer, text.c_str(), text.size() + 1);
    return text.size() + 1;
}
