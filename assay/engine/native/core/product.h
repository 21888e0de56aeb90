// Matrix products. Every element of a result is one chain of multiply-adds over the contraction, in order, whatever
// the shape of the tile it is made in, the number of rows beside it, or the thread: so a token's numbers do not depend
// on its company.
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

// Floats on a cache line, or on large pages where they are many; kept until the size grows.
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

    // Room for `count` floats and a vector beyond, so that the last row may be read by whole vectors.
    float* room(size_t count) {
        if (count > size_) {
            std::free(data_);
            data_ = nullptr, size_ = 0;
            size_t bytes = 4 * (count + 2 * LANES), unit = bytes < HUGE_PAGE ? 64 : HUGE_PAGE;
            bytes = (bytes + unit - 1) / unit * unit;
            data_ = static_cast<float*>(std::aligned_alloc(unit, bytes));
            if (!data_) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
            if (unit == HUGE_PAGE) madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: without it all is as right, but slower
#endif
            std::memset(data_, 0, bytes);
            size_ = count;
        }
        return data_;
    }
    float* data() const { return data_; }
    size_t size() const { return size_; }

  private:
    void swap(Buffer& other) { std::swap(data_, other.data_), std::swap(size_, other.size_); }
    float* data_ = nullptr;
    size_t size_ = 0;
};

// A right-hand side B [depth, width] as panels of PANEL columns, each [depth][PANEL], zeros beyond the width.
struct Panels {
    int depth = 0, width = 0;
    Buffer buffer;

    static int count(int width) { return (width + PANEL - 1) / PANEL; }
    const float* panel(int j) const { return buffer.data() + static_cast<size_t>(j) * depth * PANEL; }

    void reserve(int depth_, int width_) {
        depth = depth_, width = width_;
        buffer.room(static_cast<size_t>(count(width)) * depth * PANEL);
    }

    // Panels [first, last) of B[k][j] = w[j * stride + k]: rows of w become columns.
    void pack_rows(const float* w, size_t stride, int first, int last) {
        for (int p = first; p < last; p++) {
            float* to = buffer.data() + static_cast<size_t>(p) * depth * PANEL;
            int columns = std::min(PANEL, width - p * PANEL);
            for (int j = 0; j < PANEL; j++) {
                const float* from = w + static_cast<size_t>(p * PANEL + j) * stride;
                for (int k = 0; k < depth; k++) to[static_cast<size_t>(k) * PANEL + j] = j < columns ? from[k] : 0.0f;
            }
        }
    }

    // Panels [first, last) of B[k][j] = w[k * stride + j].
    void pack_columns(const float* w, size_t stride, int first, int last) {
        for (int p = first; p < last; p++)
            pack_panel(w + p * PANEL, stride, depth, std::min(PANEL, width - p * PANEL),
                       buffer.data() + static_cast<size_t>(p) * depth * PANEL);
    }

    static void pack_panel(const float* w, size_t stride, int depth, int columns, float* to) {
        if (columns == PANEL) {
            for (int k = 0; k < depth; k++, to += PANEL)
                for (int v = 0; v < TILE_VECTORS; v++) store(to + v * LANES, load(w + k * stride + v * LANES));
        } else {
            for (int k = 0; k < depth; k++, to += PANEL) {
                std::memset(to, 0, 4 * PANEL);
                std::memcpy(to, w + k * stride, 4 * static_cast<size_t>(columns));
            }
        }
    }
};

// The left-hand side of a product: element (i, k) at data[i * row + k * step].
struct Left {
    const float* data;
    size_t row, step;
};

enum class Start { zero, bias, result };  // what the chains begin with

// ROWS x VECTORS vectors of the result: `c` += or = A B over the whole depth.
// Meanwhile `ahead` is brought nearer, `pace` floats a step: a part of the next panel.
template <int ROWS, int VECTORS, bool BY_ROWS>
inline void tile(Left a, const float* panel, int depth, const float* ahead, int pace, vec (&sums)[ROWS][VECTORS]) {
    constexpr int THREE = (ROWS + 2) / 3;  // a base pointer serves three rows: base, base + row, base + 2 row
    const float* base[THREE];
    for (int i = 0; i < THREE; i++) base[i] = a.data + 3 * i * (BY_ROWS ? a.row : 1);
    for (int k = 0; k < depth; k++) {
        vec b[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) b[v] = load(panel + k * PANEL + v * LANES);
        __builtin_prefetch(ahead + k * pace, 0, 2);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            float x = BY_ROWS ? base[i / 3][(i % 3) * a.row] : base[0][i];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[i][v] += b[v] * x;
        }
        if (BY_ROWS) {
#pragma GCC unroll 16
            for (int i = 0; i < THREE; i++) base[i]++;
        } else {
            base[0] += a.step;
        }
    }
}

template <int ROWS, int VECTORS, bool BY_ROWS>
inline void block(Left a, const float* panel, int depth, const float* ahead, int pace, float* c, size_t stride,
                  int columns, Start start, const float* bias) {
    vec sums[ROWS][VECTORS];
    bool whole = columns == VECTORS * LANES;
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < VECTORS; v++) {
            const float* from = start == Start::bias ? bias + v * LANES : c + i * stride + v * LANES;
            int lanes = std::min(LANES, columns - v * LANES);
            if (start == Start::zero) sums[i][v] = vec{};
            else sums[i][v] = whole ? load(from) : load_part(from, lanes);
        }
    tile<ROWS, VECTORS, BY_ROWS>(a, panel, depth, ahead, pace, sums);
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < VECTORS; v++) {
            int lanes = std::min(LANES, columns - v * LANES);
            float* to = c + i * stride + v * LANES;
            if (whole) store(to, sums[i][v]);
            else store_part(to, sums[i][v], lanes);
        }
}

