#include "ort/data_transfer.h"

#include <vector>

#include "ort/copy.h"

namespace onnx_ascend::ort {

DataTransfer::DataTransfer(const Ort& ort) : OrtDataTransferImpl{}, ort_(ort) {
    ort_version_supported = ort.version();
    OrtDataTransferImpl::Release = [](OrtDataTransferImpl* self) { delete static_cast<DataTransfer*>(self); };
    OrtDataTransferImpl::CanCopy = [](const OrtDataTransferImpl* self, const OrtMemoryDevice* source,
                                      const OrtMemoryDevice* target) {
        return static_cast<const DataTransfer*>(self)->can_copy(source, target);
    };
    OrtDataTransferImpl::CopyTensors = [](OrtDataTransferImpl* self, const OrtValue** sources,
                                          OrtValue** targets, OrtSyncStream** streams, size_t count) {
        const auto* me = static_cast<const DataTransfer*>(self);
        return me->ort_.guarded([&] { me->copy_tensors(sources, targets, streams, count); });
    };
}

bool DataTransfer::can_copy(const OrtMemoryDevice* source, const OrtMemoryDevice* target) const {
    const auto is_cpu = [&](const OrtMemoryDevice* device) {
        return ort_.ep_api().MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU;
    };
    const bool source_ours = is_ours(ort_, source);
    const bool target_ours = is_ours(ort_, target);
    return (source_ours && target_ours) || (source_ours && is_cpu(target)) || (is_cpu(source) && target_ours);
}

void DataTransfer::copy_tensors(const OrtValue** sources, OrtValue** targets, OrtSyncStream** streams,
                                size_t count) const {
    std::vector<SyncStream*> to_wait_for;
    for (size_t i = 0; i < count; ++i) {
        SyncStream* stream =
            streams == nullptr || streams[i] == nullptr ? nullptr : SyncStream::from(ort_, streams[i]);
        bool wait = false;
        copy_tensor(ort_, sources[i], targets[i], stream, &wait);
        if (wait) to_wait_for.push_back(stream);
    }
    // Once per stream: those that have been waited for are idle.
    for (SyncStream* stream : to_wait_for) stream->execution().synchronize();
}

}  // namespace onnx_ascend::ort
