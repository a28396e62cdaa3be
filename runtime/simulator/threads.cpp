#include "simulator/threads.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "simulator/settings.h"

namespace onnx_ascend::simulator {
namespace {

constexpr int64_t pieces_per_thread = 4;

class Pool {
  public:
    explicit Pool(unsigned threads) {
        for (unsigned i = 1; i < threads; ++i) std::thread([this] { serve(); }).detach();
    }

    // False when another caller has the pool.
    bool try_run(int64_t count, int64_t piece, const std::function<void(int64_t, int64_t)>& body) {
        const std::unique_lock<std::mutex> owner(owner_mutex_, std::try_to_lock);
        if (!owner.owns_lock()) return false;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            body_ = &body;
            count_ = count;
            piece_ = piece;
            next_.store(0, std::memory_order_relaxed);
            ++job_;
        }
        wake_.notify_all();
        work();
        std::unique_lock<std::mutex> lock(mutex_);
        body_ = nullptr;  // nobody joins from here on
        idle_.wait(lock, [this] { return active_ == 0; });
        return true;
    }

  private:
    void work() {
        while (true) {
            const int64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
            if (begin >= count_) return;
            (*body_)(begin, std::min(begin + piece_, count_));
        }
    }

    void serve() {
        uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex_);
        while (true) {
            wake_.wait(lock, [&] { return job_ != seen && body_ != nullptr; });
            seen = job_;
            ++active_;
            const auto* body = body_;
            const int64_t count = count_;
            const int64_t piece = piece_;
            lock.unlock();
            for (int64_t begin = next_.fetch_add(piece, std::memory_order_relaxed); begin < count;
                 begin = next_.fetch_add(piece, std::memory_order_relaxed)) {
                (*body)(begin, std::min(begin + piece, count));
            }
            lock.lock();
            if (--active_ == 0) idle_.notify_all();
        }
    }

    std::mutex owner_mutex_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::condition_variable idle_;
    const std::function<void(int64_t, int64_t)>* body_ = nullptr;
    int64_t count_ = 0;
    int64_t piece_ = 0;
    std::atomic<int64_t> next_{0};
    uint64_t job_ = 0;
    int active_ = 0;
};

// Never destroyed: its threads outlive everything, and the process ends with them.
Pool& pool() {
    static Pool& instance = *new Pool(settings().threads);
    return instance;
}

}  // namespace

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    if (settings().threads > 1) {
        const int64_t pieces = pieces_per_thread * settings().threads;
        constexpr int64_t alignment = 64;
        const int64_t piece =
            (std::max(grain, (count + pieces - 1) / pieces) + alignment - 1) / alignment * alignment;
        if (piece < count && pool().try_run(count, piece, body)) return;
    }
    body(0, count);
}

}  // namespace onnx_ascend::simulator
