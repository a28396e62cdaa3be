// What is still alive when ACL is finalised.
#pragma once

namespace onnx_ascend::simulator {

// Lists every live handle and allocation on stderr, one a line, and their number in a last line.
void report_leaks();

}  // namespace onnx_ascend::simulator
