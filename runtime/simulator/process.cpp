#include "simulator/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "simulator/leaks.h"
#include "simulator/settings.h"

namespace onnx_ascend::simulator {
namespace {

std::atomic<bool> ever_initialised{false};
std::atomic<bool> in_forked_child{false};
std::atomic<uint64_t> references{0};
std::atomic<uint64_t> aclnn_references{0};
std::atomic<bool> finalised{false};

std::mutex& state_mutex() {
    static std::mutex& instance = *new std::mutex;
    return instance;
}

void watch_forks() {
    static const int once = ::pthread_atfork(nullptr, nullptr, [] {
        if (ever_initialised.load(std::memory_order_relaxed)) in_forked_child.store(true);
    });
    (void)once;
}

int initialise(const char* config_path, std::atomic<uint64_t>& count) {
    if (config_path != nullptr && config_path[0] != '\0' && ::access(config_path, R_OK) != 0) {
        return fail(ACL_ERROR_INVALID_FILE, "the configuration file %s cannot be read", config_path);
    }
    for (const std::string& fault : settings().faults) {
        return fail(ACL_ERROR_INVALID_PARAM, "%s", fault.c_str());
    }
    watch_forks();
    ever_initialised.store(true);
    count.fetch_add(1);
    return ACL_SUCCESS;
}

void finalise() {
    if (settings().report_leaks) report_leaks();
}

}  // namespace

bool initialised() noexcept {
    return references.load(std::memory_order_relaxed) + aclnn_references.load(std::memory_order_relaxed) != 0;
}

int require_initialised() noexcept {
    if (initialised()) return ACL_SUCCESS;
    return fail(ACL_ERROR_UNINITIALIZE, "ACL is not initialised; call aclInit first");
}

bool forked_child() noexcept {
    return in_forked_child.load(std::memory_order_relaxed);
}

int refuse_forked_child() noexcept {
    return fail(ACL_ERROR_RT_DEV_SETUP_ERROR,
                "this process was forked after ACL was initialised; start it with spawn instead");
}

}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclInit);
ONNX_ASCEND_CALL_POINT(aclFinalize);
ONNX_ASCEND_CALL_POINT(aclFinalizeReference);
ONNX_ASCEND_CALL_POINT(aclnnInit);
ONNX_ASCEND_CALL_POINT(aclnnFinalize);

aclError aclInit(const char* configPath) {
    return guarded(call_aclInit, [&]() -> int {
        const std::lock_guard<std::mutex> lock(state_mutex());
        if (references.load() != 0) {
            // The repeated call counts all the same: aclFinalizeReference must be called as often.
            references.fetch_add(1);
            return fail(ACL_ERROR_REPEAT_INITIALIZE, "ACL is initialised already in this process");
        }
        const int status = initialise(configPath, references);
        if (status == ACL_SUCCESS) finalised.store(false);
        return status;
    });
}

aclError aclFinalize() {
    return guarded_release(call_aclFinalize, [&]() -> int {
        const std::lock_guard<std::mutex> lock(state_mutex());
        if (finalised.load()) return fail(ACL_ERROR_REPEAT_FINALIZE, "ACL is finalised already");
        finalised.store(true);
        references.store(0);
        finalise();
        return ACL_SUCCESS;
    });
}

aclError aclFinalizeReference(uint64_t* refCount) {
    return guarded_release(call_aclFinalizeReference, [&]() -> int {
        const std::lock_guard<std::mutex> lock(state_mutex());
        if (references.load() == 0) return fail(ACL_ERROR_REPEAT_FINALIZE, "ACL is not initialised");
        const uint64_t left = references.fetch_sub(1) - 1;
        if (refCount != nullptr) *refCount = left;
        if (left == 0) {
            finalised.store(true);
            finalise();
        }
        return ACL_SUCCESS;
    });
}

aclnnStatus aclnnInit(const char* configPath) {
    return guarded(call_aclnnInit, [&]() -> int {
        const std::lock_guard<std::mutex> lock(state_mutex());
        return initialise(configPath, aclnn_references);
    });
}

aclnnStatus aclnnFinalize() {
    return guarded_release(call_aclnnFinalize, [&]() -> int {
        const std::lock_guard<std::mutex> lock(state_mutex());
        aclnn_references.store(0);
        return ACLNN_SUCCESS;
    });
}
