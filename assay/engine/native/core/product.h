// Matrix products. Every element of a result is one chain of multiply-adds along the contraction, in order. The chain does
// not depend on the shape of the tile, the number of other rows, or the thread, so a token's result does not depend on the
// other tokens of a batch.
#pragma once

#include "element.h"

namespace assay {

// The elements of `columns` chains that lie side by side in w, WIDTH places a step, zeros in those beyond.
template <int WIDTH>
inline void pack(const float* w, size_t stride, int depth, int columns, Element* to) {
    for (int k = 0; k < steps_of(depth); k++, to += WIDTH) {
        if (columns == WIDTH) {
            put_elements(w, stride, k, depth, WIDTH, to);
        } else {
            std::memset(to, 0, 4 * WIDTH);
            put_elements(w, stride, k, depth, columns, to);
        }
    }
}

// A right-hand side B [depth, width], stored as panels of PANEL columns, each [steps][PANEL], padded with zeros.
struct Panels {
    int depth = 0, width = 0;
    Buffer buffer;

    static int count(int width) { return (width + PANEL - 1) / PANEL; }
    size_t size() const { return static_cast<size_t>(steps_of(depth)) * PANEL; }
    Element* panel(int j) const { return buffer.data<Element>() + j * size(); }

    void reserve(int depth_, int width_) {
        depth = depth_, width = width_;
        buffer.room(count(width) * size());
    }

    // Panels [first, last) of B[k][j] = w[j * stride + k]: rows of w become columns.
    void pack_rows(const float* w, size_t stride, int first, int last) {
        for (int p = first; p < last; p++) {
            Element* to = panel(p);
            int columns = std::min(PANEL, width - p * PANEL);
            for (int j = 0; j < PANEL; j++) {
                const float* from = w + static_cast<size_t>(p * PANEL + j) * stride;
                for (int k = 0; k < steps_of(depth); k++)
                    to[static_cast<size_t>(k) * PANEL + j] = j < columns ? element(from, 1, k, depth) : Element{};
            }
        }
    }

    // Panels [first, last) of B[k][j] = w[k * stride + j].
    void pack_columns(const float* w, size_t stride, int first, int last) {
        for (int p = first; p < last; p++)
            pack<PANEL>(w + p * PANEL, stride, depth, std::min(PANEL, width - p * PANEL), panel(p));
    }
};

enum class Start { zero, bias, result };  // what the chains begin with

// ROWS x VECTORS vectors of the result: `sums` += A B over all steps.
// Meanwhile `ahead`, a part of the next panel, is prefetched, `pace` elements in each step.
template <int ROWS, int VECTORS, bool BY_ROWS>
inline void tile(Left a, const Element* panel, int steps, const Element* ahead, int pace,
                 vec (&sums)[ROWS][VECTORS]) {
    constexpr int THREE = (ROWS + 2) / 3;  // a base pointer serves three rows: base, base + row, base + 2 row
    const Element* base[THREE];
    for (int i = 0; i < THREE; i++) base[i] = a.data + 3 * i * (BY_ROWS ? a.row : 1);
    for (int k = 0; k < steps; k++) {
        Elements b[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) b[v] = load(panel + k * PANEL + v * LANES);
        __builtin_prefetch(ahead + k * pace, 0, 2);
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++) {
            Element x = BY_ROWS ? base[i / 3][(i % 3) * a.row] : base[0][i];
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[i][v] = multiply_add(b[v], x, sums[i][v]);
        }
        if (BY_ROWS) {
#pragma GCC unroll 16
            for (int i = 0; i < THREE; i++) base[i]++;
        } else {
            base[0] += a.step;
        }
    }
}

