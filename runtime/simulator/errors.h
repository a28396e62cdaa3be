// The calling thread's last error: its code and the text that aclGetRecentErrMsg hands out.
#pragma once

#include "acl/abi.h"

namespace onnx_ascend::simulator {

// Names the exported function that the thread is in; messages begin with it.
void enter_function(const char* name) noexcept;

// Records code and text for the calling thread and returns the code.
int fail(int code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// A breach of the contract that CANN would not notice (undefined behaviour there): recorded like any other
// failure, and counted apart.
int violation(int code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// The code recorded last on this thread; taking clears it.
int peek_last_error() noexcept;
int take_last_error() noexcept;

// The text recorded last on this thread, or null; valid until it is taken again on the same thread.
const char* take_message() noexcept;

// Sets only the code, where the function itself answers with another one: libnnopbase answers 361001 and
// leaves the runtime's own code behind.
void set_last_error(int code) noexcept;

}  // namespace onnx_ascend::simulator
