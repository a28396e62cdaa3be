// Host callbacks in a stream. As with CANN, a callback runs on the thread that subscribed to the stream, when
// that thread asks for it.
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "simulator/process.h"
#include "simulator/stream.h"

namespace onnx_ascend::simulator {
namespace {

struct Report {
    aclrtCallback function;
    void* user_data;
    bool done = false;
};

struct Reports {
    std::mutex mutex;
    std::condition_variable arrived;
    std::condition_variable finished;
    std::map<const Stream*, uint64_t> subscriber;                       // thread by stream
    std::map<uint64_t, std::deque<std::shared_ptr<Report>>> by_thread;  // waiting to be processed
};

Reports& reports() {
    static Reports& instance = *new Reports;
    return instance;
}

TaskFailure deliver(const Stream* stream, const std::shared_ptr<Report>& report, bool block) {
    Reports& all = reports();
    std::unique_lock<std::mutex> lock(all.mutex);
    const auto subscriber = all.subscriber.find(stream);
    if (subscriber == all.subscriber.end()) {
        return {ACL_ERROR_RT_STREAM_NO_CB_REG,
                "no thread is subscribed to the stream of a callback any more"};
    }
    all.by_thread[subscriber->second].push_back(report);
    all.arrived.notify_all();
    if (block) all.finished.wait(lock, [&report] { return report->done; });
    return {};
}

uint64_t this_thread() {
    return static_cast<uint64_t>(::pthread_self());
}

}  // namespace
}  // namespace onnx_ascend::simulator

using namespace onnx_ascend::simulator;

ONNX_ASCEND_CALL_POINT(aclrtSubscribeReport);
ONNX_ASCEND_CALL_POINT(aclrtUnSubscribeReport);
ONNX_ASCEND_CALL_POINT(aclrtProcessReport);
ONNX_ASCEND_CALL_POINT(aclrtLaunchCallback);

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return guarded(call_aclrtSubscribeReport, [&]() -> int {
        int status = ACL_SUCCESS;
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        const std::lock_guard<std::mutex> lock(reports().mutex);
        if (!reports().subscriber.emplace(target.get(), threadId).second) {
            return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "a thread is subscribed to the stream already");
        }
        return ACL_SUCCESS;
    });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return guarded_release(call_aclrtUnSubscribeReport, [&]() -> int {
        int status = ACL_SUCCESS;
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        const std::lock_guard<std::mutex> lock(reports().mutex);
        const auto found = reports().subscriber.find(target.get());
        if (found == reports().subscriber.end() || found->second != threadId) {
            return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "the thread is not subscribed to the stream");
        }
        reports().subscriber.erase(found);
        return ACL_SUCCESS;
    });
}

aclError aclrtProcessReport(int32_t timeout) {
    return guarded(call_aclrtProcessReport, [&]() -> int {
        if (timeout < -1) return fail(ACL_ERROR_INVALID_PARAM, "timeout %d is below -1", timeout);
        if (const int status = require_initialised()) return status;
        Reports& all = reports();
        std::unique_lock<std::mutex> lock(all.mutex);
        std::deque<std::shared_ptr<Report>>& queue = all.by_thread[this_thread()];
        const auto available = [&queue] { return !queue.empty(); };
        if (timeout < 0) {
            all.arrived.wait(lock, available);
        } else if (!all.arrived.wait_for(lock, std::chrono::milliseconds(timeout), available)) {
            return fail(ACL_ERROR_RT_REPORT_TIMEOUT, "no callback arrived within %d ms", timeout);
        }
        const std::shared_ptr<Report> report = queue.front();
        queue.pop_front();
        lock.unlock();
        report->function(report->user_data);
        lock.lock();
        report->done = true;
        all.finished.notify_all();
        return ACL_SUCCESS;
    });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
    return guarded(call_aclrtLaunchCallback, [&]() -> int {
        if (fn == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "fn is nullptr");
        if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
            return fail(ACL_ERROR_INVALID_PARAM, "blockType %d is unknown", static_cast<int>(blockType));
        }
        int status = ACL_SUCCESS;
        const std::shared_ptr<Stream> target = find_stream_of_current_context(stream, status);
        if (target == nullptr) return status;
        {
            const std::lock_guard<std::mutex> lock(reports().mutex);
            if (reports().subscriber.count(target.get()) == 0) {
                return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "call aclrtSubscribeReport for the stream first");
            }
        }
        const bool block = blockType == ACL_CALLBACK_BLOCK;
        // A task holds the stream's address only: it runs while the stream lives.
        target->submit([stream_key = target.get(), report = std::make_shared<Report>(Report{fn, userData}),
                        block] { return deliver(stream_key, report, block); },
                       !block);
        return ACL_SUCCESS;
    });
}
