#include "ort/factory.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "dispatch/kernel.h"
#include "ort/allocator.h"
#include "ort/data_transfer.h"
#include "ort/ep.h"
#include "ort/memcpy_kernels.h"
#include "ort/stream.h"

namespace onnx_ascend::ort {
namespace {

constexpr const char* kDeviceIdKey = "device_id";

Factory* self(OrtEpFactory* factory) {
    return static_cast<Factory*>(factory);
}

// Key-value pairs that ONNX Runtime copies.
class Pairs {
  public:
    explicit Pairs(const Ort& ort) : ort_(ort), pairs_(nullptr, ort.api().ReleaseKeyValuePairs) {
        OrtKeyValuePairs* pairs = nullptr;
        ort.api().CreateKeyValuePairs(&pairs);
        pairs_.reset(pairs);
    }
    void add(const char* key, const std::string& value) {
        ort_.api().AddKeyValuePair(pairs_.get(), key, value.c_str());
    }
    const OrtKeyValuePairs* get() const { return pairs_.get(); }

  private:
    const Ort& ort_;
    Handle<OrtKeyValuePairs> pairs_;
};

int32_t parse_id(const std::string& text, const std::string& what) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size() || id < 0)
        throw InvalidArgument(what + " is '" + text + "'; it must be the number of a device, 0 or more");
    return id;
}

// The options that the user gave to this provider, and the session's own that concern it.
struct Options {
    std::string device_id;
    bool ep_context = false;  // the session is to write a model with compiled nodes
};

Options read_options(const Ort& ort, const OrtSessionOptions* session_options) {
    // ONNX Runtime keeps them under "ep.<lower-case name>.<option>".
    const std::string prefix = "ep.ascendexecutionprovider.";
    OrtKeyValuePairs* raw = nullptr;
    ort.check(ort.api().GetSessionOptionsConfigEntries(session_options, &raw));
    const Handle<OrtKeyValuePairs> entries(raw, ort.api().ReleaseKeyValuePairs);
    const char* const* keys = nullptr;
    const char* const* values = nullptr;
    size_t count = 0;
    ort.api().GetKeyValuePairs(entries.get(), &keys, &values, &count);
    Options options;
    for (size_t i = 0; i < count; ++i) {
        const std::string key = keys[i];
        if (key == "ep.context_enable") options.ep_context = std::strcmp(values[i], "1") == 0;
        if (key.compare(0, prefix.size(), prefix) != 0) continue;
        const std::string name = key.substr(prefix.size());
        if (name != kDeviceIdKey)
            throw InvalidArgument(std::string(kEpName) + " has no option '" + name +
                                  "'; its options are: " + kDeviceIdKey);
        options.device_id = values[i];
    }
    return options;
}

}  // namespace

Factory* Factory::create(const Ort& ort, const OrtLogger* logger) {
    static std::mutex* mutex = new std::mutex();
    static auto* factories = new std::map<const Ort*, Factory*>();
    std::lock_guard<std::mutex> lock(*mutex);
    Factory*& factory = (*factories)[&ort];
    if (factory == nullptr) factory = new Factory(ort);
    factory->logger_ = logger;
    return factory;
}

void Factory::release(OrtEpFactory* factory) {
    if (factory != nullptr) self(factory)->logger_ = nullptr;
}

