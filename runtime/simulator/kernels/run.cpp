#include "simulator/kernels/run.h"

#include <algorithm>
#include <cstring>

#include "simulator/kernels/conversion.h"
#include "simulator/kernels/float_environment.h"
#include "simulator/kernels/strided.h"
#include "simulator/threads.h"

namespace onnx_ascend::simulator {
namespace {

constexpr size_t room_bytes = 8192;
// Work below this many bytes is done before another thread has woken up.
constexpr int64_t parallel_bytes = int64_t{2} << 20;
// Operands of more bytes do not stay in the caches anyway, so the result is written past them.
constexpr int64_t streaming_bytes = int64_t{64} << 20;

struct Room {
    alignas(64) std::byte bytes[room_bytes];
};

template <typename Element>
void gather_elements(const std::byte* from, int64_t stride, std::byte* to, int64_t count) {
    const Element* source = reinterpret_cast<const Element*>(from);
    Element* target = reinterpret_cast<Element*>(to);
    for (int64_t i = 0; i < count; ++i) target[i] = source[i * stride];
}

template <typename Element>
void scatter_elements(const std::byte* from, std::byte* to, int64_t stride, int64_t count) {
    const Element* source = reinterpret_cast<const Element*>(from);
    Element* target = reinterpret_cast<Element*>(to);
    for (int64_t i = 0; i < count; ++i) target[i * stride] = source[i];
}

struct SixteenBytes {
    uint64_t part[2];
};

void gather(size_t size, const std::byte* from, int64_t stride, std::byte* to, int64_t count) {
    if (stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(count) * size);
        return;
    }
    switch (size) {
        case 2:
            gather_elements<uint16_t>(from, stride, to, count);
            break;
        case 4:
            gather_elements<uint32_t>(from, stride, to, count);
            break;
        case 8:
            gather_elements<uint64_t>(from, stride, to, count);
            break;
        default:
            gather_elements<SixteenBytes>(from, stride, to, count);
            break;
    }
}

void scatter(size_t size, const std::byte* from, std::byte* to, int64_t stride, int64_t count) {
    if (stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(count) * size);
        return;
    }
    switch (size) {
        case 2:
            scatter_elements<uint16_t>(from, to, stride, count);
            break;
        case 4:
            scatter_elements<uint32_t>(from, to, stride, count);
            break;
        case 8:
            scatter_elements<uint64_t>(from, to, stride, count);
            break;
        default:
            scatter_elements<SixteenBytes>(from, to, stride, count);
            break;
    }
}

// Delivers an input chunk by chunk in the promoted type, from where it lies when nothing has to change.
class Input {
  public:
    Input(const Plan& plan, int operand, const void* view, int64_t start)
        : view_(static_cast<const std::byte*>(view)),
          size_(element_size(plan.types[operand])),
          contiguous_(plan.contiguous(operand)),
          conversion_(plan.types[operand], plan.promoted),
          walker_(plan.rank, plan.extent, plan.stride[operand], start),
          position_(start) {}

    bool direct() const noexcept { return contiguous_ && conversion_.is_identity(); }

    const void* next(int64_t count) {
        const std::byte* elements = view_ + position_ * static_cast<int64_t>(size_);
        position_ += count;
        if (!contiguous_) {
            for (int64_t done = 0; done < count;) {
                const Run part = walker_.next(count - done);
                gather(size_, view_ + part.first * static_cast<int64_t>(size_), part.stride,
                       gathered_.bytes + done * static_cast<int64_t>(size_), part.length);
                done += part.length;
            }
            elements = gathered_.bytes;
        }
        if (conversion_.is_identity()) return elements;
        conversion_.run(elements, converted_.bytes, scratch_.bytes, static_cast<size_t>(count));
        return converted_.bytes;
    }

