#include "acl/api.h"

#include <pthread.h>

#include "acl/device.h"

namespace onnx_ascend {
namespace {

// Never destroyed: ACL's own threads and ONNX Runtime's teardown may outlive every static destructor.
struct ProcessState {
    std::mutex mutex;
    std::shared_ptr<Libraries> libraries;
    std::atomic<Acl*> acl{nullptr};
};

ProcessState& process_state() {
    static ProcessState* state = new ProcessState();
    return *state;
}

template <typename Function>
void resolve(Function& target, void* symbol, const char* name, const std::string& library, bool required) {
    if (symbol == nullptr && required)
        throw Unavailable(library + " has no symbol " + name + "; use CANN 8.0 or newer");
    target = reinterpret_cast<Function>(symbol);
}

}  // namespace

std::atomic<bool> Acl::forked_{false};

Acl& Acl::instance() {
    ProcessState& state = process_state();
    if (Acl* acl = state.acl.load(std::memory_order_acquire)) return *acl;
    std::lock_guard<std::mutex> lock(state.mutex);
    if (Acl* acl = state.acl.load(std::memory_order_relaxed)) return *acl;
    state.libraries = std::make_shared<Libraries>();
    if (!state.libraries->error().empty()) throw Unavailable(state.libraries->error());
    Acl* acl = new Acl(state.libraries);
    pthread_atfork(nullptr, nullptr, [] { forked_.store(true, std::memory_order_relaxed); });
    state.acl.store(acl, std::memory_order_release);
    return *acl;
}

std::shared_ptr<Libraries> Acl::libraries() {
    ProcessState& state = process_state();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.libraries == nullptr) state.libraries = std::make_shared<Libraries>();
    return state.libraries;
}

Acl::Acl(std::shared_ptr<Libraries> libraries) : libraries_(std::move(libraries)) {
#define ONNX_ASCEND_RESOLVE(name, required)                                                          \
    resolve(functions_.name, libraries_->ascendcl_symbol(#name), #name, libraries_->ascendcl_path(), \
            required);
#define ONNX_ASCEND_REQUIRED(name) ONNX_ASCEND_RESOLVE(name, true)
#define ONNX_ASCEND_OPTIONAL(name) ONNX_ASCEND_RESOLVE(name, false)
    ONNX_ASCEND_ACL_FUNCTIONS(ONNX_ASCEND_REQUIRED, ONNX_ASCEND_OPTIONAL)
#undef ONNX_ASCEND_RESOLVE
#define ONNX_ASCEND_RESOLVE(name, required)                                                          \
    resolve(functions_.name, libraries_->nnopbase_symbol(#name), #name, libraries_->nnopbase_path(), \
            required);
    ONNX_ASCEND_NNOPBASE_FUNCTIONS(ONNX_ASCEND_REQUIRED, ONNX_ASCEND_OPTIONAL)
#undef ONNX_ASCEND_RESOLVE
#undef ONNX_ASCEND_REQUIRED
#undef ONNX_ASCEND_OPTIONAL

    const aclError initialised = functions_.aclInit(nullptr);
    // Another library of the process, such as torch_npu, may have done it before; that is as good.
    if (initialised != ACL_ERROR_REPEAT_INITIALIZE) check(initialised, "aclInit");
    ONNX_ASCEND_CALL(*this, aclrtGetRunMode, &run_mode_);
    uint32_t count = 0;
    const aclError counted = functions_.aclrtGetDeviceCount(&count);
    if (counted != ACL_ERROR_RT_NO_DEVICE) check(counted, "aclrtGetDeviceCount");
    device_count_ = static_cast<int32_t>(count);
}

const std::string& Acl::soc_name() const {
    static const auto* unknown = new std::string();
    if (const std::string* known = soc_name_.load(std::memory_order_acquire)) return *known;
    if (forked()) return *unknown;
    const char* answer = functions_.aclrtGetSocName();
    if (answer == nullptr || *answer == '\0') {
        functions_.aclGetRecentErrMsg();  // takes the text of this answer away from the next real error
        return *unknown;
    }
    auto name = std::make_unique<const std::string>(answer);
    const std::string* known = nullptr;
    if (soc_name_.compare_exchange_strong(known, name.get(), std::memory_order_acq_rel))
        return *name.release();
    return *known;
}

void Acl::require_same_process() const {
    if (forked())
        throw Unavailable(
            "this process was forked after it had started ACL, and a device does not survive a fork; start "
            "the child "
            "with the 'spawn' method, or create the first session after the fork");
}

void Acl::fail(int32_t code, const char* function) const {
    throw Error(code, function, failure_text(function, code, functions_.aclGetRecentErrMsg()));
}

Device& Acl::device(int32_t id) {
    require_same_process();
    if (id < 0 || id >= device_count_)
        throw InvalidArgument("there is no device " + std::to_string(id) + ": ACL shows " +
                              std::to_string(device_count_) +
                              " (ASCEND_RT_VISIBLE_DEVICES renumbers them from 0)");
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Device>& device = devices_[id];
    if (device == nullptr) device = std::make_unique<Device>(*this, id);
    return *device;
}

Libraries::KernelSymbols Acl::kernel_symbols(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = kernels_.find(name);
    if (known != kernels_.end()) return known->second;
    const Libraries::KernelSymbols symbols = libraries_->kernel_symbols(name);
    if (symbols.run == nullptr) {
        const std::string library = libraries_->opapi_path();
        throw Unavailable(
            "no operator library has " + name + " and " + name + "GetWorkspaceSize" +
            (library.empty() ? ": none could be opened" : " (the first one opened is " + library + ")") +
            "; install the operator package of CANN 8.0 or newer");
    }
    return kernels_[name] = symbols;
}

}  // namespace onnx_ascend
