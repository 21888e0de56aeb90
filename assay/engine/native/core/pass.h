// The forward and the backward pass over packed rows. Each context is stored once; a group is a context with its rows:
//
//     tokens   [context 0][context 1]...[row 0][row 1]...
//
// Where tokens are independent, each thread has a share of the tokens. In attention, each thread has some pairs of (group,
// key-value head). A weight's gradient is a sum over the tokens in their order, and each thread computes some rows of it.
// So no result depends on the number of threads.
#pragma once

#include "head.h"
#include "network.h"

namespace assay {

// One of the threads that run a pass together.
struct Hand {
    Team* team;  // none: alone
    int number, size;

    void meet() const {
        if (team) team->meet();
    }
    Share share(int count) const { return Share(count, number, size); }
};

struct Packed {
    std::vector<int32_t> ids, positions;
    std::vector<int32_t> context_at;              // [groups + 1]
    std::vector<int32_t> row_at;                  // [groups + 1] rows of each group
    std::vector<int32_t> row_start, row_length;   // [rows] own tokens
    std::vector<int32_t> predict, targets;        // [M] the token that predicts, the id that is predicted
    std::vector<float> tau;                       // [M]
    std::vector<int32_t> top_ids;                 // [M, top]
    std::vector<int32_t> beside;                  // [tokens] or empty: ids that are read too, and
    std::vector<float> share;                     // [tokens] by how much in place of the first
    int top = 0;

    int tokens() const { return static_cast<int>(ids.size()); }
    int groups() const { return static_cast<int>(context_at.size()) - 1; }
    int predicted() const { return static_cast<int>(predict.size()); }
};

// A context, or a row together with its context. In the sampler, a cached prefix may come before a context.
struct Sequence {
    int shared_at, shared, own_at, own;
    Known before{};

    int keys() const { return shared + own; }
};

struct Results {
    float *logp, *entropy, *top_logp;  // [M], [M] or null, [M, top] or null
    float* mean_logp;                  // [M] or null
    int32_t* likeliest;                // [M, best] or null
    float* likeliest_logp;             // likewise
    int best;
};

struct Gradients {
    const float *logp, *entropy, *top_logp;  // each or null
};

constexpr int LEARNT = 4 * QUERIES;  // queries that go through attention's backward pass together

class Pass {
  public:
    Pass(const Weights& weights, int threads) : w_(weights), scratch_(threads) {}

    // Takes the tokens of the next pass. `known` are the cached prefixes of contexts; then there are no rows.
    void take(Packed packed, std::vector<Known> known = {}) {
        in_ = std::move(packed), known_ = std::move(known);
        deal(static_cast<int>(scratch_.size()));
        const Shape& s = w_.shape;
        x_.room(size_t(in_.tokens()) * s.hidden), r_.room(in_.tokens());
        y_.room(size_t(in_.tokens()) * s.hidden), hidden_.room<Number>(size_t(in_.tokens()) * padded(s.hidden));
        spreads_.resize(in_.predicted());
    }

    const Packed& packed() const { return in_; }
    const Number* hidden(int token) const { return hidden_.data<Number>() + size_t(token) * padded(w_.shape.hidden); }

    // To be called once before the threads go in.
    void prepare(bool keep) {
        keep_ = keep;
        tapes_.resize(keep ? w_.shape.layers : 1);
        for (Tape& tape : tapes_) tape.room(w_.shape, in_.tokens(), keep);
        size_t logits = size_t(in_.predicted()) * w_.shape.vocab;
        keeps_logits_ = keep && logits <= 4 * LOGITS;
        if (keeps_logits_) logits_.room(logits);
    }