template <int VECTORS, bool BY_ROWS, int ROWS = TILE_ROWS>
inline void block_of(int rows, Left a, const float* panel, int depth, const float* ahead, int pace, float* c,
                     size_t stride, int columns, Start start, const float* bias) {
    if constexpr (ROWS > 0) {
        if (rows == ROWS)
            block<ROWS, VECTORS, BY_ROWS>(a, panel, depth, ahead, pace, c, stride, columns, start, bias);
        else block_of<VECTORS, BY_ROWS, ROWS - 1>(rows, a, panel, depth, ahead, pace, c, stride, columns, start, bias);
    }
}

// One panel's columns of C[rows, width]. Meanwhile `next` is brought nearer, the panel after this one; none where it is
// this one.
template <bool BY_ROWS>
void panel_product(int rows, Left a, const float* panel, const float* next, int depth, float* c, size_t stride,
                   int columns, Start start, const float* bias) {
    int tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, pace = next == panel ? 0 : (PANEL + tiles - 1) / tiles;
    const float* ahead = next;
    for (int i = 0; i < rows; ahead += static_cast<size_t>(pace) * depth) {
        int left = rows - i, count = left >= 2 * TILE_ROWS || left <= TILE_ROWS ? std::min(left, TILE_ROWS)
                                                                                : (left + 1) / 2;  // no thin last tile
        Left at{a.data + i * a.row, a.row, a.step};
        static_assert(TILE_VECTORS <= 3, "one more width below");
        int vectors = (columns + LANES - 1) / LANES;
        float* to = c + i * stride;
        if (vectors == TILE_VECTORS)
            block_of<TILE_VECTORS, BY_ROWS>(count, at, panel, depth, ahead, pace, to, stride, columns, start, bias);
        else if (vectors == 1)
            block_of<1, BY_ROWS>(count, at, panel, depth, ahead, pace, to, stride, columns, start, bias);
        else block_of<2, BY_ROWS>(count, at, panel, depth, ahead, pace, to, stride, columns, start, bias);
        i += count;
    }
}

// C[rows, B.width] = start + A B, A by rows.
inline void product(int rows, const float* a, size_t a_stride, const Panels& b, float* c, size_t c_stride, Start start,
                    const float* bias = nullptr) {
    if (rows <= 0) return;
    if (start == Start::bias && !bias) start = Start::zero;
    for (int p = 0; p < Panels::count(b.width); p++) {
        int columns = std::min(PANEL, b.width - p * PANEL);
        const float* next = b.panel(p + 1 < Panels::count(b.width) ? p + 1 : p);
        panel_product<true>(rows, Left{a, a_stride, 1}, b.panel(p), next, b.depth, c + p * PANEL, c_stride, columns,
                            start, bias ? bias + p * PANEL : nullptr);
    }
}

// `rows` columns of a matrix, TILE_ROWS of them side by side.
inline void pack_left(const float* a, size_t stride, int tokens, int rows, float* to) {
    if (rows == TILE_ROWS)
        for (int k = 0; k < tokens; k++) std::memcpy(to + k * TILE_ROWS, a + k * stride, 4 * TILE_ROWS);
    else
        for (int k = 0; k < tokens; k++) std::memcpy(to + k * TILE_ROWS, a + k * stride, 4 * static_cast<size_t>(rows));
}

// C[rows, width] += A' B over `depth` tokens, A [depth, rows], B [depth, width].
inline void add_outer(int rows, int width, int depth, const float* a, size_t a_stride, const float* b, size_t b_stride,
                      float* c, size_t c_stride, Buffer& scratch) {
    constexpr int TOKENS = 256;  // at a time, so that what is packed stays in the inner caches
    int blocks = (rows + TILE_ROWS - 1) / TILE_ROWS;
    float* left = scratch.room(static_cast<size_t>(TOKENS) * (blocks * TILE_ROWS + PANEL));
    float* panel = left + static_cast<size_t>(TOKENS) * blocks * TILE_ROWS;
    for (int t = 0; t < depth; t += TOKENS) {
        int tokens = std::min(TOKENS, depth - t);
        for (int i = 0; i < blocks; i++)
            pack_left(a + t * a_stride + i * TILE_ROWS, a_stride, tokens, std::min(TILE_ROWS, rows - i * TILE_ROWS),
                      left + static_cast<size_t>(i) * tokens * TILE_ROWS);
        for (int p = 0; p < Panels::count(width); p++) {
            int columns = std::min(PANEL, width - p * PANEL);
            Panels::pack_panel(b + t * b_stride + p * PANEL, b_stride, tokens, columns, panel);
            for (int i = 0; i < blocks; i++)
                panel_product<false>(std::min(TILE_ROWS, rows - i * TILE_ROWS),
                                     Left{left + static_cast<size_t>(i) * tokens * TILE_ROWS, 1, TILE_ROWS}, panel,
                                     panel, tokens, c + i * TILE_ROWS * c_stride + p * PANEL, c_stride, columns,
                                     Start::result, nullptr);
        }
    }
}

}  // namespace assay
