#include "simulator/call.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <vector>

#include "simulator/process.h"

namespace onnx_ascend::simulator {
namespace {

struct Fault {
    const CallPoint* point;
    uint64_t remaining;
    int code;
};

// Never destroyed: calls may still arrive from other threads while the process exits.
struct Faults {
    std::mutex mutex;
    std::vector<Fault> armed;
};

Faults& faults() {
    static Faults& instance = *new Faults;
    return instance;
}

CallPoint* first_point = nullptr;

template <typename Number>
bool parse_number(std::string_view text, Number& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

bool arm_entry(std::string_view entry) {
    const size_t first = entry.find(':');
    const size_t second = first == std::string_view::npos ? first : entry.find(':', first + 1);
    if (second == std::string_view::npos) return false;
    CallPoint* point = CallPoint::find(std::string(entry.substr(0, first)));
    uint64_t nth = 0;
    int code = 0;
    if (point == nullptr || !parse_number(entry.substr(first + 1, second - first - 1), nth) || nth == 0 ||
        !parse_number(entry.substr(second + 1), code) || code == 0) {
        return false;
    }
    point->arm(nth, code);
    return true;
}

}  // namespace

CallPoint::CallPoint(const char* name) noexcept : name_(name), next_(first_point) {
    first_point = this;
}

const CallPoint* CallPoint::first() noexcept {
    return first_point;
}

CallPoint* CallPoint::find(const std::string& name) noexcept {
    for (CallPoint* point = first_point; point != nullptr; point = point->next_) {
        if (name == point->name_) return point;
    }
    return nullptr;
}

void CallPoint::clear() noexcept {
    count_.store(0, std::memory_order_relaxed);
    armed_faults_.store(0, std::memory_order_relaxed);
}

void CallPoint::reset_all() noexcept {
    arm_faults_of_environment();
    const std::lock_guard<std::mutex> lock(faults().mutex);
    faults().armed.clear();
    for (CallPoint* point = first_point; point != nullptr; point = point->next_) point->clear();
}

void CallPoint::arm(uint64_t nth, int code) {
    const std::lock_guard<std::mutex> lock(faults().mutex);
    faults().armed.push_back({this, nth, code});
    armed_faults_.fetch_add(1, std::memory_order_relaxed);
}

void CallPoint::disarm() {
    const std::lock_guard<std::mutex> lock(faults().mutex);
    auto& armed = faults().armed;
    armed.erase(std::remove_if(armed.begin(), armed.end(),
                               [this](const Fault& fault) { return fault.point == this; }),
                armed.end());
    armed_faults_.store(0, std::memory_order_relaxed);
}

int CallPoint::take_fault() noexcept {
    const std::lock_guard<std::mutex> lock(faults().mutex);
    int code = ACL_SUCCESS;
    auto& armed = faults().armed;
    for (auto fault = armed.begin(); fault != armed.end();) {
        if (fault->point == this && --fault->remaining == 0) {
            code = fault->code;
            fault = armed.erase(fault);
            armed_faults_.fetch_sub(1, std::memory_order_relaxed);
        } else {
            ++fault;
        }
    }
    return code;
}

std::atomic<bool> environment_faults_armed{false};

void arm_faults_of_environment() noexcept {
    static std::once_flag once;
    std::call_once(once, [] {
        const char* text = std::getenv("ASCEND_SIM_FAULT");
        std::string_view rest = text == nullptr ? "" : text;
        while (!rest.empty()) {
            const size_t comma = rest.find(',');
            const std::string_view entry = rest.substr(0, comma);
            rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
            if (!entry.empty() && !arm_entry(entry)) {
                std::fprintf(
                    stderr,
                    "simulator: ASCEND_SIM_FAULT: '%.*s' is not function:nth:code with a function of "
                    "this library, nth >= 1 and a code other than 0\n",
                    static_cast<int>(entry.size()), entry.data());
            }
        }
        environment_faults_armed.store(true, std::memory_order_release);
    });
}

}  // namespace onnx_ascend::simulator