    // Computes hidden states after the last norm. The first thread calls `each_layer(layer, heads)` with rotated keys and
    // values.
    template <class Do>
    void forward(const Hand& hand, Do&& each_layer) {
        const Shape& s = w_.shape;
        size_t D = s.hidden;
        Share mine = hand.share(in_.tokens());
        Buffer& both = scratch_[hand.number].both;
        for (int t = mine.a; t < mine.b; t++) embed(t);
        for (int l = 0; l < s.layers; l++) {
            Tape& tape = tapes_[keep_ ? l : 0];
            by_blocks(mine.a, mine.b, [&](int a, int b) {
                project(w_, w_.layers[l], x_.data(), in_.positions.data(), tape, a, b, both);
            });
            hand.meet();
            for (int item : items_[hand.number]) attend_group(item, l, tape, scratch_[hand.number]);
            if (hand.number == 0) each_layer(l, tape.heads.data<Number>());
            hand.meet();
            by_blocks(mine.a, mine.b, [&](int a, int b) { mix(w_, w_.layers[l], x_.data(), tape, a, b, both); });
        }
        for (int t = mine.a; t < mine.b; t++) {
            float* y = y_.data() + t * D;
            r_.data()[t] = normalise(x_.data() + t * D, s.hidden, s.eps, y);
            scale(y, w_.final_norm, s.hidden, hidden_.data<Number>() + size_t(t) * padded(s.hidden));
        }
        hand.meet();
    }

    void read(const Hand& hand, const Results& out) {
        const Shape& s = w_.shape;
        size_t V = s.vocab;
        Share mine = hand.share(in_.predicted());
        Scratch& scratch = scratch_[hand.number];
        for (int a = mine.a; a < mine.b; a += logit_rows(s.vocab)) {
            int rows = std::min(logit_rows(s.vocab), mine.b - a);
            float* z = keeps_logits_ ? logits_.data() + a * V : scratch.logits.room(rows * V);
            w_.head.apply(rows, gathered(a, rows, scratch), z);
            for (int i = 0; i < rows; i++) {
                int m = a + i;
                const float* row = z + i * V;
                Spread spread = spreads_[m] = spread_of(row, s.vocab, in_.tau[m]);
                out.logp[m] = spread.logp(row[in_.targets[m]]);
                if (out.entropy) out.entropy[m] = entropy(row, s.vocab, spread);
                for (int k = 0; k < out.best; k++) {
                    int32_t* ids = out.likeliest + size_t(m) * out.best;
                    if (k == 0) likeliest(row, s.vocab, out.best, scratch.order, ids);
                    out.likeliest_logp[size_t(m) * out.best + k] = spread.logp(row[ids[k]]);
                }
                if (out.mean_logp) out.mean_logp[m] = mean_logp(row, s.vocab, spread);
                for (int k = 0; k < in_.top; k++)
                    out.top_logp[m * in_.top + k] = spread.logp(row[in_.top_ids[m * in_.top + k]]);
            }
        }
    }

    // To be called once before the threads go in: which tokens have a coefficient, and room for the gradients.
    void prepare_back(const Gradients& c) {
        coefficients_ = c;
        swapped_ = false;
        live_.clear();
        for (int m = 0; m < in_.predicted(); m++) {
            bool some = (c.logp && c.logp[m] != 0.0f) || (c.entropy && c.entropy[m] != 0.0f);
            for (int k = 0; c.top_logp && k < in_.top; k++) some |= c.top_logp[m * in_.top + k] != 0.0f;
            if (some) live_.push_back(m);
        }
        const Shape& s = w_.shape;
        size_t n = in_.tokens();
        dx_.room(n * s.hidden), dmid_.room(n * s.hidden), dnext_.room(n * s.hidden);
        downs_.room<Number>(n * padded(s.hidden)), mids_.room<Number>(n * padded(s.hidden));
        dboth_.room<Number>(n * 2 * s.ffn), dout_.room<Number>(n * s.queries()), dheads_.room(n * s.all_heads());
        turned_.room<Number>(n * s.all_heads());
        size_t rows = std::min<size_t>(live_.size(), size_t(logit_rows(s.vocab)) * scratch_.size());
        dz_.room<Number>(rows * padded(s.vocab)), rows_.room<Number>(rows * padded(s.hidden)), drows_.room(rows * s.hidden);
    }

