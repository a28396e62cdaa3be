// Device memory, pinned host memory, and what a pointer points to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace onnx_ascend::simulator {

struct Block;

// Keeps a block marked as in use by work that a stream has not passed yet. Freeing such a block is refused.
class Pin {
  public:
    Pin() = default;
    explicit Pin(Block* block) noexcept;
    Pin(Pin&& other) noexcept : block_(other.block_) { other.block_ = nullptr; }
    Pin& operator=(Pin&& other) noexcept;
    ~Pin();

  private:
    Block* block_ = nullptr;
};

enum class Place {
    device,   // inside a live device allocation
    pinned,   // inside a live allocation of aclrtMallocHost
    foreign,  // memory of the program that ACL does not know
    invalid,  // in the address range of a device, but not (wholly) inside a live allocation
};

// A range of memory that an operation touches.
struct Region {
    Place place = Place::foreign;
    void* view = nullptr;  // where the simulator itself reads and writes it
    Block* block = nullptr;
    uint32_t device = 0;

    // In device mode host and device share their memory, so any pointer of the program will do.
    bool usable_by_device() const noexcept;
};

Region find_region(const void* address, size_t size) noexcept;

// Allocations of one device (logical id). nullptr when the limit is reached.
void* allocate_device(uint32_t device, size_t size);
void* allocate_host(size_t size);

enum class FreeResult { done, unknown, in_use };
FreeResult free_device(void* address);
FreeResult free_host(void* address);

// Frees everything that is left on the device; how many allocations that were.
size_t free_all_of_device(uint32_t device);

struct MemoryInfo {
    size_t free;
    size_t total;
};
MemoryInfo device_memory_info(uint32_t device);

void list_live_allocations(std::FILE* out);

}  // namespace onnx_ascend::simulator
