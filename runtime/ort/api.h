// The functions of one ONNX Runtime, at the version agreed on with it.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "acl/error.h"
#include "ort/abi_functions.h"

namespace onnx_ascend::ort {

// Every function of ONNX_ASCEND_ORT_API under its name; null where the agreed version does not have it.
struct ApiFunctions {
#define ONNX_ASCEND_DECLARE(slot, since, name, result, parameters) result(*name) parameters = nullptr;
    ONNX_ASCEND_ORT_API(ONNX_ASCEND_DECLARE)
};

struct EpApiFunctions {
    ONNX_ASCEND_ORT_EP_API(ONNX_ASCEND_DECLARE)
#undef ONNX_ASCEND_DECLARE
};

// An error that came out of ONNX Runtime itself, to be handed back to it as it is.
class StatusError : public std::exception {
  public:
    explicit StatusError(OrtStatus* status) : status_(status) {}
    OrtStatus* status() const { return status_; }
    const char* what() const noexcept override { return "ONNX Runtime returned an error status"; }

  private:
    OrtStatus* status_;
};

class Ort {
  public:
    // The instance for this ONNX Runtime, or null when it is older than `oldest`. Never goes away.
    static const Ort* negotiate(const OrtApiBase* base, uint32_t oldest);

    // The version for every struct that we fill: ONNX Runtime's own, or the newest that we know.
    uint32_t version() const { return version_; }
    const ApiFunctions& api() const { return api_; }
    const EpApiFunctions& ep_api() const { return ep_api_; }

    // Throws StatusError. The status must not be used any more.
    void check(OrtStatus* status) const {
        if (status != nullptr) throw StatusError(status);
    }

    OrtStatus* status(OrtErrorCode code, const std::string& message) const {
        return api_.CreateStatus(code, message.c_str());
    }

    // Does nothing for a null logger; a failure to log is no failure.
    void log(const OrtLogger* logger, OrtLoggingLevel level, const std::string& message) const;

    // Whether a log takes messages of this level; a null one takes none.
    bool shows(const OrtLogger* logger, OrtLoggingLevel level) const;

    // Warns that the simulator stands in, unless the log shows no warnings or another door has warned. ACL
    // must have been started.
    void log_simulator_notice(const OrtLogger* logger) const;

    // Runs `body` and makes a status of whatever it throws: no exception may reach ONNX Runtime.
    template <typename Body>
    OrtStatus* guarded(Body&& body) const noexcept {
        try {
            body();
            return nullptr;
        } catch (...) {
            return current_exception_status();
        }
    }

  private:
    Ort(const OrtApi* api, uint32_t version);
    OrtStatus* current_exception_status() const noexcept;

    uint32_t version_;
    ApiFunctions api_;
    EpApiFunctions ep_api_;
};

// A status that names the version needed, made through the oldest API that there is, so that any ONNX Runtime
// can show it.
OrtStatus* too_old_status(const OrtApiBase* base, const std::string& door, uint32_t oldest);

// "1.24"
std::string version_text(uint32_t version);

}  // namespace onnx_ascend::ort