    void backward(const Hand& hand) {
        const Shape& s = w_.shape;
        size_t D = s.hidden;
        Share mine = hand.share(in_.tokens());
        Scratch& scratch = scratch_[hand.number];
        std::memset(dx_.data() + mine.a * D, 0, 4 * D * (mine.b - mine.a));
        back_head(hand, mine, scratch);
        // d hidden is in dx: through the last norm's weight, then through the norm
        Share columns = Share(s.hidden, hand.number, hand.size);
        for (int t = 0; t < in_.tokens(); t++)
            for (int i = columns.a; i < columns.b; i++) w_.final_grad[i] += dx_.data()[t * D + i] * y_.data()[t * D + i];
        hand.meet();
        for (int t = mine.a; t < mine.b; t++) {
            float* dx = dx_.data() + t * D;
            for (size_t i = 0; i < D; i++) dx[i] *= w_.final_norm[i];
            normalise_back(dx, y_.data() + t * D, r_.data()[t], s.hidden, nullptr, dx);
        }
        for (int l = s.layers - 1; l >= 0; l--) back_layer(hand, mine, scratch, w_.layers[l], tapes_[l]);
        float* to = w_.embedding_grad;
        for (int t = 0; t < in_.tokens() && in_.beside.empty(); t++)
            for (int i = columns.a; i < columns.b; i++) to[in_.ids[t] * D + i] += current()[t * D + i];
        hand.meet();
    }

  private:
    // The input vector of token t: its embedding, or a blend of two embeddings if there is a second token.
    void embed(int t) {
        size_t D = w_.shape.hidden;
        const float* own = w_.embedding + in_.ids[t] * D;
        float* x = x_.data() + t * D;
        std::memcpy(x, own, 4 * D);
        if (in_.beside.empty()) return;
        const float* other = w_.embedding + in_.beside[t] * D;
        for (size_t i = 0; i < D; i++) x[i] += in_.share[t] * (other[i] - own[i]);
    }

    struct Scratch {
        Buffer keys, key_rows, values, s, ds, weights, slopes, logits, rows, both, packed, dact, dh, dout, dz;
        std::vector<int32_t> order;
    };

    // Deals (group, key-value head) pairs out to the threads, the largest first, each to the thread with the least to do.
    void deal(int threads) {
        items_.assign(threads, {});
        std::vector<std::pair<double, int>> costs;
        for (int g = 0; g < in_.groups(); g++) {
            double cost = 0;
            each_sequence(g, [&](const Sequence& q) { cost += double(q.own) * q.keys(); });
            for (int h = 0; h < w_.shape.kv_heads; h++) costs.push_back({-cost, g * w_.shape.kv_heads + h});
        }
        std::sort(costs.begin(), costs.end());
        std::vector<double> load(threads, 0.0);
        for (auto [cost, item] : costs) {
            size_t least = std::min_element(load.begin(), load.end()) - load.begin();
            items_[least].push_back(item), load[least] -= cost;
        }
    }

    template <class Do>
    void each_sequence(int g, Do&& what) const {
        int at = in_.context_at[g], shared = in_.context_at[g + 1] - at;
        Known before = known_.empty() ? Known{} : known_[g];
        what(Sequence{at, before.count, at, shared, before});
        for (int r = in_.row_at[g]; r < in_.row_at[g + 1]; r++)
            if (in_.row_length[r]) what(Sequence{at, shared, in_.row_start[r], in_.row_length[r]});
    }

    int longest(int g) const {
        int result = 0;
        each_sequence(g, [&](const Sequence& q) { result = std::max(result, q.keys()); });
        return result;
    }

    void attend_group(int item, int layer, Tape& tape, Scratch& scratch) {
        const Shape& s = w_.shape;
        int g = item / s.kv_heads, kv = item % s.kv_heads, each = s.heads / s.kv_heads, most = longest(g);
        size_t H = s.all_heads();
        const Number* k = tape.heads.data<Number>() + (s.heads + kv) * s.d;
        const Number* v = k + s.kv_heads * s.d;
        Element* keys = scratch.keys.room<Element>(keys_size(most, s.d));
        Element* values = scratch.values.room<Element>(values_size(most, s.d));
        Number* known = scratch.rows.room<Number>(s.d);
        float* room = scratch.s.room(attend_room(most, s.d));
        each_sequence(g, [&](const Sequence& q) {
            for (int j = 0; j < q.before.count; j++) {
                const float* held = q.before.of(s, j, layer) + kv * s.d;
                put_numbers(held, s.d, known), put_key(keys, s.d, j, known);
                put_numbers(held + s.kv_heads * s.d, s.d, known), put_value(values, s.d, j, known);
            }
            for (size_t j = 0; j < size_t(q.own); j++) {
                put_key(keys, s.d, q.shared + j, k + (q.own_at + j) * H);
                put_value(values, s.d, q.shared + j, v + (q.own_at + j) * H);
            }
            for (int h = kv * each; h < (kv + 1) * each; h++)
                for (int i = 0; i < q.own; i += QUERIES)
                    attend(Tile{queries_of(tape, q, h).from(i, QUERIES), q.shared + i + 1, 1, s.d,
                                1.0f / std::sqrt(float(s.d)), Held{keys, values}, Held{}, 0},
                           room, tape.o.data<Number>() + (q.own_at + i) * s.queries() + h * s.d, s.queries());
        });
    }

