#include "simulator/counters.h"

namespace onnx_ascend::simulator {

Counters& counters() noexcept {
    static Counters& instance = *new Counters;
    return instance;
}

}  // namespace onnx_ascend::simulator
