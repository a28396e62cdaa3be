#include "simulator/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "simulator/errors.h"
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

int initialise_once(const char* config_path, std::atomic<uint64_t>& count) {
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

void report() {
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

int initialise(const char* config_path) {
    const std::lock_guard<std::mutex> lock(state_mutex());
    if (references.load() != 0) {
        // The repeated call counts all the same: aclFinalizeReference must be called as often.
        references.fetch_add(1);
        return fail(ACL_ERROR_REPEAT_INITIALIZE, "ACL is initialised already in this process");
    }
    const int status = initialise_once(config_path, references);
    if (status == ACL_SUCCESS) finalised.store(false);
    return status;
}

int finalise() {
    const std::lock_guard<std::mutex> lock(state_mutex());
    if (finalised.load()) return fail(ACL_ERROR_REPEAT_FINALIZE, "ACL is finalised already");
    finalised.store(true);
    references.store(0);
    report();
    return ACL_SUCCESS;
}

int drop_reference(uint64_t* left) {
    const std::lock_guard<std::mutex> lock(state_mutex());
    if (references.load() == 0) return fail(ACL_ERROR_REPEAT_FINALIZE, "ACL is not initialised");
    const uint64_t remaining = references.fetch_sub(1) - 1;
    if (left != nullptr) *left = remaining;
    if (remaining == 0) {
        finalised.store(true);
        report();
    }
    return ACL_SUCCESS;
}

int initialise_aclnn(const char* config_path) {
    const std::lock_guard<std::mutex> lock(state_mutex());
    return initialise_once(config_path, aclnn_references);
}

int finalise_aclnn() {
    const std::lock_guard<std::mutex> lock(state_mutex());
    aclnn_references.store(0);
    return ACLNN_SUCCESS;
}

}  // namespace onnx_ascend::simulator
