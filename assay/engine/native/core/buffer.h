// Memory for vectors.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "vectors.h"

namespace assay {

constexpr size_t HUGE_PAGE = size_t(1) << 21;

// Memory for numbers, aligned to a cache line, or to huge pages if it is large. It is kept until it must grow.
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
    ~Buffer() { std::free(data_); }

    // Room for `count` words and a few vectors more, so that the last row can be read by whole vectors.
    template <class Word = float>
    Word* room(size_t words) {
        size_t count = (words * sizeof(Word) + sizeof *data_ - 1) / sizeof *data_;  // in floats
        if (count > size_) {
            std::free(data_);
            data_ = nullptr, size_ = 0;
            size_t bytes = 4 * (count + 4 * LANES), unit = bytes < HUGE_PAGE ? 64 : HUGE_PAGE;
            bytes = (bytes + unit - 1) / unit * unit;
            data_ = static_cast<float*>(std::aligned_alloc(unit, bytes));
            if (!data_) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
            if (unit == HUGE_PAGE) madvise(data_, bytes, MADV_HUGEPAGE);  // only for speed: it may be refused
#endif
            std::memset(data_, 0, bytes);
            size_ = count;
        }
        return data<Word>();
    }
    template <class Word = float>
    Word* data() const {
        return reinterpret_cast<Word*>(data_);
    }

  private:
    void swap(Buffer& other) { std::swap(data_, other.data_), std::swap(size_, other.size_); }
    float* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace assay
