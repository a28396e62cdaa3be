#include "simulator/kernels/loops.h"

namespace onnx_ascend::simulator {
namespace {

InstructionSetLoops choose() noexcept {
#ifdef ONNX_ASCEND_SIM_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return {avx512::conversion_loops, avx512::sigmoid_backward_loops};
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c")) {
        return {avx2::conversion_loops, avx2::sigmoid_backward_loops};
    }
#endif
    return {portable::conversion_loops, portable::sigmoid_backward_loops};
}

}  // namespace

const InstructionSetLoops& loops() noexcept {
    static const InstructionSetLoops chosen = choose();
    return chosen;
}

}  // namespace onnx_ascend::simulator
