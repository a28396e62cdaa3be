#include "simulator/soc.h"

#include <algorithm>
#include <cctype>
#include <cstring>

namespace onnx_ascend::simulator {
namespace {

constexpr size_t gib = size_t{1} << 30;
constexpr size_t mib = size_t{1} << 20;

// How the part of a name behind the row's prefix must look.
enum class Suffix { none, digits, alphanumeric };

struct Row {
    const char* prefix;
    Suffix suffix;
    SocFamily family;
    uint32_t cube_cores;
    uint32_t vector_cores;
    size_t memory;
};

// The first row that fits wins. Cores and memory: CANN's platform configuration.
constexpr Row rows[] = {
    {"Ascend910A", Suffix::none, SocFamily::ascend910, 32, 32, 32 * gib},
    {"Ascend910B", Suffix::none, SocFamily::ascend910, 32, 32, 32 * gib},
    {"Ascend910ProA", Suffix::none, SocFamily::ascend910, 32, 32, 32 * gib},
    {"Ascend910ProB", Suffix::none, SocFamily::ascend910, 30, 30, 32 * gib},
    {"Ascend910PremiumA", Suffix::none, SocFamily::ascend910, 32, 32, 32 * gib},
    {"Ascend910B1", Suffix::none, SocFamily::ascend910b, 24, 48, 64 * gib},
    {"Ascend910B2", Suffix::none, SocFamily::ascend910b, 24, 48, 64 * gib},
    {"Ascend910B2C", Suffix::none, SocFamily::ascend910b, 24, 48, 64 * gib},
    {"Ascend910B3", Suffix::none, SocFamily::ascend910b, 20, 40, 64 * gib},
    {"Ascend910B4", Suffix::none, SocFamily::ascend910b, 20, 40, 32 * gib},
    {"Ascend910B4-1", Suffix::none, SocFamily::ascend910b, 20, 40, 64 * gib},
    {"Ascend910_9363", Suffix::none, SocFamily::ascend910_93, 20, 40, 32 * gib},
    {"Ascend910_936", Suffix::digits, SocFamily::ascend910_93, 20, 40, 64 * gib},
    {"Ascend910_937", Suffix::digits, SocFamily::ascend910_93, 20, 40, 64 * gib},
    {"Ascend910_938", Suffix::digits, SocFamily::ascend910_93, 24, 48, 64 * gib},
    {"Ascend910_939", Suffix::digits, SocFamily::ascend910_93, 24, 48, 64 * gib},
    {"Ascend950DT_9", Suffix::alphanumeric, SocFamily::ascend950, 32, 64, 128 * gib},
    {"Ascend950PR_9", Suffix::alphanumeric, SocFamily::ascend950, 32, 64, 128 * gib},
    {"Ascend310P1", Suffix::none, SocFamily::ascend310p, 10, 8, 24 * gib},
    {"Ascend310P3", Suffix::none, SocFamily::ascend310p, 8, 7, 24 * gib},
    {"Ascend310P5", Suffix::none, SocFamily::ascend310p, 8, 7, 24 * gib},
    {"Ascend310P7", Suffix::none, SocFamily::ascend310p, 8, 7, 24 * gib},
    {"Ascend310B", Suffix::digits, SocFamily::ascend310b, 1, 1, 12 * gib},
};

bool fits(const Row& row, const std::string& name) {
    const size_t length = std::strlen(row.prefix);
    if (name.compare(0, length, row.prefix) != 0) return false;
    if (row.suffix == Suffix::none) return name.size() == length;
    const auto accepted = [&row](unsigned char c) {
        return row.suffix == Suffix::digits ? std::isdigit(c) != 0 : std::isalnum(c) != 0;
    };
    return name.size() > length &&
           std::all_of(name.begin() + static_cast<std::ptrdiff_t>(length), name.end(), accepted);
}

uint32_t stream_limit(SocFamily family) {
    switch (family) {
        case SocFamily::ascend910:
            return 2048;
        case SocFamily::ascend310p:
            return 1024;
        case SocFamily::ascend310b:
            return 512;
        default:
            return 1984;
    }
}

uint32_t event_limit(SocFamily family) {
    switch (family) {
        case SocFamily::ascend910:
            return 65535;
        case SocFamily::ascend310p:
            return 1023;
        default:
            return 65536;
    }
}

}  // namespace

std::optional<Soc> find_soc(const std::string& name) {
    for (const Row& row : rows) {
        if (!fits(row, name)) continue;
        const size_t l2_cache = row.family == SocFamily::ascend910b || row.family == SocFamily::ascend910_93
                                    ? 192 * mib
                                : row.family == SocFamily::ascend950 ? 128 * mib
                                : row.family == SocFamily::ascend910 ? 32 * mib
                                                                     : 16 * mib;
        return Soc{name,       row.family, row.cube_cores,           row.vector_cores,
                   row.memory, l2_cache,   stream_limit(row.family), event_limit(row.family)};
    }
    return std::nullopt;
}

}  // namespace onnx_ascend::simulator