// A tile of the result, VECTORS whole vectors wide. All loops over the sums are unrolled, so that these stay in registers.
template <int ROWS, int VECTORS, bool BY_ROWS>
inline void whole_block(Left a, const Element* panel, int steps, const Element* ahead, int pace, float* c, size_t stride,
                        Start start, const float* bias) {
    vec sums[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) sums[i][v] = vec{};
    if (start != Start::zero) {
        const float* from = start == Start::bias ? bias : c;
        size_t step = start == Start::bias ? 0 : stride;
#pragma GCC unroll 16
        for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) sums[i][v] = load(from + i * step + v * LANES);
    }
    tile<ROWS, VECTORS, BY_ROWS>(a, panel, steps, ahead, pace, sums);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) store(c + i * stride + v * LANES, sums[i][v]);
}

// The same for `columns` that need not fill the vectors.
template <int ROWS, int VECTORS, bool BY_ROWS>
inline void block(Left a, const Element* panel, int steps, const Element* ahead, int pace, float* c, size_t stride,
                  int columns, Start start, const float* bias) {
    constexpr int WIDE = VECTORS * LANES;
    if (columns == WIDE)
        return whole_block<ROWS, VECTORS, BY_ROWS>(a, panel, steps, ahead, pace, c, stride, start, bias);
    float edge[ROWS * WIDE] = {};
    for (int i = 0; start != Start::zero && i < ROWS; i++)
        std::memcpy(edge + i * WIDE, start == Start::bias ? bias : c + i * stride, 4 * static_cast<size_t>(columns));
    whole_block<ROWS, VECTORS, BY_ROWS>(a, panel, steps, ahead, pace, edge, WIDE, Start::result, nullptr);
    for (int i = 0; i < ROWS; i++)
        std::memcpy(c + i * stride, edge + i * WIDE, 4 * static_cast<size_t>(columns));
}

template <int VECTORS, bool BY_ROWS, int ROWS = TILE_ROWS>
inline void block_of(int rows, Left a, const Element* panel, int steps, const Element* ahead, int pace, float* c,
                     size_t stride, int columns, Start start, const float* bias) {
    if constexpr (ROWS > 0) {
        if (rows == ROWS)
            block<ROWS, VECTORS, BY_ROWS>(a, panel, steps, ahead, pace, c, stride, columns, start, bias);
        else block_of<VECTORS, BY_ROWS, ROWS - 1>(rows, a, panel, steps, ahead, pace, c, stride, columns, start, bias);
    }
}

// The columns of C[rows, width] that belong to one panel. Meanwhile `next`, the panel after it, is prefetched; after the
// last panel, `next` is that panel itself.
template <bool BY_ROWS>
void panel_product(int rows, Left a, const Element* panel, const Element* next, int steps, float* c, size_t stride,
                   int columns, Start start, const float* bias) {
    int tiles = (rows + TILE_ROWS - 1) / TILE_ROWS, pace = next == panel ? 0 : (PANEL + tiles - 1) / tiles;
    const Element* ahead = next;
    for (int i = 0; i < rows; ahead += static_cast<size_t>(pace) * steps) {
        int left = rows - i, count = left >= 2 * TILE_ROWS || left <= TILE_ROWS ? std::min(left, TILE_ROWS)
                                                                                : (left + 1) / 2;  // no thin last tile
        Left at{a.data + i * a.row, a.row, a.step};
        static_assert(TILE_VECTORS <= 3, "one more width below");
        int vectors = (columns + LANES - 1) / LANES;
        float* to = c + i * stride;
        if (vectors == TILE_VECTORS)
            block_of<TILE_VECTORS, BY_ROWS>(count, at, panel, steps, ahead, pace, to, stride, columns, start, bias);
        else if (vectors == 1)
            block_of<1, BY_ROWS>(count, at, panel, steps, ahead, pace, to, stride, columns, start, bias);
        else block_of<2, BY_ROWS>(count, at, panel, steps, ahead, pace, to, stride, columns, start, bias);
        i += count;
    }
}

