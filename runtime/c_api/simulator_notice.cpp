// The warning of a simulator that stands in, for callers without ONNX Runtime.
#include "acl/simulator_notice.h"

#include <exception>

#include "c_api/onnx_ascend_ext.h"

extern "C" __attribute__((visibility("default"))) const char* onnx_ascend_simulator_notice() {
    try {
        return onnx_ascend::take_simulator_notice();
    } catch (const std::exception&) {
        return nullptr;
    }
}
