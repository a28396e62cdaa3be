// A table of handles that knows every handle it ever gave out.
#pragma once

#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

namespace onnx_ascend::simulator {

// A handle is the address of an object in one reserved range of memory that is never given back, so asking
// whether a pointer is a live handle is safe for any pointer, and a destroyed handle is told from a foreign
// one. Slots are reused late and in order, which keeps a stale handle recognisable for a while. Lookup takes
// no lock.
template <typename T>
class HandleTable {
  public:
    explicit HandleTable(uint32_t capacity) : capacity_(capacity) {
        void* range = ::mmap(nullptr, size_t{capacity} * sizeof(Slot), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        slots_ = range == MAP_FAILED ? nullptr : static_cast<Slot*>(range);
#ifdef __SANITIZE_ADDRESS__
        // The leak checker looks for pointers in no mapped memory that it was not told of.
        if (slots_ != nullptr) __lsan_register_root_region(slots_, size_t{capacity} * sizeof(Slot));
#endif
    }
    HandleTable(const HandleTable&) = delete;
    HandleTable& operator=(const HandleTable&) = delete;

    // nullptr when the table is full.
    template <typename... Arguments>
    T* create(Arguments&&... arguments) {
        Slot* slot = take_slot();
        if (slot == nullptr) return nullptr;
        T* object = new (slot->storage) T{std::forward<Arguments>(arguments)...};
        ++slot->generation;
        slot->state.store(live_state, std::memory_order_release);
        live_.fetch_add(1, std::memory_order_relaxed);
        return object;
    }

    // The object of a live handle, nullptr for anything else.
    T* find(const void* handle) const noexcept {
        Slot* slot = slot_of(handle);
        if (slot == nullptr || slot->state.load(std::memory_order_acquire) != live_state) return nullptr;
        return object_of(*slot);
    }

    bool was_destroyed(const void* handle) const noexcept {
        Slot* slot = slot_of(handle);
        return slot != nullptr && slot->state.load(std::memory_order_acquire) == destroyed_state;
    }

    // Words for messages about a handle that find() does not know.
    const char* describe(const void* handle) const noexcept {
        return was_destroyed(handle) ? "was destroyed before" : "is not a handle of this library";
    }

    // Tells the present owner of a slot from later ones. 0 for what is not a live handle.
    uint32_t generation(const void* handle) const noexcept {
        Slot* slot = slot_of(handle);
        if (slot == nullptr || slot->state.load(std::memory_order_acquire) != live_state) return 0;
        return slot->generation;
    }

    // False when the handle is not live (any more): of two threads that destroy the same handle one fails.
    bool destroy(const void* handle) noexcept {
        Slot* slot = slot_of(handle);
        if (slot == nullptr) return false;
        const std::lock_guard<std::mutex> lock(mutex_);
        uint32_t expected = live_state;
        if (!slot->state.compare_exchange_strong(expected, destroyed_state)) return false;
        object_of(*slot)->~T();
        live_.fetch_sub(1, std::memory_order_relaxed);
        give_back(slot);
        return true;
    }

    // Visits live objects. `visit` must not create or destroy any.
    template <typename Visit>
    void for_each(Visit&& visit) const {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (uint32_t i = 0; i < used_; ++i) {
            if (slots_[i].state.load(std::memory_order_acquire) == live_state) visit(*object_of(slots_[i]));
        }
    }

    int64_t live() const noexcept { return live_.load(std::memory_order_relaxed); }

  private:
    static constexpr uint32_t live_state = 1;
    static constexpr uint32_t destroyed_state = 2;
    static constexpr uint32_t quarantine = 64;

    struct Slot {
        std::atomic<uint32_t> state;
        uint32_t generation;
        uint32_t next;
        alignas(64) std::byte storage[sizeof(T)];
    };

    static T* object_of(Slot& slot) noexcept { return std::launder(reinterpret_cast<T*>(slot.storage)); }

    Slot* slot_of(const void* handle) const noexcept {
        const auto address = reinterpret_cast<uintptr_t>(handle);
        const auto base = reinterpret_cast<uintptr_t>(slots_) + offsetof(Slot, storage);
        if (address < base) return nullptr;
        const size_t index = (address - base) / sizeof(Slot);
        if (index >= capacity_ || (address - base) % sizeof(Slot) != 0) return nullptr;
        return slots_ == nullptr ? nullptr : slots_ + index;
    }

    Slot* take_slot() noexcept {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (slots_ == nullptr) return nullptr;
        if (free_count_ > quarantine || (used_ == capacity_ && free_count_ > 0)) {
            Slot* slot = slots_ + oldest_free_;
            oldest_free_ = slot->next;
            --free_count_;
            return slot;
        }
        return used_ < capacity_ ? slots_ + used_++ : nullptr;
    }

    void give_back(Slot* slot) noexcept {
        const auto index = static_cast<uint32_t>(slot - slots_);
        if (free_count_ == 0) {
            oldest_free_ = index;
        } else {
            slots_[newest_free_].next = index;
        }
        newest_free_ = index;
        ++free_count_;
    }

    const uint32_t capacity_;
    Slot* slots_ = nullptr;
    mutable std::mutex mutex_;
    uint32_t used_ = 0;
    uint32_t free_count_ = 0;
    uint32_t oldest_free_ = 0;
    uint32_t newest_free_ = 0;
    std::atomic<int64_t> live_{0};
};

// A handle together with the generation of its slot: notices that the slot was given to somebody else.
template <typename T>
class HandleReference {
  public:
    HandleReference() = default;
    HandleReference(const HandleTable<T>& table, const void* handle) noexcept
        : handle_(handle), generation_(table.generation(handle)) {}

    // nullptr when the handle is no longer the one that was taken.
    T* get(const HandleTable<T>& table) const noexcept {
        if (handle_ == nullptr || table.generation(handle_) != generation_) return nullptr;
        return table.find(handle_);
    }

    bool operator==(const HandleReference& other) const noexcept {
        return handle_ == other.handle_ && generation_ == other.generation_;
    }

  private:
    const void* handle_ = nullptr;
    uint32_t generation_ = 0;
};

}  // namespace onnx_ascend::simulator
