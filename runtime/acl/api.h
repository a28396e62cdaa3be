// ACL as this process uses it: the libraries, their functions, one aclInit, and what the machine has.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "acl/abi.h"
#include "acl/error.h"
#include "acl/library.h"

// The functions of libascendcl.so that we call: X(name) where it must be there, Y(name) where it may be
// missing.
#define ONNX_ASCEND_ACL_FUNCTIONS(X, Y) \
    X(aclInit)                          \
    X(aclGetRecentErrMsg)               \
    X(aclrtGetSocName)                  \
    X(aclrtGetRunMode)                  \
    X(aclrtGetDeviceCount)              \
    X(aclrtSetDevice)                   \
    X(aclrtResetDevice)                 \
    X(aclrtGetCurrentContext)           \
    X(aclrtSetCurrentContext)           \
    X(aclrtCreateStream)                \
    X(aclrtDestroyStream)               \
    X(aclrtSynchronizeStream)           \
    X(aclrtSynchronizeDevice)           \
    X(aclrtCreateEvent)                 \
    Y(aclrtCreateEventExWithFlag)       \
    X(aclrtDestroyEvent)                \
    X(aclrtRecordEvent)                 \
    X(aclrtStreamWaitEvent)             \
    X(aclrtSynchronizeEvent)            \
    X(aclrtMalloc)                      \
    X(aclrtFree)                        \
    X(aclrtMallocHost)                  \
    X(aclrtFreeHost)                    \
    X(aclrtMemcpy)                      \
    X(aclrtMemcpyAsync)                 \
    X(aclrtGetMemInfo)

// The functions of libnnopbase.so. Without the optional ones no executor is kept, which is slower and still
// right.
#define ONNX_ASCEND_NNOPBASE_FUNCTIONS(X, Y) \
    X(aclCreateTensor)                       \
    X(aclDestroyTensor)                      \
    Y(aclDestroyAclOpExecutor)               \
    Y(aclSetAclOpExecutorRepeatable)         \
    Y(aclSetInputTensorAddr)                 \
    Y(aclSetOutputTensorAddr)

namespace onnx_ascend {

class Device;

struct AclFunctions {
#define ONNX_ASCEND_DECLARE(name) decltype(&::name) name = nullptr;
    ONNX_ASCEND_ACL_FUNCTIONS(ONNX_ASCEND_DECLARE, ONNX_ASCEND_DECLARE)
    ONNX_ASCEND_NNOPBASE_FUNCTIONS(ONNX_ASCEND_DECLARE, ONNX_ASCEND_DECLARE)
#undef ONNX_ASCEND_DECLARE
};

class Acl {
  public:
    // The one instance of the process, made at the first call; throws Unavailable when there is nothing to
    // work with. A failed try leaves nothing behind, so that a later call looks again. It lives until the
    // process ends: nothing here calls aclFinalize, which would end ACL for every other library of the
    // process.
    static Acl& instance();

    // The libraries of the last search, for reports; searches when nobody has. Never initialises ACL.
    static std::shared_ptr<Libraries> libraries();

    // Throws Unavailable in a child of the process that started ACL: no device survives a fork.
    void require_same_process() const;
    bool forked() const { return forked_.load(std::memory_order_relaxed); }

    const AclFunctions& functions() const { return functions_; }
    Libraries& searched_libraries() { return *libraries_; }
    bool simulated() const { return libraries_->backend() == "simulator"; }

    // Memory that host and kernels share: tensors are passed as they are, and nothing is copied.
    bool shares_memory() const { return run_mode_ == ACL_DEVICE; }
    // Empty while ACL does not tell; it is asked again each time until it does.
    const std::string& soc_name() const;
    int32_t device_count() const { return device_count_; }

    // Opens the device at its first use and keeps it. Throws InvalidArgument for an id that is not there.
    Device& device(int32_t id);

    // Throws Error with function, code, its meaning and aclGetRecentErrMsg.
    void check(int32_t code, const char* function) const {
        if (code != ACL_SUCCESS) fail(code, function);
    }
    [[noreturn]] void fail(int32_t code, const char* function) const;

    // The two phases of an aclnn kernel, looked up once. Throws Unavailable when no library has both.
    Libraries::KernelSymbols kernel_symbols(const std::string& name);

  private:
    explicit Acl(std::shared_ptr<Libraries> libraries);

    std::shared_ptr<Libraries> libraries_;
    AclFunctions functions_;
    aclrtRunMode run_mode_ = ACL_DEVICE;
    mutable std::atomic<const std::string*> soc_name_{nullptr};
    int32_t device_count_ = 0;
    std::mutex mutex_;
    std::map<int32_t, std::unique_ptr<Device>> devices_;
    std::map<std::string, Libraries::KernelSymbols> kernels_;
    static std::atomic<bool> forked_;
};

}  // namespace onnx_ascend

// `acl.check(acl.functions().aclrtFree(p), "aclrtFree")`, written once.
#define ONNX_ASCEND_CALL(acl, name, ...) (acl).check((acl).functions().name(__VA_ARGS__), #name)
