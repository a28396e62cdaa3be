#include "ort/unclaimed.h"

#include <algorithm>
#include <mutex>

namespace onnx_ascend {
namespace {

constexpr size_t kMaxRemembered = 256;

struct Remembered {
    std::mutex mutex;
    std::vector<UnclaimedNode> nodes;
};

Remembered& remembered() {
    static Remembered* state = new Remembered();
    return *state;
}

}  // namespace

void remember_unclaimed(const std::string& node, const std::string& reason) {
    Remembered& state = remembered();
    std::lock_guard<std::mutex> lock(state.mutex);
    const auto same = [&](const UnclaimedNode& each) { return each.node == node && each.reason == reason; };
    if (std::any_of(state.nodes.begin(), state.nodes.end(), same)) return;
    if (state.nodes.size() >= kMaxRemembered) state.nodes.erase(state.nodes.begin());
    state.nodes.push_back({node, reason});
}

std::vector<UnclaimedNode> unclaimed_nodes() {
    Remembered& state = remembered();
    std::lock_guard<std::mutex> lock(state.mutex);
    return state.nodes;
}

}  // namespace onnx_ascend
