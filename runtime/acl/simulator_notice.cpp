#include "acl/simulator_notice.h"

#include <atomic>

#include "acl/api.h"

namespace onnx_ascend {

const char* take_simulator_notice() {
    static std::atomic<bool> taken{false};
    Acl& acl = Acl::instance();
    if (!acl.simulated() || acl.searched_libraries().requested() == "simulator" || taken.exchange(true))
        return nullptr;
    return "no CANN was found, so kernels run on the CPU simulator; `onnx-ascend doctor` says where it was "
           "looked for, ONNX_ASCEND_BACKEND=simulator chooses the simulator without this warning, and =cann "
           "requires an NPU";
}

}  // namespace onnx_ascend
