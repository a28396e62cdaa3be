#include "dispatch/soc.h"

#include <cctype>

namespace onnx_ascend {

SocFamily soc_family(const std::string& soc_name) {
    const auto starts_with = [&](const char* prefix) { return soc_name.rfind(prefix, 0) == 0; };
    if (starts_with("Ascend910B"))
        return soc_name.size() > 10 && std::isdigit(static_cast<unsigned char>(soc_name[10]))
                   ? SocFamily::ascend910b
                   : SocFamily::ascend910;
    if (starts_with("Ascend910_93")) return SocFamily::ascend910_93;
    if (starts_with("Ascend910A") || starts_with("Ascend910Pro") || starts_with("Ascend910Premium") ||
        soc_name == "Ascend910")
        return SocFamily::ascend910;
    if (starts_with("Ascend950")) return SocFamily::ascend950;
    if (starts_with("Ascend310P")) return SocFamily::ascend310p;
    if (starts_with("Ascend310B")) return SocFamily::ascend310b;
    return SocFamily::unknown;
}

std::string family_name(SocFamily family) {
    switch (family) {
        case SocFamily::ascend910:
            return "ascend910";
        case SocFamily::ascend910b:
            return "ascend910b";
        case SocFamily::ascend910_93:
            return "ascend910_93";
        case SocFamily::ascend950:
            return "ascend950";
        case SocFamily::ascend310p:
            return "ascend310p";
        case SocFamily::ascend310b:
            return "ascend310b";
        case SocFamily::unknown:
            break;
    }
    return {};
}

}  // namespace onnx_ascend