Factory::Factory(const Ort& ort) : OrtEpFactory{}, ort_(ort), memcpy_kernels_(nullptr, nullptr) {
    ort_version_supported = ort.version();
    OrtEpFactory::GetName = [](const OrtEpFactory*) { return kEpName; };
    OrtEpFactory::GetVendor = [](const OrtEpFactory*) { return kVendor; };
    OrtEpFactory::GetVendorId = [](const OrtEpFactory*) { return kVendorId; };
    OrtEpFactory::GetVersion = [](const OrtEpFactory*) { return ONNX_ASCEND_VERSION; };
    OrtEpFactory::GetSupportedDevices = [](OrtEpFactory* factory, const OrtHardwareDevice* const*, size_t,
                                           OrtEpDevice** ep_devices, size_t max_ep_devices, size_t* count) {
        *count = 0;
        return self(factory)->ort_.guarded(
            [&] { *count = self(factory)->supported_devices(ep_devices, max_ep_devices); });
    };
    OrtEpFactory::CreateEp = [](OrtEpFactory* factory, const OrtHardwareDevice* const* devices,
                                const OrtKeyValuePairs* const* metadata, size_t count,
                                const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** out) {
        *out = nullptr;
        return self(factory)->ort_.guarded(
            [&] { *out = self(factory)->create_ep(devices, metadata, count, options, logger); });
    };
    OrtEpFactory::ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Ep*>(ep); };
    OrtEpFactory::CreateAllocator = [](OrtEpFactory* factory, const OrtMemoryInfo* info,
                                       const OrtKeyValuePairs*, OrtAllocator** out) {
        *out = nullptr;
        return self(factory)->ort_.guarded([&] { *out = self(factory)->create_allocator(info); });
    };
    OrtEpFactory::ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) {
        delete static_cast<Allocator*>(allocator);
    };
    OrtEpFactory::CreateDataTransfer = [](OrtEpFactory* factory, OrtDataTransferImpl** out) {
        *out = nullptr;
        return self(factory)->ort_.guarded([&] {
            if (!self(factory)->memory_.empty()) *out = new DataTransfer(self(factory)->ort_);
        });
    };
    OrtEpFactory::IsStreamAware = [](const OrtEpFactory* factory) {
        return !static_cast<const Factory*>(factory)->memory_.empty();
    };
    OrtEpFactory::CreateSyncStreamForDevice = [](OrtEpFactory* factory, const OrtMemoryDevice* device,
                                                 const OrtKeyValuePairs*, OrtSyncStreamImpl** out) {
        *out = nullptr;
        return self(factory)->ort_.guarded([&] { *out = self(factory)->create_stream(device); });
    };
}

const DeviceMemory* Factory::memory_of(int32_t device_id) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = memory_.find(device_id);
    return known == memory_.end() ? nullptr : &known->second;
}

const DeviceMemory& Factory::memory_for(int32_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = memory_.find(id);
    if (known != memory_.end()) return known->second;
    const auto make = [&](const char* name, OrtDeviceMemoryType type) {
        OrtMemoryInfo* info = nullptr;
        ort_.check(ort_.api().CreateMemoryInfo_V2(name, OrtMemoryInfoDeviceType_NPU, kVendorId, id, type,
                                                  /*alignment=*/0, OrtDeviceAllocator, &info));
        return Handle<OrtMemoryInfo>(info, ort_.api().ReleaseMemoryInfo);
    };
    DeviceMemory memory{id, make("Ascend", OrtDeviceMemoryType_DEFAULT),
                        make("AscendPinned", OrtDeviceMemoryType_HOST_ACCESSIBLE)};
    return memory_.emplace(id, std::move(memory)).first->second;
}

size_t Factory::supported_devices(OrtEpDevice** ep_devices, size_t max_ep_devices) {
    size_t count = 0;
    try {
        Acl& acl = Acl::instance();
        acl.require_same_process();
        const auto available = static_cast<size_t>(acl.device_count());
        if (available == 0) throw Unavailable("ACL shows no device");
        for (const Kernel& kernel : kernels()) acl.kernel_symbols(kernel.symbol);
        for (; count < available && count < max_ep_devices; ++count)
            ep_devices[count] = make_ep_device(acl, static_cast<int32_t>(count));
        if (available > count)
            ort_.log(logger_, ORT_LOGGING_LEVEL_WARNING,
                     "ONNX Runtime takes " + std::to_string(max_ep_devices) +
                         " devices of one provider, so only the "
                         "first ones of " +
                         std::to_string(available) + " are offered; ASCEND_RT_VISIBLE_DEVICES selects");
        ort_.log(logger_, ORT_LOGGING_LEVEL_INFO,
                 std::string(kEpName) + ": " + std::to_string(count) + " device(s), " + acl.soc_name() +
                     " (" + acl.searched_libraries().backend() + ")");
        ort_.log_simulator_notice(logger_);
    } catch (const Error& error) {
        // No device is a state of the machine, not a failure of registering; `onnx_ascend_describe` tells it
        // too.
        ort_.log(logger_, ORT_LOGGING_LEVEL_WARNING,
                 std::string(kEpName) + " offers no device: " + error.what());
    }
    return count;
}

