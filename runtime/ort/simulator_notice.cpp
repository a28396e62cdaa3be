#include "ort/simulator_notice.h"

#include <atomic>

#include "acl/api.h"

namespace onnx_ascend {

const char* take_simulator_notice() {
    static std::atomic<bool> taken{false};
    Acl& acl = Acl::instance();
    if (!acl.simulated() || acl.searched_libraries().requested() == "simulator" || taken.exchange(true))
        return nullptr;
    return "no CANN was found, so kernels run on the CPU simulator; `onnx-ascend doctor` says where it was "
           "looked "
           "for, ONNX_ASCEND_BACKEND=simulator chooses the simulator without this warning, and =cann "
           "requires an NPU";
}

}  // namespace onnx_ascend

namespace onnx_ascend::ort {

void log_simulator_notice(const Ort& ort, const OrtLogger* logger) {
    if (!ort.shows(logger, ORT_LOGGING_LEVEL_WARNING)) return;
    if (const char* notice = take_simulator_notice()) ort.log(logger, ORT_LOGGING_LEVEL_WARNING, notice);
}

}  // namespace onnx_ascend::ort
