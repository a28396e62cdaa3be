// Devices, their primary contexts, explicit contexts, and which one is current in a thread.
#pragma once

#include <cstdint>

#include "simulator/call.h"
#include "simulator/handles.h"

namespace onnx_ascend::simulator {

struct Context {
    uint32_t device = 0;  // logical id
    bool primary = false;
    aclrtStream default_stream = nullptr;
};

using ContextReference = HandleReference<Context>;

HandleTable<Context>& contexts();

// nullptr when the thread has no context, or its context was destroyed.
Context* current_context() noexcept;
ContextReference current_context_reference() noexcept;
int refuse_without_context() noexcept;

}  // namespace onnx_ascend::simulator