OrtHardwareDevice* Factory::hardware_device(Acl& acl, int32_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = hardware_.find(id);
    if (known != hardware_.end()) return known->second.get();
    Pairs metadata(ort_);
    metadata.add("soc", acl.soc_name());
    metadata.add("index", std::to_string(id));
    metadata.add("simulated", acl.simulated() ? "1" : "0");
    OrtHardwareDevice* device = nullptr;
    ort_.check(ort_.ep_api().CreateHardwareDevice(
        OrtHardwareDeviceType_NPU, kVendorId, static_cast<uint32_t>(id), kVendor, metadata.get(), &device));
    return hardware_.emplace(id, Handle<OrtHardwareDevice>(device, ort_.ep_api().ReleaseHardwareDevice))
        .first->second.get();
}

OrtEpDevice* Factory::make_ep_device(Acl& acl, int32_t id) {
    Pairs metadata(ort_);
    metadata.add("soc", acl.soc_name());
    metadata.add("index", std::to_string(id));
    const std::optional<DeviceMemoryInfo> memory = query_memory(acl, id);
    metadata.add("memory", memory ? std::to_string(memory->total) : "unknown");
    metadata.add("simulated", acl.simulated() ? "1" : "0");
    metadata.add("backend_library", acl.searched_libraries().ascendcl_path());
    OrtEpDevice* device = nullptr;
    ort_.check(ort_.ep_api().CreateEpDevice(this, hardware_device(acl, id), metadata.get(), Pairs(ort_).get(),
                                            &device));
    if (acl.shares_memory()) return device;
    const DeviceMemory& infos = memory_for(id);
    ort_.check(ort_.ep_api().EpDevice_AddAllocatorInfo(device, infos.device.get()));
    ort_.check(ort_.ep_api().EpDevice_AddAllocatorInfo(device, infos.pinned_host.get()));
    return device;
}

OrtEp* Factory::create_ep(const OrtHardwareDevice* const*, const OrtKeyValuePairs* const* metadata,
                          size_t count, const OrtSessionOptions* session_options, const OrtLogger* logger) {
    const Options options = read_options(ort_, session_options);
    std::vector<int32_t> selected;
    for (size_t i = 0; i < count; ++i) {
        const char* index = ort_.api().GetKeyValue(metadata[i], "index");
        selected.push_back(parse_id(index == nullptr ? "" : index, "the metadata entry 'index' of a device"));
    }
    if (selected.empty()) throw InvalidArgument(std::string(kEpName) + " was given no device");
    int32_t id = selected.front();
    if (!options.device_id.empty()) {
        id = parse_id(options.device_id, std::string("option 'device_id' of ") + kEpName);
        if (std::find(selected.begin(), selected.end(), id) == selected.end())
            throw InvalidArgument(
                "option 'device_id' of " + std::string(kEpName) + " is " + std::to_string(id) +
                ", which is not among the devices that were added to the session: add that one of "
                "onnxruntime.get_ep_devices()");
    }
    return new Ep(*this, Acl::instance().device(id), logger, options.ep_context);
}

OrtAllocator* Factory::create_allocator(const OrtMemoryInfo* info) {
    if (info == nullptr) return nullptr;
    const OrtMemoryDevice* device = ort_.ep_api().MemoryInfo_GetMemoryDevice(info);
    const auto id = static_cast<int32_t>(ort_.ep_api().MemoryDevice_GetDeviceId(device));
    const bool pinned =
        ort_.ep_api().MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_HOST_ACCESSIBLE;
    return new Allocator(ort_, Acl::instance().device(id), pinned, info);
}

OrtSyncStreamImpl* Factory::create_stream(const OrtMemoryDevice* device) {
    const auto id = static_cast<int32_t>(ort_.ep_api().MemoryDevice_GetDeviceId(device));
    return new SyncStream(ort_, Acl::instance().device(id));
}

const OrtKernelRegistry* Factory::memcpy_kernels() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (memcpy_kernels_ == nullptr) memcpy_kernels_ = make_memcpy_kernels(ort_);
    return memcpy_kernels_.get();
}

}  // namespace onnx_ascend::ort
