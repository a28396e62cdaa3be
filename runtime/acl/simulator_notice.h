// The warning that the simulator stands in for CANN where nobody asked for it: one in a process, given by
// whichever door comes first.
#pragma once

namespace onnx_ascend {

// The text, for one caller in a process; null for every other, and where the simulator was chosen or is not
// used. Throws Unavailable where ACL cannot be started.
const char* take_simulator_notice();

}  // namespace onnx_ascend
