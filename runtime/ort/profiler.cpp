#include "ort/profiler.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "ort/names.h"

namespace onnx_ascend::ort {
namespace {

using Clock = std::chrono::steady_clock;

struct Collecting {
    std::atomic<int> count{0};
    std::mutex mutex;
    struct Events {
        const Ep* ep;
        std::vector<KernelEvent> events;
    };
    std::map<const Profiler*, Events> of_profiler;
};

Collecting& collecting() {
    static Collecting* state = new Collecting();
    return *state;
}

// A profile that nobody ends must not eat the memory.
constexpr size_t kMaxEvents = 1000000;

}  // namespace

Profiler::Profiler(const Ep& ep) : OrtEpProfilerImpl{}, ep_(ep), ort_(ep.ort()) {
    ort_version_supported = ort_.version();
    OrtEpProfilerImpl::Release = [](OrtEpProfilerImpl* profiler) { delete static_cast<Profiler*>(profiler); };
    OrtEpProfilerImpl::StartProfiling = [](OrtEpProfilerImpl* profiler, int64_t offset_ns) {
        auto* me = static_cast<Profiler*>(profiler);
        return me->ort_.guarded([&] { me->start(offset_ns); });
    };
    OrtEpProfilerImpl::EndProfiling = [](OrtEpProfilerImpl* profiler,
                                         OrtProfilingEventsContainer* container) {
        auto* me = static_cast<Profiler*>(profiler);
        return me->ort_.guarded([&] { me->end(container); });
    };
}

Profiler::~Profiler() {
    Collecting& state = collecting();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.of_profiler.erase(this) > 0) --state.count;
}

void Profiler::start(int64_t offset_ns) {
    offset_ns_ = offset_ns;
    started_ = Clock::now();
    Collecting& state = collecting();
    std::lock_guard<std::mutex> lock(state.mutex);
    if (state.of_profiler.emplace(this, Collecting::Events{&ep_, {}}).second) ++state.count;
}

void Profiler::end(OrtProfilingEventsContainer* container) {
    std::vector<KernelEvent> events;
    {
        Collecting& state = collecting();
        std::lock_guard<std::mutex> lock(state.mutex);
        const auto known = state.of_profiler.find(this);
        if (known == state.of_profiler.end()) return;
        events = std::move(known->second.events);
        state.of_profiler.erase(known);
        --state.count;
    }
    for (const KernelEvent& event : events) add_event(event, container);
}

void Profiler::add_event(const KernelEvent& event, OrtProfilingEventsContainer* container) const {
    const auto nanoseconds = [](Clock::duration time) {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    };
    const std::string device = std::to_string(ep_.device().id());
    const char* keys[] = {"provider", "node", "device_id"};
    const char* values[] = {kEpName, event.node.c_str(), device.c_str()};
    OrtProfilingEvent* made = nullptr;
    ort_.check(ort_.ep_api().CreateProfilingEvent(
        OrtProfilingEventCategory_KERNEL, static_cast<int32_t>(getpid()), event.thread, event.symbol,
        (offset_ns_ + nanoseconds(event.begin - started_)) / 1000,
        nanoseconds(event.end - event.begin) / 1000, keys, values, std::size(keys), &made));
    OrtStatus* status = ort_.ep_api().ProfilingEventsContainer_AddEvents(container, &made, 1);
    ort_.ep_api().ReleaseProfilingEvent(made);
    ort_.check(status);
}

KernelTimer::KernelTimer(const Ep& ep, const char* symbol, const std::string& node)
    : ep_(ep),
      symbol_(symbol),
      node_(node),
      collecting_(collecting().count.load(std::memory_order_relaxed) > 0) {
    if (collecting_) begin_ = Clock::now();
}

KernelTimer::~KernelTimer() {
    if (!collecting_) return;
    const auto end = Clock::now();
    const auto thread = static_cast<int32_t>(syscall(SYS_gettid));
    Collecting& state = collecting();
    std::lock_guard<std::mutex> lock(state.mutex);
    for (auto& [profiler, collected] : state.of_profiler)
        if (collected.ep == &ep_ && collected.events.size() < kMaxEvents)
            collected.events.push_back({symbol_, node_, thread, begin_, end});
}

}  // namespace onnx_ascend::ort
