#include "simulator/errors.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "simulator/counters.h"

namespace onnx_ascend::simulator {
namespace {

// Plain arrays: nothing to destroy when a thread ends, so late calls from other destructors stay valid.
struct ThreadErrors {
    const char* function;
    int last_error;
    bool pending;
    char message[1024];
    char handed_out[1024];
};

thread_local ThreadErrors errors{};

void record(int code, const char* format, std::va_list arguments) noexcept {
    errors.last_error = code;
    int length = std::snprintf(errors.message, sizeof errors.message,
                               "%s: ", errors.function == nullptr ? "simulator" : errors.function);
    if (length < 0) length = 0;
    std::vsnprintf(errors.message + length, sizeof errors.message - static_cast<size_t>(length), format,
                   arguments);
    errors.pending = true;
}

}  // namespace

void enter_function(const char* name) noexcept {
    errors.function = name;
}

int fail(int code, const char* format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    record(code, format, arguments);
    va_end(arguments);
    return code;
}

int violation(int code, const char* format, ...) noexcept {
    counters().violations.fetch_add(1, std::memory_order_relaxed);
    std::va_list arguments;
    va_start(arguments, format);
    record(code, format, arguments);
    va_end(arguments);
    return code;
}

int peek_last_error() noexcept {
    return errors.last_error;
}

int take_last_error() noexcept {
    const int code = errors.last_error;
    errors.last_error = ACL_SUCCESS;
    return code;
}

void set_last_error(int code) noexcept {
    errors.last_error = code;
}

const char* take_message() noexcept {
    if (!errors.pending) return nullptr;
    errors.pending = false;
    std::memcpy(errors.handed_out, errors.message, sizeof errors.message);
    return errors.handed_out;
}

}  // namespace onnx_ascend::simulator