  private:
    const std::byte* const view_;
    const size_t size_;
    const bool contiguous_;
    const Conversion conversion_;
    StridedWalker walker_;
    int64_t position_;
    Room gathered_;
    Room converted_;
    Room scratch_;
};

// Takes results chunk by chunk in the promoted type.
class Output {
  public:
    Output(const Plan& plan, void* view, int64_t start)
        : view_(static_cast<std::byte*>(view)),
          size_(element_size(plan.types[operand_count - 1])),
          contiguous_(plan.contiguous(operand_count - 1)),
          conversion_(plan.promoted, plan.types[operand_count - 1]),
          walker_(plan.rank, plan.extent, plan.stride[operand_count - 1], start),
          position_(start) {}

    bool direct() const noexcept { return contiguous_ && conversion_.is_identity(); }

    // Where the kernel may write the next chunk.
    void* room() noexcept {
        return direct() ? view_ + position_ * static_cast<int64_t>(size_) : computed_.bytes;
    }

    // Puts what the kernel wrote there in its place.
    void put(int64_t count) {
        if (!direct()) {
            const std::byte* elements = computed_.bytes;
            if (!conversion_.is_identity()) {
                conversion_.run(elements, converted_.bytes, scratch_.bytes, static_cast<size_t>(count));
                elements = converted_.bytes;
            }
            store(elements, count);
        }
        position_ += count;
    }

  private:
    void store(const std::byte* elements, int64_t count) {
        const auto size = static_cast<int64_t>(size_);
        if (contiguous_) {
            std::memcpy(view_ + position_ * size, elements, static_cast<size_t>(count) * size_);
            return;
        }
        for (int64_t done = 0; done < count;) {
            const Run part = walker_.next(count - done);
            scatter(size_, elements + done * size, view_ + part.first * size, part.stride, part.length);
            done += part.length;
        }
    }

    std::byte* const view_;
    const size_t size_;
    const bool contiguous_;
    const Conversion conversion_;
    StridedWalker walker_;
    int64_t position_;
    Room computed_;
    Room converted_;
    Room scratch_;
};

// As many elements as fit into a room in every type that they pass through; conversions pass through at most
// the wider of their two ends.
int64_t chunk_of(const Plan& plan) {
    size_t widest = element_size(plan.promoted);
    for (const aclDataType type : plan.types) widest = std::max(widest, element_size(type));
    return static_cast<int64_t>(room_bytes / widest);
}

void run_range(const Plan& plan, void* const (&views)[operand_count], int64_t begin, int64_t end,
               bool streaming) {
    const FloatEnvironment environment;
    const BinaryLoops& kernel_loops = loops().*(plan.kernel->loops);
    Input a(plan, 0, views[0], begin);
    Input b(plan, 1, views[1], begin);
    Output out(plan, views[2], begin);
    const BinaryLoop loop = kernel_loops.of(plan.promoted, streaming && out.direct());
    const int64_t step = a.direct() && b.direct() && out.direct() ? end - begin : chunk_of(plan);
    for (int64_t position = begin; position < end; position += step) {
        const int64_t count = std::min(step, end - position);
        const void* of_a = a.next(count);
        const void* of_b = b.next(count);
        loop(of_a, of_b, out.room(), static_cast<size_t>(count));
        out.put(count);
    }
}

}  // namespace

void run(const Plan& plan, void* const (&views)[operand_count]) {
    int64_t bytes_per_element = 0;
    for (const aclDataType type : plan.types) bytes_per_element += static_cast<int64_t>(element_size(type));
    const int64_t bytes = plan.count * bytes_per_element;
    if (bytes < parallel_bytes) {
        run_range(plan, views, 0, plan.count, false);
        return;
    }
    const bool streaming = bytes > streaming_bytes;
    parallel_for(plan.count, parallel_bytes / 4 / bytes_per_element,
                 [&](int64_t begin, int64_t end) { run_range(plan, views, begin, end, streaming); });
}

}  // namespace onnx_ascend::simulator
