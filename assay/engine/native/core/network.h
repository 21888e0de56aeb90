// One version of the weights, and the parts of a layer that treat each token by itself.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention.h"
#include "team.h"

namespace assay {

struct Shape {
    int32_t layers, hidden, heads, kv_heads, d, ffn, vocab, positions;
    int32_t qk_norm, learns;
    float eps;

    int queries() const { return heads * d; }
    int turned() const { return (heads + kv_heads) * d; }      // queries and keys
    int all_heads() const { return (heads + 2 * kv_heads) * d; }  // and values
    int held() const { return 2 * kv_heads * d; }              // keys and values of a token in a layer, in this order
};

// Cached keys and values of the first `count` tokens of a sequence: [count, layers, held()].
struct Known {
    const float* rows = nullptr;
    int count = 0;

    const float* of(const Shape& s, int token, int layer) const {
        return rows + (size_t(token) * s.layers + layer) * s.held();
    }
};

// A linear layer y = x W' + b. W [out, in] belongs to the caller and is copied into the two orders that products read.
struct Matrix {
    int out = 0, in = 0;
    const float* weight = nullptr;
    const float* bias = nullptr;
    float* grad = nullptr;
    float* bias_grad = nullptr;
    Panels forward;   // W' [in, out]
    Panels backward;  // W [out, in]

    void reserve(bool learns) {
        forward.reserve(in, out);
        if (learns) backward.reserve(out, in);
    }

    // Copies the share of thread `number` of `size`.
    void pack(bool learns, int number, int size) {
        int f = Panels::count(out), b = Panels::count(in);
        forward.pack_rows(weight, in, f * number / size, f * (number + 1) / size);
        if (learns) backward.pack_columns(weight, in, b * number / size, b * (number + 1) / size);
    }

    void apply(int rows, const float* x, float* y, Buffer& scratch) const {
        product(rows, x, in, forward, y, out, Start::bias, bias, scratch);
    }

    // y += x W' + b
    void add(int rows, const float* x, float* y, Buffer& scratch) const {
        product(rows, x, in, forward, y, out, Start::result, nullptr, scratch);
        if (bias)
            for (int t = 0; t < rows; t++)
                for (int i = 0; i < out; i++) y[static_cast<size_t>(t) * out + i] += bias[i];
    }

    // dx = dy W
    void pull(int rows, const float* dy, float* dx, Buffer& scratch) const {
        product(rows, dy, out, backward, dx, in, Start::zero, nullptr, scratch);
    }

    // The share of thread `number` of `size` in dW += dy' x, db += sum dy: some rows of W.
    void gather(int tokens, const float* dy, const float* x, int number, int size, Buffer& scratch) const {
        int blocks = (out + TILE_ROWS - 1) / TILE_ROWS;
        int first = std::min(out, blocks * number / size * TILE_ROWS);
        int last = std::min(out, blocks * (number + 1) / size * TILE_ROWS);
        if (first == last) return;
        add_outer(last - first, in, tokens, dy + first, out, x, in, grad + static_cast<size_t>(first) * in, in,
                  scratch);
        if (bias_grad)
            for (int t = 0; t < tokens; t++)
                for (int i = first; i < last; i++) bias_grad[i] += dy[static_cast<size_t>(t) * out + i];
    }
};

struct Layer {
    Matrix qkv, out, up, down;         // norms' weights are folded into qkv and up; up is gate and up, one after other
    const float* qk_weight = nullptr;  // [heads + kv_heads, d]
    float* qk_grad = nullptr;
};

struct Weights {
    Shape shape;
    std::vector<Layer> layers;
    Matrix head;
    const float* embedding = nullptr;
    float* embedding_grad = nullptr;
    const float* final_norm = nullptr;
    float* final_grad = nullptr;
    const float* cosines = nullptr;  // [positions, d / 2]
    const float* sines = nullptr;

    template <class Do>
    void each(Do&& what) {
        for (Layer& layer : layers) what(layer.qkv), what(layer.out), what(layer.up), what(layer.down);
        what(head);
    }
};

// The activations of a layer that are kept for the backward pass.
struct Tape {
    Buffer h, r, heads, normed, rr, o, h2, r2, both, act;

