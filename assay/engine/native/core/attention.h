// Attention of a tile of queries over the keys of one row, for one key-value head:
//
//     s_j = q . k_j,   e_j = exp(scale (s_j - max s)),   o = sum_j e_j v_j / sum_j e_j
//
// Keys lie in blocks of LANES keys, transposed so that a vector holds one dimension of LANES keys: [block][d][LANES]. The
// result of a query depends only on its own keys, in the order of their positions.
#pragma once

#include "product.h"

namespace assay {

constexpr int QUERIES = 8;  // of a tile at most

// `count` vectors of d numbers, `stride` floats apart.
struct Rows {
    const float* data = nullptr;
    size_t stride = 0;
    int count = 0;

    const float* operator[](int i) const { return data + i * stride; }
};

inline int blocks_of(int keys) { return (keys + LANES - 1) / LANES; }
inline size_t turned_size(int keys, int d) { return static_cast<size_t>(blocks_of(keys)) * d * LANES; }

// Key number j of the turned blocks.
inline void put_key(float* turned, int d, int j, const float* key) {
    float* to = turned + static_cast<size_t>(j / LANES) * d * LANES + j % LANES;
    for (int i = 0; i < d; i++) to[i * LANES] = key[i];
}

inline void get_key(const float* turned, int d, int j, float* key) {
    const float* from = turned + static_cast<size_t>(j / LANES) * d * LANES + j % LANES;
    for (int i = 0; i < d; i++) key[i] = from[i * LANES];
}

template <int Q, int B>
inline void score_tile(const Rows& q, int first, const float* turned, int d, float* s, size_t stride) {
    vec sums[Q][B] = {};
    for (int i = 0; i < d; i++) {
        vec k[B];
#pragma GCC unroll 8
        for (int b = 0; b < B; b++) k[b] = load(turned + (static_cast<size_t>(b) * d + i) * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
            for (int b = 0; b < B; b++) sums[r][b] += k[b] * q[first + r][i];
    }
    for (int r = 0; r < Q; r++)
        for (int b = 0; b < B; b++) store(s + (first + r) * stride + b * LANES, sums[r][b]);
}

template <int Q, int B>
inline void score_rows(const Rows& q, int first, const float* turned, int d, int blocks, float* s, size_t stride) {
    while (blocks >= B) {
        score_tile<Q, B>(q, first, turned, d, s, stride);
        turned += turned_size(B * LANES, d), s += B * LANES, blocks -= B;
    }
    if constexpr (B > 1)
        if (blocks) score_rows<Q, B - 1>(q, first, turned, d, blocks, s, stride);
}

// s[i][j] = q_i . k_j for all keys of `blocks`.
inline void scores(const Rows& q, const float* turned, int d, int blocks, float* s, size_t stride) {
    int i = 0;
    for (; i + 8 <= q.count; i += 8) score_rows<8, 2>(q, i, turned, d, blocks, s, stride);
    for (; i + 4 <= q.count; i += 4) score_rows<4, 4>(q, i, turned, d, blocks, s, stride);
    for (; i < q.count; i++) score_rows<1, 4>(q, i, turned, d, blocks, s, stride);
}

// In place e_j = exp(scale (s_j - max s)) for j < keys and 0 up to the end of the blocks; their sum.
inline float exponentials(float* s, int keys, int blocks, float scale) {
    int whole = keys / LANES, rest = keys % LANES;
    vec most = all(-INF);
    for (int b = 0; b < whole; b++) most = larger(most, load(s + b * LANES));
    if (rest) most = larger(most, load_part(s + whole * LANES, rest, -INF));
    vec top = all(greatest(most)), factor = all(scale), total = {};
    for (int b = 0; b < whole; b++) {
        vec e = exp((load(s + b * LANES) - top) * factor);
        store(s + b * LANES, e);
        total += e;
    }
    if (rest) {
        vec e = exp((load_part(s + whole * LANES, rest, -INF) - top) * factor);
        store(s + whole * LANES, e);
        total += e;
        whole++;
    }
    for (int b = whole; b < blocks; b++) store(s + b * LANES, vec{});
    return sum(total);
}

template <int Q, int V>
inline void gather_tile(const float* p, size_t p_stride, const Rows& v, int lanes, float* out, size_t stride,
                        bool go_on) {
    vec sums[Q][V];
    for (int r = 0; r < Q; r++)
        for (int c = 0; c < V; c++) {
            const float* from = out + r * stride + c * LANES;
            sums[r][c] = go_on ? load_part(from, std::min(LANES, lanes - c * LANES)) : vec{};
        }
    for (int j = 0; j < v.count; j++) {
        vec x[V];
#pragma GCC unroll 8
        for (int c = 0; c < V; c++) x[c] = load(v[j] + c * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
            for (int c = 0; c < V; c++) sums[r][c] += x[c] * p[r * p_stride + j];
    }
    for (int r = 0; r < Q; r++)
        for (int c = 0; c < V; c++) {
            store_part(out + r * stride + c * LANES, sums[r][c], std::min(LANES, lanes - c * LANES));
        }
}

template <int Q>
inline void gather_rows(const float* p, size_t p_stride, const Rows& v, int d, float* out, size_t stride, bool go_on) {
    constexpr int V = Q == 8 ? 2 : 4;
    for (int at = 0; at < d;) {
        Rows part{v.data + at, v.stride, v.count};
        int left = (d - at + LANES - 1) / LANES, lanes = std::min(d - at, V * LANES);
        if (left >= V) gather_tile<Q, V>(p, p_stride, part, lanes, out + at, stride, go_on), at += V * LANES;
        else if (left >= 2) gather_tile<Q, 2>(p, p_stride, part, lanes, out + at, stride, go_on), at += 2 * LANES;
        else gather_tile<Q, 1>(p, p_stride, part, lanes, out + at, stride, go_on), at += LANES;
    }
}

// out_i = (out_i if go_on) + sum_j p[i][j] v_j, for `count` rows of p. A vector beyond the last v must be readable.
inline void gather(const float* p, size_t p_stride, int count, const Rows& v, int d, float* out, size_t stride,
                   bool go_on) {
    int i = 0;
    for (; i + 8 <= count; i += 8) gather_rows<8>(p + i * p_stride, p_stride, v, d, out + i * stride, stride, go_on);
    for (; i + 4 <= count; i += 4) gather_rows<4>(p + i * p_stride, p_stride, v, d, out + i * stride, stride, go_on);
    for (; i < count; i++) gather_rows<1>(p + i * p_stride, p_stride, v, d, out + i * stride, stride, go_on);
}

template <int Q>
inline void spread_rows(const float* p, size_t p_stride, const Rows& q, int first, int keys, int d, float* out,
                        size_t stride) {
    for (int at = 0; at < d; at += LANES) {
        int lanes = std::min(LANES, d - at);
        vec x[Q];
        for (int r = 0; r < Q; r++) x[r] = load_part(q[first + r] + at, lanes);
        for (int j = 0; j < keys; j++) {
            float* to = out + j * stride + at;
            vec total = load_part(to, lanes);
#pragma GCC unroll 8
            for (int r = 0; r < Q; r++) total += x[r] * p[(first + r) * p_stride + j];
            store_part(to, total, lanes);
        }
    }
}

// out_j += sum_i p[i][j] q_i, for j < keys.
inline void spread(const float* p, size_t p_stride, const Rows& q, int keys, int d, float* out, size_t stride) {
    int i = 0;
    for (; i + 8 <= q.count; i += 8) spread_rows<8>(p, p_stride, q, i, keys, d, out, stride);
    for (; i < q.count; i++) spread_rows<1>(p, p_stride, q, i, keys, d, out, stride);
}

// A tile of queries. Query i attends to the first `keys + i * more` keys: `more` is 1 for successive tokens of a row, 0 for
// heads that share their keys. Values come in two pieces: those of the shared context, and those of the row itself.
struct Tile {
    Rows q;
    int keys, more, d;
    float scale;
    const float* turned;  // the transposed keys; whole blocks that come before these may lie elsewhere
    const float* turned_before;
    int blocks_before;
    Rows shared, own;  // the values

    // Scores of all queries against keys (or of gradients against values) up to block `blocks`.
    void score(const Rows& queries, int blocks, float* s) const {
        size_t width = static_cast<size_t>(blocks) * LANES;
        if (blocks_before) scores(queries, turned_before, d, blocks_before, s, width);
        scores(queries, turned, d, blocks - blocks_before, s + blocks_before * LANES, width);
    }

    int most() const { return keys + (q.count - 1) * more; }
};

// Writes o_i to `out`. `s` has room for QUERIES rows of whole blocks and of d floats.
inline void attend(const Tile& t, float* s, Number* out, size_t stride) {
    int most = t.most(), blocks = blocks_of(most);
    size_t width = static_cast<size_t>(blocks) * LANES;
    float inverse[QUERIES], *sums = s + QUERIES * width;
    t.score(t.q, blocks, s);
    for (int i = 0; i < t.q.count; i++)
        inverse[i] = 1.0f / exponentials(s + i * width, t.keys + i * t.more, blocks, t.scale);
    int shared = std::min(t.shared.count, most);
    gather(s, width, t.q.count, Rows{t.shared.data, t.shared.stride, shared}, t.d, sums, t.d, false);
    gather(s + shared, width, t.q.count, Rows{t.own.data, t.own.stride, most - shared}, t.d, sums, t.d, true);
    for (int i = 0; i < t.q.count; i++)
        by_vectors(t.d, [&](int c, int lanes) {
            store_part(out + i * stride + c, load_part(sums + i * t.d + c, lanes) * inverse[i], lanes);
        });
}

}  // namespace assay
