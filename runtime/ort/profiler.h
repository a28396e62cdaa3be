// OrtEpProfilerImpl: an event for every kernel call, for ONNX Runtime's profile.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ort/ep.h"

namespace onnx_ascend::ort {

struct KernelEvent {
    const char* symbol;
    std::string node;
    int32_t thread;
    std::chrono::steady_clock::time_point begin;
    std::chrono::steady_clock::time_point end;
};

// Collects the calls of one session from StartProfiling to EndProfiling.
class Profiler : public OrtEpProfilerImpl {
  public:
    explicit Profiler(const Ep& ep);

  private:
    ~Profiler();
    void start(int64_t offset_ns);
    void end(OrtProfilingEventsContainer* container);
    void add_event(const KernelEvent& event, OrtProfilingEventsContainer* container) const;

    const Ep& ep_;
    const Ort& ort_;
    int64_t offset_ns_ = 0;
    std::chrono::steady_clock::time_point started_;
};

// Times its scope for every profiler that is collecting; costs one comparison when none is. Where launches
// are asynchronous, what it times is the launch.
class KernelTimer {
  public:
    KernelTimer(const Ep& ep, const char* symbol, const std::string& node);
    ~KernelTimer();
    KernelTimer(const KernelTimer&) = delete;
    KernelTimer& operator=(const KernelTimer&) = delete;

  private:
    const Ep& ep_;
    const char* symbol_;
    const std::string& node_;
    bool collecting_;
    std::chrono::steady_clock::time_point begin_;
};

}  // namespace onnx_ascend::ort
