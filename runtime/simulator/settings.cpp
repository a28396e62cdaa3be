#include "simulator/settings.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

namespace onnx_ascend::simulator {
namespace {

constexpr const char* default_soc = "Ascend910B1";
constexpr uint64_t max_devices = 64;

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

class Reader {
  public:
    explicit Reader(std::vector<std::string>& faults) : faults_(faults) {}

    uint64_t number(const char* name, uint64_t fallback, uint64_t low, uint64_t high) const {
        const std::string_view text = variable(name);
        if (text.empty()) return fallback;
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
            refuse(name, text, "a number from " + std::to_string(low) + " to " + std::to_string(high));
            return fallback;
        }
        return value;
    }

    bool flag(const char* name) const {
        const std::string_view text = variable(name);
        if (!text.empty() && text != "0" && text != "1") refuse(name, text, "0 or 1");
        return text == "1";
    }

    // Bytes, with an optional K, M or G (powers of 1024).
    size_t bytes(const char* name, size_t fallback) const {
        const std::string_view text = variable(name);
        if (text.empty()) return fallback;
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
        const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
        if (error != std::errc() || shift < 0 || value == 0 || value > (uint64_t{1} << 42) >> shift) {
            refuse(name, text, "a number of bytes up to 4096G, as in 512M");
            return fallback;
        }
        return static_cast<size_t>(value) << shift;
    }

    void refuse(const char* name, std::string_view text, const std::string& expected) const {
        faults_.push_back(std::string(name) + "=" + std::string(text) + " is not " + expected);
    }

  private:
    std::vector<std::string>& faults_;
};

// The mask as the runtime reads it: ids up to the first character that is neither a digit nor a comma and up
// to the first that is no device; an order that does not ascend, a repeated id and an empty result make every
// device unusable.
void read_visible_devices(uint32_t device_count, Settings& settings) {
    const char* mask = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
    if (mask == nullptr) {
        for (uint32_t id = 0; id < device_count; ++id) settings.visible.push_back(id);
        return;
    }
    std::string_view rest = mask;
    while (settings.visible.size() < device_count) {
        const size_t comma = rest.find(',');
        const std::string_view token = rest.substr(0, comma);
        uint32_t id = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), id);
        if (error != std::errc() || id >= device_count) break;
        if (!settings.visible.empty() && id <= settings.visible.back()) {
            const bool repeated =
                std::find(settings.visible.begin(), settings.visible.end(), id) != settings.visible.end();
            settings.visible_devices_fault = std::string("ASCEND_RT_VISIBLE_DEVICES=") + mask +
                                             (repeated ? " repeats a device" : " is not in ascending order");
            settings.visible.clear();
            return;
        }
        settings.visible.push_back(id);
        if (end != token.data() + token.size() || comma == std::string_view::npos) break;
        rest = rest.substr(comma + 1);
    }
    if (settings.visible.empty()) {
        settings.visible_devices_fault = std::string("ASCEND_RT_VISIBLE_DEVICES=") + mask +
                                         " names no device of [0, " + std::to_string(device_count) + ")";
    }
}

unsigned usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
}

aclrtRunMode read_run_mode(const Reader& reader) {
    const std::string_view text = variable("ASCEND_SIM_RUN_MODE");
    if (!text.empty() && text != "device" && text != "host") {
        reader.refuse("ASCEND_SIM_RUN_MODE", text, "device or host");
    }
    return text == "host" ? ACL_HOST : ACL_DEVICE;
}

std::string read_instruction_set(const Reader& reader) {
    const std::string_view text = variable("ASCEND_SIM_ISA");
    if (text.empty() || text == "portable" || text == "avx2" || text == "avx512") return std::string(text);
    reader.refuse("ASCEND_SIM_ISA", text, "portable, avx2 or avx512");
    return {};
}

Soc read_soc(const Reader& reader) {
    const std::string_view text = variable("ASCEND_SIM_SOC");
    if (auto soc = find_soc(text.empty() ? default_soc : std::string(text))) return *soc;
    reader.refuse("ASCEND_SIM_SOC", text, "the name of a known chip, as in Ascend910B1");
    return *find_soc(default_soc);
}

Settings read() {
    Settings settings{};
    const Reader reader(settings.faults);
    settings.soc = read_soc(reader);
    read_visible_devices(static_cast<uint32_t>(reader.number("ASCEND_SIM_DEVICES", 1, 0, max_devices)),
                         settings);
    settings.run_mode = read_run_mode(reader);
    settings.device_memory = reader.bytes("ASCEND_SIM_MEMORY", settings.soc.memory);
    settings.latency = std::chrono::microseconds(reader.number("ASCEND_SIM_LATENCY_US", 0, 0, 10'000'000));
    settings.always_async =
        reader.flag("ASCEND_SIM_ASYNC") || settings.run_mode == ACL_HOST || settings.latency.count() != 0;
    settings.threads = static_cast<unsigned>(reader.number("ASCEND_SIM_THREADS", usable_cpus(), 1, 1024));
    settings.instruction_set = read_instruction_set(reader);
    settings.report_leaks = reader.flag("ASCEND_SIM_LEAKS");
    const uint64_t cache_limit =
        reader.number("ACLNN_CACHE_LIMIT", 10'000, 0, std::numeric_limits<uint64_t>::max());
    settings.executor_cache_limit = std::min<uint64_t>(cache_limit, 10'000'000);
    const std::string_view disable = variable("DISABLE_L2_CACHE");
    if (!disable.empty() && disable != "0" && disable != "false") settings.executor_cache_limit = 0;
    return settings;
}

}  // namespace

const Settings& settings() {
    static const Settings& instance = *new Settings(read());
    return instance;
}

}  // namespace onnx_ascend::simulator
