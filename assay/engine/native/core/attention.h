// Attention of a tile of queries over the keys of one row, for one key-value head:
//
//     s_j = q . k_j,   e_j = exp(scale (s_j - max s)),   o = sum_j e_j v_j / sum_j e_j
//
// Both sums are chains of products (see element.h), over the numbers of a key and over the keys. Keys lie in blocks of
// LANES keys, transposed so that a vector holds one element of LANES keys: [block][steps of d][LANES]. Values lie in
// elements of successive positions: [steps of the positions][d]. The result of a query depends only on its own keys, in
// the order of their positions.
#pragma once

#include "product.h"

namespace assay {

constexpr int QUERIES = 8;  // of a tile at most

// `count` vectors of d numbers, `stride` apart.
struct Rows {
    const Number* data = nullptr;
    size_t stride = 0;
    int count = 0;

    const Number* operator[](int i) const { return data + i * stride; }
    const Element* elements(int i) const { return reinterpret_cast<const Element*>(data + i * stride); }
    Rows from(int i, int most) const { return Rows{data + i * stride, stride, std::min(most, count - i)}; }
};

inline int blocks_of(int keys) { return (keys + LANES - 1) / LANES; }
inline size_t keys_size(int keys, int d) { return static_cast<size_t>(blocks_of(keys)) * steps_of(d) * LANES; }
inline size_t values_size(int keys, int d) { return static_cast<size_t>(steps_of(keys)) * d; }

inline void put_key(Element* keys, int d, int j, const Number* key) {
    Element* to = keys + static_cast<size_t>(j / LANES) * steps_of(d) * LANES + j % LANES;
    const Element* from = reinterpret_cast<const Element*>(key);
    for (int i = 0; i < steps_of(d); i++) to[i * LANES] = from[i];
}

inline void get_key(const Element* keys, int d, int j, Number* key) {
    const Element* from = keys + static_cast<size_t>(j / LANES) * steps_of(d) * LANES + j % LANES;
    Element* to = reinterpret_cast<Element*>(key);
    for (int i = 0; i < steps_of(d); i++) to[i] = from[i * LANES];
}

inline void put_value(Element* values, int d, int j, const Number* value) {
    put_beside(value, j, d, values + static_cast<size_t>(j / STEP) * d);
}

inline void get_value(const Element* values, int d, int j, Number* value) {
    get_beside(values + static_cast<size_t>(j / STEP) * d, j, d, value);
}

// All loops over the sums are unrolled, here and below, so that these stay in registers.
template <int Q, int B, class Queries>
inline void score_tile(const Queries& q, int first, const Element* keys, int d, float* s, size_t stride) {
    vec sums[Q][B];
    const Element* x[Q];
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++) {
        x[r] = q.elements(first + r);
#pragma GCC unroll 8
        for (int b = 0; b < B; b++) sums[r][b] = vec{};
    }
    for (int i = 0; i < steps_of(d); i++) {
        Elements k[B];
#pragma GCC unroll 8
        for (int b = 0; b < B; b++) k[b] = load(keys + (static_cast<size_t>(b) * steps_of(d) + i) * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
            for (int b = 0; b < B; b++) sums[r][b] = multiply_add(k[b], x[r][i], sums[r][b]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
        for (int b = 0; b < B; b++) store(s + (first + r) * stride + b * LANES, sums[r][b]);
}

template <int Q, int B, class Queries>
inline void score_rows(const Queries& q, int first, const Element* keys, int d, int blocks, float* s, size_t stride) {
    while (blocks >= B) {
        score_tile<Q, B>(q, first, keys, d, s, stride);
        keys += keys_size(B * LANES, d), s += B * LANES, blocks -= B;
    }
    if constexpr (B > 1)
        if (blocks) score_rows<Q, B - 1>(q, first, keys, d, blocks, s, stride);
}

// s[i][j] = q_i . k_j for queries [first, last) and all keys of `blocks`.
template <class Queries>
inline void scores(const Queries& q, int first, int last, const Element* keys, int d, int blocks, float* s,
                   size_t stride) {
    int i = first;
    for (; i + 8 <= last; i += 8) score_rows<8, 2>(q, i, keys, d, blocks, s, stride);
    for (; i + 4 <= last; i += 4) score_rows<4, 4>(q, i, keys, d, blocks, s, stride);
    for (; i + 2 <= last; i += 2) score_rows<2, 4>(q, i, keys, d, blocks, s, stride);
    for (; i < last; i++) score_rows<1, 4>(q, i, keys, d, blocks, s, stride);
}

// e_j = exp(scale (s_j - max s)) for j < keys and 0 up to the end of the blocks; returns their sum. `e` may be `s`.
template <class To>
inline float exponentials(const float* s, int keys, int blocks, float scale, To* e) {
    int last = (keys - 1) / LANES * LANES;  // where the last block with keys begins
    const vec rest = kept(load(s + last), keys - last, -INF);
    vec most = rest, total = {};
    for (int j = 0; j < last; j += LANES) most = larger(most, load(s + j));
    const vec top = all(greatest(most)), factor = all(scale);
    for (int j = 0; j <= last; j += LANES) {
        vec x = exp(((j < last ? load(s + j) : rest) - top) * factor);
        store(e + j, x);
        total += x;
    }
    for (int b = last / LANES + 1; b < blocks; b++) store(e + b * LANES, vec{});
    return sum(total);
}

template <int Q, int V>
inline void whole_gather(const Number* p, size_t p_stride, const Element* v, int keys, int d, float* out, size_t stride,
                         bool go_on) {
    vec sums[Q][V];
    const Element* x[Q];
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++) {
        x[r] = reinterpret_cast<const Element*>(p + r * p_stride);
#pragma GCC unroll 8
        for (int c = 0; c < V; c++) sums[r][c] = vec{};
    }
    if (go_on) {
#pragma GCC unroll 8
        for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
            for (int c = 0; c < V; c++) sums[r][c] = load(out + r * stride + c * LANES);
    }
    for (int j = 0; j < steps_of(keys); j++, v += d) {
        Elements y[V];
#pragma GCC unroll 8
        for (int c = 0; c < V; c++) y[c] = load(v + c * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
            for (int c = 0; c < V; c++) sums[r][c] = multiply_add(y[c], x[r][j], sums[r][c]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Q; r++)
#pragma GCC unroll 8
        for (int c = 0; c < V; c++) store(out + r * stride + c * LANES, sums[r][c]);
}

// The same for the first of `left` numbers, which need not fill the vectors.
template <int Q, int V>
inline void gather_tile(const Number* p, size_t p_stride, const Element* v, int keys, int d, int left, float* out,
                        size_t stride, bool go_on) {
    constexpr int WIDE = V * LANES;
    if (left >= WIDE) return whole_gather<Q, V>(p, p_stride, v, keys, d, out, stride, go_on);
    float edge[Q * WIDE] = {};
    for (int r = 0; go_on && r < Q; r++) std::memcpy(edge + r * WIDE, out + r * stride, 4 * static_cast<size_t>(left));
    whole_gather<Q, V>(p, p_stride, v, keys, d, edge, WIDE, true);
    for (int r = 0; r < Q; r++) std::memcpy(out + r * stride, edge + r * WIDE, 4 * static_cast<size_t>(left));
}

template <int Q>
inline void gather_rows(const Number* p, size_t p_stride, const Element* v, int keys, int d, float* out, size_t stride,
                        bool go_on) {
    constexpr int V = Q == 8 ? 2 : 4;
    for (int at = 0; at < d;) {
        int left = d - at, vectors = (left + LANES - 1) / LANES;
        const Element* part = v + at;
        float* to = out + at;
        if (vectors >= V) gather_tile<Q, V>(p, p_stride, part, keys, d, left, to, stride, go_on), at += V * LANES;
        else if (vectors >= 2) gather_tile<Q, 2>(p, p_stride, part, keys, d, left, to, stride, go_on), at += 2 * LANES;
        else gather_tile<Q, 1>(p, p_stride, part, keys, d, left, to, stride, go_on), at += LANES;
    }
}

// out_i = (out_i if go_on) + sum_j p[i][j] v_j, for `count` rows of p and `keys` values. Where these do not fill the last
// element, p has a zero.
inline void gather(const Number* p, size_t p_stride, int count, const Element* v, int keys, int d, float* out,
                   size_t stride, bool go_on) {
    int i = 0;
    for (; i + 8 <= count; i += 8)
        gather_rows<8>(p + i * p_stride, p_stride, v, keys, d, out + i * stride, stride, go_on);
    for (; i + 4 <= count; i += 4)
        gather_rows<4>(p + i * p_stride, p_stride, v, keys, d, out + i * stride, stride, go_on);
    for (; i + 2 <= count; i += 2)
        gather_rows<2>(p + i * p_stride, p_stride, v, keys, d, out + i * stride, stride, go_on);
    for (; i < count; i++) gather_rows<1>(p + i * p_stride, p_stride, v, keys, d, out + i * stride, stride, go_on);
}

// Keys and values of successive positions.
struct Held {
    const Element *keys, *values;
};

// A query: where it is read, where its result is written, and the keys that it sees. Of these `keys` the first are its
// tile's shared blocks, and its own are the rest.
struct Query {
    const Number* read;
    Number* write;
    Held own;
    int keys;
};

// Queries that begin with the same keys and values, `blocks` whole blocks of them: these are read once for the tile, and
// then what is each query's own, once for neighbours that have it in the same place.
struct Tile {
    Held shared{};
    int blocks = 0, count = 0;
    Query queries[QUERIES];

    void add(const Query& query) { queries[count++] = query; }
    bool full() const { return count == QUERIES; }
    const Element* elements(int i) const { return reinterpret_cast<const Element*>(queries[i].read); }

    // The most keys that one of the queries [first, last) sees.
    int most(int first, int last) const {
        int keys = 0;
        for (int i = first; i < last; i++) keys = std::max(keys, queries[i].keys);
        return keys;
    }

    // what(first, last) for queries whose own keys are in one place.
    template <class Do>
    void by_place(Do&& what) const {
        for (int first = 0, last = 0; first < count; first = last) {
            while (last < count && queries[last].own.keys == queries[first].own.keys) last++;
            what(first, last);
        }
    }
};

inline size_t attend_room(int keys, int d) { return static_cast<size_t>(QUERIES) * (2 * rounded_up(keys, LANES) + d); }

// Writes the result of each query. `room` is for attend_room floats, of as many keys as a query sees at most.
inline void attend(const Tile& t, int d, float* room) {
    size_t width = static_cast<size_t>(blocks_of(t.most(0, t.count))) * LANES;
    int before = t.blocks * LANES;
    float inverse[QUERIES], *s = room, *sums = s + QUERIES * width, factor = 1.0f / std::sqrt(float(d));
    Number* e = reinterpret_cast<Number*>(sums + QUERIES * d);
    if (before) scores(t, 0, t.count, t.shared.keys, d, t.blocks, s, width);
    t.by_place([&](int first, int last) {
        int blocks = blocks_of(t.most(first, last));
        scores(t, first, last, t.queries[first].own.keys, d, blocks - t.blocks, s + before, width);
        for (int i = first; i < last; i++)
            inverse[i] = 1.0f / exponentials(s + i * width, t.queries[i].keys, blocks, factor, e + i * width);
    });
    if (before) gather(e, width, t.count, t.shared.values, before, d, sums, d, false);
    t.by_place([&](int first, int last) {
        gather(e + first * width + before, width, last - first, t.queries[first].own.values,
               t.most(first, last) - before, d, sums + first * d, d, before > 0);
    });
    for (int i = 0; i < t.count; i++)
        by_vectors(d, [&](int c, int lanes) {
            store_part(t.queries[i].write + c, load_part(sums + i * d + c, lanes) * inverse[i], lanes);
        });
}

}  // namespace assay