    void room(const Shape& s, size_t tokens) {
        h.room(tokens * s.hidden), r.room(tokens), heads.room(tokens * s.all_heads());
        if (s.qk_norm) normed.room(tokens * s.turned()), rr.room(tokens * (s.heads + s.kv_heads));
        o.room(tokens * s.queries()), h2.room(tokens * s.hidden), r2.room(tokens);
        both.room(tokens * 2 * s.ffn), act.room(tokens * s.ffn);
    }
};

// y = x / rms(x); returns 1 / rms(x).
inline float normalise(const float* x, int n, float eps, float* y) {
    float r = 1.0f / std::sqrt(dot(x, x, n) / n + eps);
    for (int i = 0; i < n; i++) y[i] = x[i] * r;
    return r;
}

// dx = residual + r (dy - y mean(dy y)), for y = r x
inline void normalise_back(const float* dy, const float* y, float r, int n, const float* residual, float* dx) {
    float mean = dot(dy, y, n) / n;
    for (int i = 0; i < n; i++) {
        float own = r * (dy[i] - y[i] * mean);
        dx[i] = residual ? residual[i] + own : own;
    }
}

// Pairs (i, i + d/2) of a head turn by the angle of the position; `sign` -1 turns back.
inline void turn(float* x, int d, const float* cosine, const float* sine, float sign) {
    int half = d / 2;
    for (int i = 0; i < half; i++) {
        float a = x[i], b = x[i + half], c = cosine[i], s = sign * sine[i];
        x[i] = a * c - b * s;
        x[i + half] = b * c + a * s;
    }
}

// silu(gate) up
inline void gate(const float* both, int n, float* act) {
    for (int i = 0; i < n; i += LANES) {
        int lanes = std::min(LANES, n - i);
        vec g = load_part(both + i, lanes), u = load_part(both + n + i, lanes);
        store_part(act + i, g * sigmoid(g) * u, lanes);
    }
}

inline void gate_back(const float* both, const float* dact, int n, float* dboth) {
    for (int i = 0; i < n; i += LANES) {
        int lanes = std::min(LANES, n - i);
        vec g = load_part(both + i, lanes), u = load_part(both + n + i, lanes), d = load_part(dact + i, lanes);
        vec s = sigmoid(g);
        store_part(dboth + i, d * u * s * (all(1.0f) + g * (all(1.0f) - s)), lanes);
        store_part(dboth + n + i, d * g * s, lanes);
    }
}

// Tokens [a, b): computes rotated queries, rotated keys and values from the residual stream.
inline void project(const Weights& w, const Layer& layer, const float* x, const int32_t* positions, Tape& tape, int a,
                    int b, Buffer& scratch) {
    const Shape& s = w.shape;
    size_t D = s.hidden, H = s.all_heads(), heads = s.heads + s.kv_heads;
    for (size_t t = a; t < static_cast<size_t>(b); t++)
        tape.r.data()[t] = normalise(x + t * D, s.hidden, s.eps, tape.h.data() + t * D);
    layer.qkv.apply(b - a, tape.h.data() + a * D, tape.heads.data() + a * H, scratch);
    for (size_t t = a; t < static_cast<size_t>(b); t++) {
        const float* cosine = w.cosines + static_cast<size_t>(positions[t]) * (s.d / 2);
        const float* sine = w.sines + static_cast<size_t>(positions[t]) * (s.d / 2);
        for (size_t i = 0; i < heads; i++) {
            float* head = tape.heads.data() + t * H + i * s.d;
            if (s.qk_norm) {
                float* normed = tape.normed.data() + (t * heads + i) * s.d;
                tape.rr.data()[t * heads + i] = normalise(head, s.d, s.eps, normed);
                for (int c = 0; c < s.d; c++) head[c] = normed[c] * layer.qk_weight[i * s.d + c];
            }
            turn(head, s.d, cosine, sine, 1.0f);
        }
    }
}

// Tokens [a, b): adds attention's output and then the gated unit's output to the residual stream.
inline void mix(const Weights& w, const Layer& layer, float* x, Tape& tape, int a, int b, Buffer& scratch) {
    const Shape& s = w.shape;
    size_t D = s.hidden, F = s.ffn, rows = b - a;
    layer.out.add(rows, tape.o.data() + a * s.queries(), x + a * D, scratch);
    for (size_t t = a; t < static_cast<size_t>(b); t++)
        tape.r2.data()[t] = normalise(x + t * D, s.hidden, s.eps, tape.h2.data() + t * D);
    layer.up.apply(rows, tape.h2.data() + a * D, tape.both.data() + a * 2 * F, scratch);
    for (size_t t = a; t < static_cast<size_t>(b); t++)
        gate(tape.both.data() + t * 2 * F, s.ffn, tape.act.data() + t * F);
    layer.down.add(rows, tape.act.data() + a * F, x + a * D, scratch);
}

constexpr int BLOCK = 8 * TILE_ROWS;  // tokens that go through several products while they stay in the inner caches

// `what(a, b)` for blocks of tokens [first, last).
template <class Do>
inline void by_blocks(int first, int last, Do&& what) {
    for (int a = first; a < last; a += BLOCK) what(a, std::min(a + BLOCK, last));
}

// The share of thread `number` in `count` tokens, in whole tiles.
struct Share {
    int a, b;

    Share(int count, int number, int size) {
        int tiles = (count + TILE_ROWS - 1) / TILE_ROWS;
        a = std::min(count, tiles * number / size * TILE_ROWS);
        b = std::min(count, tiles * (number + 1) / size * TILE_ROWS);
    }
};

}  // namespace assay