    Rows queries_of(const Tape& tape, const Sequence& q, int h) const {
        size_t H = w_.shape.all_heads();
        return Rows{tape.heads.data<Number>() + q.own_at * H + h * w_.shape.d, H, q.own};
    }

    // P = softmax, dV += P' dO, dS = scale P (dO V' - rowsum(dO O)), dQ = dS K, dK += dS' Q
    void attend_back(int item, const Tape& tape, Scratch& scratch) {
        const Shape& s = w_.shape;
        int g = item / s.kv_heads, kv = item % s.kv_heads, each = s.heads / s.kv_heads, most = longest(g), d = s.d;
        size_t H = s.all_heads(), O = s.queries(), width = size_t(blocks_of(most)) * LANES;
        size_t key_at = (s.heads + kv) * d, value_at = key_at + s.kv_heads * d;
        const Number *k = tape.heads.data<Number>() + key_at, *v = tape.heads.data<Number>() + value_at;
        float *dk = dheads_.data() + key_at, *dv = dheads_.data() + value_at, scale = 1.0f / std::sqrt(float(d));
        Element* keys = scratch.keys.room<Element>(keys_size(most, d));
        Element* key_rows = scratch.key_rows.room<Element>(values_size(most, d));
        Element* values = scratch.values.room<Element>(keys_size(most, d));
        float *p = scratch.s.room(LEARNT * width), *ds = scratch.ds.room(LEARNT * width);
        Number *weights = scratch.weights.room<Number>(LEARNT * width), *slopes = scratch.slopes.room<Number>(LEARNT * width);
        each_sequence(g, [&](const Sequence& q) {
            for (int t = q.own_at; t < q.own_at + q.own; t++)
                std::memset(dk + t * H, 0, 4 * d), std::memset(dv + t * H, 0, 4 * d);
        });
        each_sequence(g, [&](const Sequence& q) {
            for (size_t j = 0; j < size_t(q.own); j++) {
                put_key(keys, d, q.shared + j, k + (q.own_at + j) * H);
                put_value(key_rows, d, q.shared + j, k + (q.own_at + j) * H);
                put_key(values, d, q.shared + j, v + (q.own_at + j) * H);
            }
            for (int h = kv * each; h < (kv + 1) * each; h++) {
                Rows all_queries = queries_of(tape, q, h);
                Rows all_grads{dout_.data<Number>() + q.own_at * O + h * d, O, q.own};
                const Number* out = tape.o.data<Number>() + q.own_at * O + h * d;
                for (int i = 0; i < q.own; i += LEARNT) {
                    Rows queries = all_queries.from(i, LEARNT), grads = all_grads.from(i, LEARNT);
                    int seen = q.shared + i + queries.count, blocks = blocks_of(seen);
                    for (int r = 0; r < queries.count; r += QUERIES) {
                        Rows some = queries.from(r, QUERIES);
                        int first = q.shared + i + r + 1, near = first + some.count - 1;
                        scores(some, keys, d, blocks_of(near), p + r * width, width);
                        scores(grads.from(r, QUERIES), values, d, blocks_of(near), ds + r * width, width);
                        for (int j = r; j < r + some.count; j++) {
                            float inverse = 1.0f / exponentials(p + j * width, first + j - r, blocks, scale, p + j * width);
                            float mean = dot(grads[j], out + (i + j) * O, d);
                            for (size_t c = j * width; c < j * width + blocks * LANES; c += LANES) {
                                vec own = load(p + c) * inverse;
                                store(weights + c, own);
                                store(slopes + c, own * (load(ds + c) - mean) * scale);
                            }
                        }
                        gather(slopes + r * width, width, some.count, key_rows, near, d,
                               dheads_.data() + (q.own_at + i + r) * H + h * d, H, false);
                    }
                    int shared = std::min(q.shared, seen), own = seen - shared;
                    auto add = [&](const Number* x, const Rows& rows, float* to) {
                        add_outer(shared, d, rows.count, x, width, rows.data, rows.stride, to + q.shared_at * H, H,
                                  scratch.packed);
                        add_outer(own, d, rows.count, x + shared, width, rows.data, rows.stride, to + q.own_at * H, H,
                                  scratch.packed);
                    };
                    add(weights, grads, dv);
                    add(slopes, queries, dk);
                }
            }
        });
    }

