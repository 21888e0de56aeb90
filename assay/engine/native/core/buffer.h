// Memory for vectors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "vectors.h"

namespace assay {

constexpr size_t HUGE_PAGE = size_t(1) << 21;

// Memory for numbers, aligned to a cache line, or to huge pages if it is large. It is kept until it must grow. Where the
// system allows it, large memory comes from it and goes back to it page by page: so it takes no more than was asked for,
// and when it grows it leaves no holes behind.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Buffer() { give_back(); }

    // Room for `count` words and a few vectors more, so that the last row can be read by whole vectors.
    template <class Word = float>
    Word* room(size_t words) {
        size_t count = (words * sizeof(Word) + sizeof *data_ - 1) / sizeof *data_;  // in floats
        if (count > size_) {
            give_back();
            data_ = fresh(4 * (count + 4 * LANES));
            size_ = count;
        }
        return data<Word>();
    }
    template <class Word = float>
    Word* data() const {
        return reinterpret_cast<Word*>(data_);
    }

  private:
    // So many bytes of zeros.
    float* fresh(size_t bytes) {
#if defined(__linux__)
        if (bytes >= HUGE_PAGE) {
            mapped_ = bytes + HUGE_PAGE;  // what lies before an aligned beginning is never touched, and takes no memory
            place_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (place_ == MAP_FAILED) {
                place_ = nullptr;
                throw std::bad_alloc();
            }
            uintptr_t first = (reinterpret_cast<uintptr_t>(place_) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
            float* data = reinterpret_cast<float*>(first);
#if defined(MADV_HUGEPAGE)
            madvise(data, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);  // only for speed: it may be refused
#endif
            return data;
        }
#endif
        bytes = (bytes + 63) / 64 * 64;
        float* data = static_cast<float*>(std::aligned_alloc(64, bytes));
        if (!data) throw std::bad_alloc();
        return static_cast<float*>(std::memset(data, 0, bytes));
    }

    void give_back() {
#if defined(__linux__)
        if (place_) munmap(place_, mapped_);
        else
#endif
            std::free(data_);
        data_ = nullptr, place_ = nullptr, size_ = 0;
    }

    void swap(Buffer& other) {
        std::swap(data_, other.data_), std::swap(size_, other.size_);
        std::swap(place_, other.place_), std::swap(mapped_, other.mapped_);
    }
    float* data_ = nullptr;
    size_t size_ = 0;
    void* place_ = nullptr;  // of the system's memory, and
    size_t mapped_ = 0;      // how many bytes of it
};

}  // namespace assay