// C[rows, B.width] = start + A B, A by rows.
inline void product(int rows, const Number* a, const Panels& b, float* c, size_t c_stride, Start start,
                    const float* bias) {
    if (rows <= 0) return;
    if (start == Start::bias && !bias) start = Start::zero;
    Left left = rows_of(a, b.depth);
    for (int p = 0; p < Panels::count(b.width); p++) {
        int columns = std::min(PANEL, b.width - p * PANEL);
        const Element* next = b.panel(p + 1 < Panels::count(b.width) ? p + 1 : p);
        panel_product<true>(rows, left, b.panel(p), next, steps_of(b.depth), c + p * PANEL, c_stride, columns, start,
                            bias ? bias + p * PANEL : nullptr);
    }
}

// The elements of WIDTH chains over `depth` tokens, one beside another in each row of x. What lies behind them in a row is
// read too, and a vector behind the last element is written.
template <int WIDTH>
inline void pack_tokens(const Number* x, size_t stride, int depth, Element* to) {
    for (int k = 0; k < steps_of(depth); k++, to += WIDTH)
        for (int i = 0; i < WIDTH; i += LANES) store(to + i, elements(x + i, stride, k, depth));
}

// Brings `count` rows of `width` numbers into the inner caches.
inline void bring(const Number* x, size_t stride, int width, int count) {
    constexpr int LINE = 64 / static_cast<int>(sizeof(Number));
    for (int t = 0; t < count; t++, x += stride)
        for (int i = 0; i < width; i += LINE) __builtin_prefetch(x + i, 0, 2);
}

// C[rows, width] += A' B over `depth` tokens, A [depth, rows], B [depth, width].
inline void add_outer(int rows, int width, int depth, const Number* a, size_t a_stride, const Number* b,
                      size_t b_stride, float* c, size_t c_stride, Buffer& scratch) {
    constexpr int TOKENS = 256;  // at a time, so that what is packed stays in the inner caches
    constexpr int NEAR = 2048;   // numbers of a token, at most, that are brought near for the next time: more do not stay
    static_assert(TOKENS % STEP == 0, "an element is of tokens that are neighbours in all");
    int blocks = (rows + TILE_ROWS - 1) / TILE_ROWS, panels = Panels::count(width);
    Element* panel = scratch.room<Element>(static_cast<size_t>(TOKENS / STEP) * (PANEL + blocks * TILE_ROWS));
    Element* left = panel + static_cast<size_t>(TOKENS / STEP) * PANEL;
    for (int t = 0; t < depth; t += TOKENS) {
        int tokens = std::min(TOKENS, depth - t), steps = steps_of(tokens);
        int coming = rows + width > NEAR ? 0 : std::min(TOKENS, depth - t - tokens), brought = 0, done = 0;
        for (int i = 0; i < blocks; i++)
            pack_tokens<TILE_ROWS>(a + t * a_stride + i * TILE_ROWS, a_stride, tokens,
                                   left + static_cast<size_t>(i) * steps * TILE_ROWS);
        for (int p = 0; p < panels; p++) {
            int columns = std::min(PANEL, width - p * PANEL);
            pack_tokens<PANEL>(b + t * b_stride + p * PANEL, b_stride, tokens, panel);
            for (int i = 0; i < blocks; i++) {
                int upto = coming * ++done / (blocks * panels);
                bring(a + (t + tokens + brought) * a_stride, a_stride, rows, upto - brought);
                bring(b + (t + tokens + brought) * b_stride, b_stride, width, upto - brought);
                brought = upto;
                panel_product<false>(std::min(TILE_ROWS, rows - i * TILE_ROWS),
                                     Left{left + static_cast<size_t>(i) * steps * TILE_ROWS, 1, TILE_ROWS}, panel,
                                     panel, steps, c + i * TILE_ROWS * c_stride + p * PANEL, c_stride, columns,
                                     Start::result, nullptr);
            }
        }
    }
}

}  // namespace assay