    const Number* gathered(int a, int rows, Scratch& scratch) {
        size_t N = padded(w_.shape.hidden);
        Number* to = scratch.rows.room<Number>(rows * N);
        for (int i = 0; i < rows; i++) std::memcpy(to + i * N, hidden(in_.predict[a + i]), sizeof(Number) * N);
        return to;
    }

    // Adds d hidden to dx, and the output layer's gradient to its weight.
    void back_head(const Hand& hand, Share mine, Scratch& scratch) {
        const Shape& s = w_.shape;
        size_t D = s.hidden, N = padded(s.hidden), V = s.vocab, Z = padded(s.vocab);
        int at_once = logit_rows(s.vocab) * hand.size, live = int(live_.size());
        for (int first = 0; first < live; first += at_once) {
            int count = std::min(at_once, live - first);
            Share rows = hand.share(count);
            Number *inputs = rows_.data<Number>() + rows.a * N, *dz = dz_.data<Number>() + rows.a * Z;
            for (int i = rows.a; i < rows.b; i++)
                std::memcpy(rows_.data<Number>() + i * N, hidden(in_.predict[live_[first + i]]), sizeof(Number) * N);
            float* again = keeps_logits_ ? nullptr : scratch.logits.room((rows.b - rows.a) * V);
            float* grad = scratch.dz.room(V);
            if (again) w_.head.apply(rows.b - rows.a, inputs, again);
            for (int i = rows.a; i < rows.b; i++) {
                int m = live_[first + i];
                const Gradients& c = coefficients_;
                Coefficients own{c.logp ? c.logp[m] : 0.0f, c.entropy ? c.entropy[m] : 0.0f,
                                 c.top_logp ? c.top_logp + size_t(m) * in_.top : nullptr,
                                 in_.top_ids.data() + size_t(m) * in_.top, c.top_logp ? in_.top : 0};
                const float* logits = again ? again + (i - rows.a) * V : logits_.data() + m * V;
                logit_grad(logits, s.vocab, in_.targets[m], spreads_[m], own, grad);
                put_numbers(grad, s.vocab, dz + (i - rows.a) * Z);
            }
            w_.head.pull(rows.b - rows.a, dz, drows_.data() + rows.a * D);
            hand.meet();
            w_.head.gather(count, dz_.data<Number>(), rows_.data<Number>(), hand.number, hand.size, scratch.packed);
            for (int i = 0; i < count; i++) {
                int t = in_.predict[live_[first + i]];
                if (t < mine.a || t >= mine.b) continue;
                for (size_t c = 0; c < D; c++) dx_.data()[t * D + c] += drows_.data()[i * D + c];
            }
            hand.meet();
        }
        hand.meet();
    }

