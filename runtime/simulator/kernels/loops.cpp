#include "simulator/kernels/loops.h"

#include <iterator>
#include <string>

#include "simulator/settings.h"

namespace onnx_ascend::simulator {
namespace {

struct InstructionSet {
    const char* name;
    bool available;
    InstructionSetLoops loops;
};

// The first one that is available, and asked for where one is asked for; the last one where there is no such.
InstructionSetLoops choose() {
    const InstructionSet sets[] = {
#ifdef ONNX_ASCEND_SIM_X86
        {"avx512",
         __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx2"),
         {avx512::conversion_loops,
          {avx512::sigmoid_backward_real_loops, avx512::sigmoid_backward_streaming_loops,
           avx2::sigmoid_backward_complex_loops}}},
        {"avx2",
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"),
         {avx2::conversion_loops,
          {avx2::sigmoid_backward_real_loops, avx2::sigmoid_backward_streaming_loops,
           avx2::sigmoid_backward_complex_loops}}},
#endif
        {"portable",
         true,
         {portable::conversion_loops,
          {portable::sigmoid_backward_real_loops, portable::sigmoid_backward_streaming_loops,
           portable::sigmoid_backward_complex_loops}}},
    };
    const std::string& wanted = settings().instruction_set;
    for (const InstructionSet& set : sets) {
        if (set.available && (wanted.empty() || wanted == set.name)) return set.loops;
    }
    return std::rbegin(sets)->loops;
}

}  // namespace

const InstructionSetLoops& loops() {
    static const InstructionSetLoops chosen = choose();
    return chosen;
}

}  // namespace onnx_ascend::simulator
