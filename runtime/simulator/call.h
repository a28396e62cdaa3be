// What every exported function does on entry: it is counted, may be told to fail, and is refused in a process
// that was forked after ACL was initialised.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string>

#include "simulator/errors.h"
#include "simulator/process.h"

namespace onnx_ascend::simulator {

// Arms what ASCEND_SIM_FAULT lists ("function:nth:code,..."), at the first call of any function. Prints what
// it cannot read to stderr.
void arm_faults_of_environment() noexcept;
extern std::atomic<bool> environment_faults_armed;

// One exported function. Instances have static storage and are linked into a list when the library is loaded,
// so that a function that was never called is known as well.
class CallPoint {
  public:
    explicit CallPoint(const char* name) noexcept;

    const char* name() const noexcept { return name_; }
    const CallPoint* next() const noexcept { return next_; }
    uint64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

    // Counts the call; the code that it must fail with, or ACL_SUCCESS.
    int enter() noexcept {
        if (!environment_faults_armed.load(std::memory_order_acquire)) arm_faults_of_environment();
        count_.fetch_add(1, std::memory_order_relaxed);
        return armed_faults_.load(std::memory_order_relaxed) == 0 ? ACL_SUCCESS : take_fault();
    }

    static const CallPoint* first() noexcept;
    static CallPoint* find(const std::string& name) noexcept;
    static void reset_all() noexcept;

    // The nth call from now on (counted from 1) fails with the code.
    void arm(uint64_t nth, int code);
    void disarm();

  private:
    int take_fault() noexcept;
    void clear() noexcept;

    const char* const name_;
    CallPoint* next_;
    std::atomic<uint64_t> count_{0};
    std::atomic<uint32_t> armed_faults_{0};
};

// Runs the body of an exported function. Nothing is done when the call is to fail.
template <typename Body>
int guarded(CallPoint& point, Body&& body) noexcept {
    const int injected = point.enter();
    enter_function(point.name());
    if (forked_child()) return refuse_forked_child();
    if (injected != ACL_SUCCESS) return fail(injected, "injected fault");
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return fail(ACL_ERROR_BAD_ALLOC, "host memory exhausted");
    } catch (...) {
        return fail(ACL_ERROR_INTERNAL_ERROR, "unexpected exception in the simulator");
    }
}

// The same for functions that release or wait: the work is done first and the injected fault reported after
// it, since a caller has no second way to release and must not be made to leak.
template <typename Body>
int guarded_release(CallPoint& point, Body&& body) noexcept {
    const int injected = point.enter();
    enter_function(point.name());
    if (forked_child()) return refuse_forked_child();
    int status = ACL_SUCCESS;
    try {
        status = body();
    } catch (const std::bad_alloc&) {
        status = fail(ACL_ERROR_BAD_ALLOC, "host memory exhausted");
    } catch (...) {
        status = fail(ACL_ERROR_INTERNAL_ERROR, "unexpected exception in the simulator");
    }
    return injected == ACL_SUCCESS ? status : fail(injected, "injected fault");
}

// For functions that answer with a pointer: nullptr when refused.
template <typename Body>
auto guarded_pointer(CallPoint& point, Body&& body) noexcept -> decltype(body()) {
    decltype(body()) result = nullptr;
    guarded(point, [&] {
        result = body();
        return ACL_SUCCESS;
    });
    return result;
}

}  // namespace onnx_ascend::simulator

// The call point of an exported function, in the file that defines the function.
#define ONNX_ASCEND_CALL_POINT(function)                         \
    static ::onnx_ascend::simulator::CallPoint call_##function { \
        #function                                                \
    }
