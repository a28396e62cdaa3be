// Errors of the runtime: what failed, its code, why, and what to do, in one line.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace onnx_ascend {

// Codes that are ours, for errors that no function of ACL returned. The public C header documents them.
constexpr int32_t kInvalidArgument = -1;
constexpr int32_t kUnavailable = -2;
constexpr int32_t kInternalError = -3;

class Error : public std::runtime_error {
  public:
    Error(int32_t code, std::string function, const std::string& message)
        : std::runtime_error(message), code_(code), function_(std::move(function)) {}

    // One of ours, or the return code of `function()`.
    int32_t code() const { return code_; }

    // The C function that failed; empty for an error that no function of ACL returned.
    const std::string& function() const { return function_; }

  private:
    int32_t code_;
    std::string function_;
};

// The caller passed something that the kernel's contract does not allow.
class InvalidArgument : public Error {
  public:
    explicit InvalidArgument(const std::string& message) : Error(kInvalidArgument, "", message) {}
};

// There is no library, no device or no kernel to work with.
class Unavailable : public Error {
  public:
    explicit Unavailable(const std::string& message) : Error(kUnavailable, "", message) {}
};

// "161002 (ACLNN_ERR_PARAM_INVALID): cause; fix", or the number alone where the code is not known.
std::string code_text(int32_t code);

// The whole message of a failed call. `recent` is what aclGetRecentErrMsg said; it may be null.
std::string failure_text(const char* function, int32_t code, const char* recent);

}  // namespace onnx_ascend