    void back_layer(const Hand& hand, Share mine, Scratch& scratch, const Layer& layer, const Tape& tape) {
        const Shape& s = w_.shape;
        size_t D = s.hidden, N = padded(s.hidden), F = s.ffn, H = s.all_heads(), O = s.queries();
        float *dx = current(), *dnext = other(), *dmid = dmid_.data();
        Number *downs = downs_.data<Number>(), *mids = mids_.data<Number>(), *turned = turned_.data<Number>();
        Number* dboth = dboth_.data<Number>();
        const Number *both = tape.both.data<Number>(), *h = tape.h.data<Number>(), *h2 = tape.h2.data<Number>();
        float* dact = scratch.dact.room(BLOCK * F);
        float *dh = scratch.dh.room(BLOCK * D), *dout = scratch.dout.room(BLOCK * O);
        by_blocks(mine.a, mine.b, [&](int a, int b) {
            for (int t = a; t < b; t++) put_numbers(dx + t * D, s.hidden, downs + t * N);
            layer.down.pull(b - a, downs + a * N, dact);
            for (int t = a; t < b; t++)
                gate_back(both + t * 2 * F, dact + (t - a) * F, s.ffn, dboth + t * 2 * F);
            layer.up.pull(b - a, dboth + a * 2 * F, dh);
            for (int t = a; t < b; t++) {
                normalise_back(dh + (t - a) * D, h2 + t * N, tape.r2.data()[t], s.hidden, dx + t * D, dmid + t * D);
                put_numbers(dmid + t * D, s.hidden, mids + t * N);
            }
            layer.out.pull(b - a, mids + a * N, dout);
            put_numbers(dout, (b - a) * s.queries(), dout_.data<Number>() + a * O);
        });
        hand.meet();
        for (int item : items_[hand.number]) attend_back(item, tape, scratch);
        hand.meet();
        turn_back(mine);
        if (s.qk_norm) back_qk_norm(hand, layer, tape, mine);
        by_blocks(mine.a, mine.b, [&](int a, int b) {
            for (int t = a; t < b; t++) put_numbers(dheads_.data() + t * H, s.all_heads(), turned + t * H);
            layer.qkv.pull(b - a, turned + a * H, dh);
            for (int t = a; t < b; t++)
                normalise_back(dh + (t - a) * D, h + t * N, tape.r.data()[t], s.hidden, dmid + t * D, dnext + t * D);
        });
        int n = in_.tokens(), number = hand.number, size = hand.size;
        layer.down.gather(n, downs, tape.act.data<Number>(), number, size, scratch.packed);
        layer.up.gather(n, dboth, h2, number, size, scratch.packed);
        layer.out.gather(n, mids, tape.o.data<Number>(), number, size, scratch.packed);
        hand.meet();  // what was turned is complete
        layer.qkv.gather(n, turned, h, number, size, scratch.packed);
        if (hand.number == 0) swapped_ = !swapped_;
        hand.meet();
    }

    void turn_back(Share mine) {
        const Shape& s = w_.shape;
        for (int t = mine.a; t < mine.b; t++) {
            size_t angle = size_t(in_.positions[t]) * (s.d / 2);
            for (int i = 0; i < s.heads + s.kv_heads; i++)
                turn(dheads_.data() + size_t(t) * s.all_heads() + i * s.d, s.d, w_.cosines + angle, w_.sines + angle,
                     -1.0f);
        }
    }

    // The backward pass of the norms of queries and keys: gradients of their weights, by columns over all tokens, then
    // gradients of their inputs.
    void back_qk_norm(const Hand& hand, const Layer& layer, const Tape& tape, Share mine) {
        const Shape& s = w_.shape;
        size_t T = s.turned(), H = s.all_heads(), heads = s.heads + s.kv_heads;
        Share columns = Share(s.turned(), hand.number, hand.size);
        hand.meet();
        for (int t = 0; t < in_.tokens(); t++)
            for (int i = columns.a; i < columns.b; i++)
                layer.qk_grad[i] += dheads_.data()[t * H + i] * tape.normed.data()[t * T + i];
        hand.meet();
        for (int t = mine.a; t < mine.b; t++)
            for (size_t i = 0; i < heads; i++) {
                float* grad = dheads_.data() + t * H + i * s.d;
                for (int c = 0; c < s.d; c++) grad[c] *= layer.qk_weight[i * s.d + c];
                normalise_back(grad, tape.normed.data() + t * T + i * s.d, tape.rr.data()[t * heads + i], s.d, nullptr,
                               grad);
            }
    }

    float* current() { return swapped_ ? dnext_.data() : dx_.data(); }
    float* other() { return swapped_ ? dx_.data() : dnext_.data(); }

    const Weights& w_;
    Packed in_;
    std::vector<Known> known_;  // of each group, or none of any
    std::vector<std::vector<int>> items_;
    std::vector<Scratch> scratch_;
    std::vector<Tape> tapes_;
    std::vector<Spread> spreads_;
    std::vector<int> live_;
    Gradients coefficients_{};
    Buffer x_, r_, y_, hidden_, logits_;
    Buffer dx_, dmid_, dnext_, dheads_, drows_;               // gradients in floats
    Buffer downs_, mids_, dboth_, dout_, turned_, dz_, rows_;  // operands of products
    bool keep_ = false, keeps_logits_ = false, swapped_ = false;
};

}  // namespace assay
