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

// The low-rank adapter B A of a linear layer: A is `down` [rank, in], B is `up` [out, rank]. The layer's W contains B A, so
// that only the gradients of the two are computed here.
struct Adapter {
    static constexpr int TOKENS = 256;  // at a time, so that what lies between the two products stays in the inner caches

    struct Scratch {
        Buffer floats, numbers, packed;
    };

    int out = 0, in = 0, rank = 0;
    const float *down = nullptr, *up = nullptr;
    float *down_grad = nullptr, *up_grad = nullptr;
    Panels reads;  // A' [in, rank]
    Panels pulls;  // B [out, rank]

    void reserve() { reads.reserve(in, rank), pulls.reserve(out, rank); }

    void pack(int number, int size) {
        int panels = Panels::count(rank), a = panels * number / size, b = panels * (number + 1) / size;
        reads.pack_rows(down, in, a, b), pulls.pack_columns(up, rank, a, b);
    }

    // dA += (dy B)' x, dB += dy' (x A')
    void gather(int tokens, const Number* dy, const Number* x, Scratch& scratch) const {
        size_t X = padded(in), Y = padded(out), R = padded(rank);
        for (int t = 0; t < tokens; t += TOKENS, x += TOKENS * X, dy += TOKENS * Y) {
            int count = std::min(TOKENS, tokens - t);
            const Number* z = thin(count, x, reads, scratch);
            add_outer(out, rank, count, dy, Y, z, R, up_grad, rank, scratch.packed);
            z = thin(count, dy, pulls, scratch);
            add_outer(rank, in, count, z, R, x, X, down_grad, in, scratch.packed);
        }
    }

  private:
    // The product of `count` rows with one of the two, as operands.
    const Number* thin(int count, const Number* rows, const Panels& panels, Scratch& scratch) const {
        float* z = scratch.floats.room(static_cast<size_t>(TOKENS) * rank);
        Number* rounded = scratch.numbers.room<Number>(static_cast<size_t>(TOKENS) * padded(rank));
        product(count, rows, panels, z, rank, Start::zero, nullptr);
        for (int i = 0; i < count; i++) put_numbers(z + i * rank, rank, rounded + i * padded(rank));
        return rounded;
    }
};

// A linear layer y = x W' + b. W [out, in] is copied into the two orders that products read.
// Where the layer is trained there is a place for the gradient of W, or for those of its adapter.
struct Matrix {
    int out = 0, in = 0;
    const float* bias = nullptr;
    float* grad = nullptr;
    float* bias_grad = nullptr;
    Panels forward;   // W' [in, out]
    Panels backward;  // W [out, in]
    Adapter adapter;

    void reserve(bool learns) {
        forward.reserve(in, out);
        if (learns) backward.reserve(out, in);
    }

    // Copies the share of thread `number` of `size`.
    void pack(const float* weight, bool learns, int number, int size) {
        int f = Panels::count(out), b = Panels::count(in);
        forward.pack_rows(weight, in, f * number / size, f * (number + 1) / size);
        if (learns) backward.pack_columns(weight, in, b * number / size, b * (number + 1) / size);
    }

    void apply(int rows, const Number* x, float* y) const { product(rows, x, forward, y, out, Start::bias, bias); }

    // y += x W' + b
    void add(int rows, const Number* x, float* y) const {
        product(rows, x, forward, y, out, Start::result, nullptr);
        if (bias)
            for (int t = 0; t < rows; t++)
                for (int i = 0; i < out; i++) y[static_cast<size_t>(t) * out + i] += bias[i];
    }

    // dx = dy W
    void pull(int rows, const Number* dy, float* dx) const { product(rows, dy, backward, dx, in, Start::zero, nullptr); }

    // The share of thread `number` of `size` in dW += dy' x, db += sum dy: some rows of W.
    void gather(int tokens, const Number* dy, const Number* x, int number, int size, Buffer& scratch) const {
        int blocks = (out + TILE_ROWS - 1) / TILE_ROWS;
        int first = std::min(out, blocks * number / size * TILE_ROWS);
        int last = std::min(out, blocks * (number + 1) / size * TILE_ROWS);
        if (first == last) return;
        size_t stride = padded(out);
        add_outer(last - first, in, tokens, dy + first, stride, x, padded(in), grad + static_cast<size_t>(first) * in,
                  in, scratch);
        for (int t = 0; bias_grad && t < tokens; t++)
            by_vectors(last - first, [&](int i, int lanes) {
                float* to = bias_grad + first + i;
                store_part(to, load_part(to, lanes) + load_part(dy + t * stride + first + i, lanes), lanes);
            });
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
    void each_of_layers(Do&& what) {
        for (Layer& layer : layers) what(layer.qkv), what(layer.out), what(layer.up), what(layer.down);
    }

    template <class Do>
    void each(Do&& what) {
        each_of_layers(what);
        what(head);
    }
};

// The activations of a layer. Those that only the backward pass needs are there if it is `kept`.
struct Tape {
    Buffer h, r, heads, normed, rr, o, h2, r2, both, act;
    bool kept = false;

