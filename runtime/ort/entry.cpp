// The functions that ONNX Runtime looks up in a plugin library. RegisterCustomOps is with the custom
// operators.
#include "ort/factory.h"

using namespace onnx_ascend;
using namespace onnx_ascend::ort;

extern "C" {

// The registered name is the caller's business; the provider's own name is a constant.
__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(
    const char* /*registered_name*/, const OrtApiBase* base, const OrtLogger* default_logger,
    OrtEpFactory** factories, size_t max_factories, size_t* factory_count) {
    *factory_count = 0;
    const Ort* ort = Ort::negotiate(base, kOldestPluginVersion);
    if (ort == nullptr)
        return too_old_status(base, std::string("the execution provider ") + kEpName, kOldestPluginVersion);
    return ort->guarded([&] {
        if (max_factories < 1) throw InvalidArgument("there is no room for one factory");
        factories[0] = Factory::create(*ort, default_logger);
        *factory_count = 1;
    });
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
    Factory::release(factory);
    return nullptr;
}

}  // extern "C"