    void room(const Shape& s, size_t tokens, bool keep) {
        kept = keep;
        h.room<Number>(tokens * padded(s.hidden)), r.room(tokens), heads.room<Number>(tokens * s.all_heads());
        if (s.qk_norm) normed.room(tokens * s.turned()), rr.room(tokens * (s.heads + s.kv_heads));
        o.room<Number>(tokens * s.queries()), h2.room<Number>(tokens * padded(s.hidden)), r2.room(tokens);
        if (kept) both.room<Number>(tokens * 2 * s.ffn);
        act.room<Number>(tokens * padded(s.ffn));
    }
};

// y = x / rms(x); returns 1 / rms(x).
template <class To>
inline float normalise(const float* x, int n, float eps, To* y) {
    float r = 1.0f / std::sqrt(dot(x, x, n) / n + eps);
    by_vectors(n, [&](int i, int lanes) { store_part(y + i, load_part(x + i, lanes) * r, lanes); });
    return r;
}

// y = x weight, number by number
template <class To>
inline void scale(const float* x, const float* weight, int n, To* y) {
    by_vectors(n, [&](int i, int lanes) {
        store_part(y + i, load_part(x + i, lanes) * load_part(weight + i, lanes), lanes);
    });
}

// dx = residual + r (dy - y mean(dy y)), for y = r x
template <class From>
inline void normalise_back(const float* dy, const From* y, float r, int n, const float* residual, float* dx) {
    float mean = dot(dy, y, n) / n;
    by_vectors(n, [&](int i, int lanes) {
        vec own = r * (load_part(dy + i, lanes) - load_part(y + i, lanes) * mean);
        store_part(dx + i, residual ? load_part(residual + i, lanes) + own : own, lanes);
    });
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

// silu(gate) up. `kept`, unless null, receives both.
inline void gate(const float* both, int n, Number* act, Number* kept) {
    by_vectors(n, [&](int i, int lanes) {
        vec g = load_part(both + i, lanes), u = load_part(both + n + i, lanes);
        store_part(act + i, g * sigmoid(g) * u, lanes);
        if (kept) store_part(kept + i, g, lanes), store_part(kept + n + i, u, lanes);
    });
}

inline void gate_back(const Number* both, const float* dact, int n, Number* dboth) {
    by_vectors(n, [&](int i, int lanes) {
        vec g = load_part(both + i, lanes), u = load_part(both + n + i, lanes), d = load_part(dact + i, lanes);
        vec s = sigmoid(g);
        store_part(dboth + i, d * u * s * (all(1.0f) + g * (all(1.0f) - s)), lanes);
        store_part(dboth + n + i, d * g * s, lanes);
    });
}

// Tokens [a, b): computes rotated queries, rotated keys and values from the residual stream.
inline void project(const Weights& w, const Layer& layer, const float* x, const int32_t* positions, Tape& tape, int a,
                    int b, Buffer& scratch) {
    const Shape& s = w.shape;
    size_t D = s.hidden, N = padded(s.hidden), H = s.all_heads(), heads = s.heads + s.kv_heads;
    Number* h = tape.h.data<Number>();
    for (size_t t = a; t < static_cast<size_t>(b); t++)
        tape.r.data()[t] = normalise(x + t * D, s.hidden, s.eps, h + t * N);
    float* raw = scratch.room((b - a) * H);
    layer.qkv.apply(b - a, h + a * N, raw);
    for (size_t t = a; t < static_cast<size_t>(b); t++) {
        const float* cosine = w.cosines + static_cast<size_t>(positions[t]) * (s.d / 2);
        const float* sine = w.sines + static_cast<size_t>(positions[t]) * (s.d / 2);
        for (size_t i = 0; i < heads; i++) {
            float* head = raw + (t - a) * H + i * s.d;
            if (s.qk_norm) {
                float* normed = tape.normed.data() + (t * heads + i) * s.d;
                tape.rr.data()[t * heads + i] = normalise(head, s.d, s.eps, normed);
                for (int c = 0; c < s.d; c++) head[c] = normed[c] * layer.qk_weight[i * s.d + c];
            }
            turn(head, s.d, cosine, sine, 1.0f);
        }
        put_numbers(raw + (t - a) * H, s.all_heads(), tape.heads.data<Number>() + t * H);
    }
}

// Tokens [a, b): adds attention's output to the residual stream, and computes what the gated unit's last matrix reads.
inline void mix_gated(const Weights& w, const Layer& layer, float* x, Tape& tape, int a, int b, Buffer& scratch) {
    const Shape& s = w.shape;
    size_t D = s.hidden, N = padded(s.hidden), F = s.ffn, A = padded(s.ffn), rows = b - a;
    Number *h = tape.h2.data<Number>(), *act = tape.act.data<Number>(), *kept = tape.both.data<Number>();
    layer.out.add(rows, tape.o.data<Number>() + a * s.queries(), x + a * D);
    for (size_t t = a; t < static_cast<size_t>(b); t++)
        tape.r2.data()[t] = normalise(x + t * D, s.hidden, s.eps, h + t * N);
    float* both = scratch.room(rows * 2 * F);
    layer.up.apply(rows, h + a * N, both);
    for (size_t t = a; t < static_cast<size_t>(b); t++)
        gate(both + (t - a) * 2 * F, s.ffn, act + t * A, tape.kept ? kept + t * 2 * F : nullptr);
}

// Tokens [a, b): adds attention's output and then the gated unit's output to the residual stream.
inline void mix(const Weights& w, const Layer& layer, float* x, Tape& tape, int a, int b, Buffer& scratch) {
    size_t D = w.shape.hidden, A = padded(w.shape.ffn);
    mix_gated(w, layer, x, tape, a, b, scratch);
    layer.down.add(b - a, tape.act.data<Number>() + a * A, x + a * D);
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
