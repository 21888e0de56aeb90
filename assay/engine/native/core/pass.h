// The forward and the backward pass over packed rows. Only in attention do tokens meet, and only those of one group. So the
// groups are divided into pieces, and a thread takes one piece after another through all layers, without waiting for the
// other threads. If the groups are too few or too different for that, all threads go through one piece together: where
// tokens are independent, each thread has a share of them; in attention, each thread has some pairs of (group, key-value
// head). At the end of the backward pass come the gradients of the weights. Each is a sum over the tokens in their order,
// and each thread computes some rows of it. So no result depends on the number of threads.
//
// Stems go forward through all layers before the other groups, which read their keys and values, and go back after these.
// A group keeps what it adds to the gradients of its stem's keys and values; the stem sums that in the order of the groups.
//
// Where only the inputs of layers are kept, the backward pass goes layer by layer: all pieces compute the layer again from
// its input and go back through it, and then come the gradients of its weights. There is one tape then, that of the layer
// at hand. These are the same sums of the same numbers, so the gradients have the same bits.
#pragma once

#include "head.h"
#include "packed.h"

namespace assay {

constexpr int PIECE = 384;                // tokens of a piece, about: then what a layer computes stays in the caches
constexpr int LEARNT = 4 * QUERIES;       // queries that go through attention's backward pass together
constexpr int SUMMED = 24 * TILE_ROWS;    // rows of a weight's gradient that a thread takes at a time

// The gradients with respect to what a layer's matrices give, from which the gradients of their weights are summed.
struct Slopes {
    Buffer down, up, out, qkv;
    Buffer turned;  // with respect to normed queries and keys, times their weights

    void room(const Shape& s, size_t tokens) {
        down.room<Number>(tokens * padded(s.hidden)), up.room<Number>(tokens * 2 * s.ffn);
        out.room<Number>(tokens * padded(s.hidden)), qkv.room<Number>(tokens * s.all_heads());
        if (s.qk_norm) turned.room(tokens * s.turned());
    }
};

// What a forward pass keeps for the backward pass: nothing, what every layer computes, or the layers' inputs alone.
enum class Keep : int32_t { nothing, all, inputs };

class Pass {
  public:
    Pass(const Weights& weights, int threads) : w_(weights), scratch_(threads) {}

    // Takes the tokens of the next pass. `known` are the cached prefixes of contexts; then there are no rows.
    void take(Packed packed, std::vector<Known> known = {}) {
        in_ = std::move(packed), known_ = std::move(known);
        int threads = static_cast<int>(scratch_.size());
        divide(stems_, 0, in_.stems, threads), divide(others_, in_.stems, in_.groups(), threads);
        const Shape& s = w_.shape;
        x_.room(size_t(in_.tokens()) * s.hidden), r_.room(in_.tokens());
        y_.room(size_t(in_.tokens()) * s.hidden), hidden_.room<Number>(size_t(in_.tokens()) * padded(s.hidden));
        spreads_.resize(in_.predicted());
    }

    const Packed& packed() const { return in_; }
    const Number* hidden(int token) const { return hidden_.data<Number>() + size_t(token) * padded(w_.shape.hidden); }

    // To be called once before the threads go in. `reads`: whether `read` follows.
    void prepare(Keep keep, bool reads) {
        keep_ = keep, stems_.next = 0, others_.next = 0;
        tapes_.resize(keep == Keep::all ? w_.shape.layers : 1);
        for (Tape& tape : tapes_) tape.room(w_.shape, in_.tokens(), keep == Keep::all);
        if (keep == Keep::inputs) inputs_.room(size_t(w_.shape.layers) * in_.tokens() * w_.shape.hidden);
        stem_held_.room<Number>(size_t(w_.shape.layers) * in_.stem_tokens() * w_.shape.held());
        size_t logits = size_t(in_.predicted()) * w_.shape.vocab;
        keeps_logits_ = keep != Keep::nothing && reads && logits <= 4 * LOGITS;
        if (keeps_logits_) logits_.room(logits);
    }

    // Computes hidden states after the last norm. Where all tokens are one piece, the first thread calls
    // `each_layer(layer, heads)` with rotated keys and values.
    template <class Do>
    void forward(const Hand& hand, Do&& each_layer) {
        const Shape& s = w_.shape;
        size_t D = s.hidden;
        auto go = [&](const Hand& hands, const Piece& piece, Scratch& scratch) {
            for (int l = 0; l < s.layers; l++) {
                Tape& tape = tape_of(l);
                piece.by_blocks(hands, [&](int a, int b) {
                    for (int t = a; l == 0 && t < b; t++) embed(t);
                    if (keep_ == Keep::inputs) std::memcpy(input_of(l) + a * D, x_.data() + a * D, 4 * D * (b - a));
                    project(w_, w_.layers[l], x_.data(), in_.positions.data(), tape, a, b, scratch.raw);
                    for (int t = a; t < std::min(b, in_.stem_tokens()); t++)
                        std::memcpy(stem_held(l, t), tape.heads.data<Number>() + size_t(t) * s.all_heads() + s.queries(),
                                    sizeof(Number) * s.held());
                });
                hands.meet();
                each_item(hands, piece, [&](int g, int kv) { attend_group(g, kv, l, tape, scratch); });
                if (hands.number == 0) each_layer(l, tape.heads.data<Number>());
                hands.meet();
                piece.by_blocks(hands, [&](int a, int b) {
                    mix(w_, w_.layers[l], x_.data(), tape, a, b, scratch.raw);
                });
            }
            piece.by_blocks(hands, [&](int a, int b) {
                for (size_t t = a; t < size_t(b); t++) {
                    float* y = y_.data() + t * D;
                    r_.data()[t] = normalise(x_.data() + t * D, s.hidden, s.eps, y);
                    scale(y, w_.final_norm, s.hidden, hidden_.data<Number>() + t * padded(s.hidden));
                }
            });
        };
        each_piece(hand, stems_, go), each_piece(hand, others_, go);
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

    // The hidden states that predict the tokens, [M, hidden], for an output layer that is none of the core's.
    void show(const Hand& hand, float* states) const {
        size_t D = w_.shape.hidden;
        Share mine = hand.share(in_.predicted());
        for (int m = mine.a; m < mine.b; m++) {
            const Number* from = hidden(in_.predict[m]);
            by_vectors(w_.shape.hidden, [&](int i, int lanes) {
                store_part(states + m * D + i, load_part(from + i, lanes), lanes);
            });
        }
    }

    // To be called once before the threads go in: which tokens have a coefficient, and room for the gradients.
    void prepare_back(const Gradients& c) {
        const Shape& s = w_.shape;
        size_t n = in_.tokens();
        coefficients_ = c, stems_.next = 0, others_.next = 0, next_sum_ = 0;
        live_.clear();
        for (int m = 0; m < in_.predicted(); m++) {
            bool some = (c.logp && c.logp[m] != 0.0f) || (c.entropy && c.entropy[m] != 0.0f);
            for (int k = 0; c.top_logp && k < in_.top; k++) some |= c.top_logp[m * in_.top + k] != 0.0f;
            if (some) live_.push_back(m);
        }
        dx_.room(n * s.hidden), dhidden_.room(n * s.hidden), dheads_.room(n * s.all_heads());
        dattended_.room<Number>(n * s.queries());
        slopes_.resize(tapes_.size()), sums_.clear(), sums_before_.assign(1, 0);
        for (Slopes& own : slopes_) own.room(s, n);
        stem_grads_at_.assign(1, 0);
        for (int g = 0; g < in_.groups(); g++)
            stem_grads_at_.push_back(stem_grads_at_.back() + (in_.stem(g) < 0 ? 0 : in_.size(in_.stem(g))));
        stem_grads_.room((tapes_.size() * stem_grads_at_.back() + 1) * s.held());
        if (keep_ == Keep::inputs) tapes_[0].room(s, n, true);
        for (int l = s.layers - 1; l >= 0; l--) {
            const Slopes& own = slopes_of(l);
            const Tape& tape = tape_of(l);
            add_sums(w_.layers[l].down, own.down, tape.act), add_sums(w_.layers[l].up, own.up, tape.h2);
            add_sums(w_.layers[l].out, own.out, tape.o), add_sums(w_.layers[l].qkv, own.qkv, tape.h);
            sums_before_.push_back(static_cast<int>(sums_.size()));
        }
        size_t rows = std::min<size_t>(live_.size(), size_t(logit_rows(s.vocab)) * scratch_.size());
        dz_.room<Number>(rows * padded(s.vocab)), rows_.room<Number>(rows * padded(s.hidden)), drows_.room(rows * s.hidden);
    }

    void backward(const Hand& hand) {
        const Shape& s = w_.shape;
        size_t D = s.hidden;
        if (coefficients_.states) back_states(hand);
        else if (live_.empty()) return;  // nothing to add
        else back_head(hand);
        int stretch = static_cast<int>(tapes_.size());  // layers that have tapes at the same time
        for (int top = s.layers; top > 0; top -= stretch) {
            auto go = [&](const Hand& hands, const Piece& piece, Scratch& scratch) {
                piece.by_blocks(hands, [&](int a, int b) {
                    for (size_t t = a; top == s.layers && t < size_t(b); t++) {
                        float* dx = dx_.data() + t * D;
                        scale(dhidden_.data() + t * D, w_.final_norm, s.hidden, dx);
                        normalise_back(dx, y_.data() + t * D, r_.data()[t], s.hidden, nullptr, dx);
                    }
                });
                for (int l = top - 1; l >= top - stretch; l--) {
                    if (keep_ == Keep::inputs) compute_again(hands, piece, scratch, l);
                    back_layer(hands, piece, scratch, l);
                }
            };
            each_piece(hand, others_, go), each_piece(hand, stems_, go);
            sum_weights(hand, top - stretch, top);
        }
        sum_columns(hand);
    }

  private:
    Tape& tape_of(int layer) { return tapes_[keep_ == Keep::all ? layer : 0]; }
    Slopes& slopes_of(int layer) { return slopes_[keep_ == Keep::all ? layer : 0]; }
    float* input_of(int layer) const { return inputs_.data() + size_t(layer) * in_.tokens() * w_.shape.hidden; }

    // Keys and values of a stem's token.
    Number* stem_held(int layer, int token) const {
        return stem_held_.data<Number>() + (size_t(layer) * in_.stem_tokens() + token) * w_.shape.held();
    }

    // What a group adds to the gradients of its stem's keys and values, [tokens of the stem, held()].
    float* stem_grads(int layer, int group) const {
        size_t before = keep_ == Keep::all ? layer * stem_grads_at_.back() : 0;
        return stem_grads_.data() + (before + stem_grads_at_[group]) * w_.shape.held();
    }

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
        Buffer keys, key_rows, values, s, ds, weights, slopes, logits, rows, raw, dact, dh, dattended, dz;
        Adapter::Scratch sums;
        std::vector<int32_t> order;
    };

    // Some rows of a weight's gradient, dy' x, or the gradients of the weight's adapter.
    struct Sum {
        const Matrix* matrix;
        const Number *dy, *x;
        int part, parts;
    };

    void add_sums(const Matrix& matrix, const Buffer& dy, const Buffer& x) {
        int parts = matrix.grad ? (matrix.out + SUMMED - 1) / SUMMED : matrix.adapter.down_grad ? 1 : 0;
        for (int i = 0; i < parts; i++) sums_.push_back(Sum{&matrix, dy.data<Number>(), x.data<Number>(), i, parts});
    }

    // Adds the gradients of the weights of layers [first, last). Before and after it the threads meet.
    void sum_weights(const Hand& hand, int first, int last) {
        const Shape& s = w_.shape;
        size_t T = s.turned();
        if (hand.number == 0) stems_.next = 0, others_.next = 0;
        for (int i; (i = next_sum_++) < sums_before_[s.layers - first]; hand.alone().meet()) {
            const Sum& sum = sums_[i];
            Adapter::Scratch& scratch = scratch_[hand.number].sums;
            if (sum.matrix->grad)
                sum.matrix->gather(in_.tokens(), sum.dy, sum.x, sum.part, sum.parts, scratch.packed);
            else sum.matrix->adapter.gather(in_.tokens(), sum.dy, sum.x, scratch);
        }
        Share turned = hand.share(s.turned());
        for (int l = first; s.qk_norm && w_.final_grad && l < last; l++) {
            const float *slopes = slopes_of(l).turned.data(), *normed = tape_of(l).normed.data();
            for (size_t t = 0; t < size_t(in_.tokens()); t++)
                for (int i = turned.a; i < turned.b; i++)
                    w_.layers[l].qk_grad[i] += slopes[t * T + i] * normed[t * T + i];
        }
        hand.meet();
        if (hand.number == 0) next_sum_ = sums_before_[s.layers - first];
    }

    // Divides groups [first, last) into pieces of about PIECE tokens, but at most an even share of what is left: so the
    // threads, which take one piece after another, come to the end at about the same time. The sampler's prompts and groups
    // that would leave threads idle are one piece, for all threads together.
    void divide(Stage& stage, int first, int last, int threads) {
        int a = in_.context_at[first], b = last < in_.groups() ? in_.context_at[last] : in_.tokens();
        int left = b - a, room = 0;
        stage.pieces.clear();
        for (int g = first; g < last; g++) {
            int size = 0;
            each_sequence(g, [&](const Sequence& q) { size += q.own; });
            if (stage.pieces.empty() || room < size / 2)
                stage.pieces.push_back(Piece{g, g}), room = std::min(PIECE, left / threads);
            stage.pieces.back().last = g + 1;
            room -= size, left -= size;
        }
        std::vector<int> load(threads, 0);
        for (Piece& piece : stage.pieces) {
            piece.add(in_.context_at[piece.first], in_.context_at[piece.last]);
            for (int r = in_.row_at[piece.first]; r < in_.row_at[piece.last]; r++)
                piece.add(in_.row_start[r], in_.row_start[r] + in_.row_length[r]);
            int& least = *std::min_element(load.begin(), load.end());
            for (auto [a, b] : piece.ranges) least += b - a;
        }
        stage.together = !known_.empty() || *std::max_element(load.begin(), load.end()) > 1.2 * (b - a) / threads;
        if (!stage.together || first == last) return;
        stage.pieces = {Piece{first, last, {{a, b}}}};
        deal(stage, threads);
    }

    // Deals (group, key-value head) pairs out to the threads, the largest first, each to the thread with the least to do.
    void deal(Stage& stage, int threads) {
        stage.items.assign(threads, {});
        std::vector<std::pair<double, int>> costs;
        for (int g = stage.pieces[0].first; g < stage.pieces[0].last; g++) {
            double cost = 0;
            each_sequence(g, [&](const Sequence& q) { cost += double(q.own) * q.keys(); });
            for (int h = 0; h < w_.shape.kv_heads; h++) costs.push_back({-cost, g * w_.shape.kv_heads + h});
        }
        std::sort(costs.begin(), costs.end());
        std::vector<double> load(threads, 0.0);
        for (auto [cost, item] : costs) {
            size_t least = std::min_element(load.begin(), load.end()) - load.begin();
            stage.items[least].push_back(item), load[least] -= cost;
        }
    }

    // what(hands, piece, scratch) for the pieces of a stage that this thread takes, or for the one that all threads share.
    template <class Do>
    void each_piece(const Hand& hand, Stage& stage, Do&& what) {
        const std::vector<Piece>& pieces = stage.pieces;
        Scratch& scratch = scratch_[hand.number];
        if (pieces.empty()) return;
        if (stage.together) what(hand, pieces[0], scratch);
        else
            for (int i; (i = stage.next++) < static_cast<int>(pieces.size());) what(hand.alone(), pieces[i], scratch);
        hand.meet();
    }

    // what(group, key-value head) for the hand's share of a piece.
    template <class Do>
    void each_item(const Hand& hands, const Piece& piece, Do&& what) const {
        int heads = w_.shape.kv_heads;
        const Stage& stage = piece.first < in_.stems ? stems_ : others_;
        if (hands.size > 1)
            for (int item : stage.items[hands.number]) what(item / heads, item % heads);
        else
            for (int item = piece.first * heads; item < piece.last * heads; item++) what(item / heads, item % heads);
    }

    template <class Do>
    void each_sequence(int g, Do&& what) const {
        int at = in_.context_at[g], shared = in_.size(g), stem = in_.stem(g) < 0 ? 0 : in_.size(in_.stem(g));
        what(Sequence{stem, at, 0, at, shared, known_.empty() ? Known{} : known_[g]});
        for (int r = in_.row_at[g]; r < in_.row_at[g + 1]; r++)
            if (in_.row_length[r]) what(Sequence{stem, at, shared, in_.row_start[r], in_.row_length[r]});
    }

    // what(place, key, value) for the keys and values of a group's stem.
    template <class Do>
    void each_of_stem(int g, int kv, int layer, Do&& what) const {
        const Shape& s = w_.shape;
        if (in_.stem(g) < 0) return;
        for (int j = 0, at = in_.context_at[in_.stem(g)]; j < in_.size(in_.stem(g)); j++) {
            const Number* held = stem_held(layer, at + j) + kv * s.d;
            what(j, held, held + s.kv_heads * s.d);
        }
    }

    int longest(int g) const {
        int result = 0;
        each_sequence(g, [&](const Sequence& q) { result = std::max(result, q.keys()); });
        return result;
    }

    void attend_group(int g, int kv, int layer, Tape& tape, Scratch& scratch) {
        const Shape& s = w_.shape;
        int each = s.heads / s.kv_heads, most = longest(g);
        size_t H = s.all_heads();
        const Number* k = tape.heads.data<Number>() + (s.heads + kv) * s.d;
        const Number* v = k + s.kv_heads * s.d;
        Element* keys = scratch.keys.room<Element>(keys_size(most, s.d));
        Element* values = scratch.values.room<Element>(values_size(most, s.d));
        Number* known = scratch.rows.room<Number>(s.d);
        float* room = scratch.s.room(attend_room(most, s.d));
        each_of_stem(g, kv, layer, [&](int j, const Number* key, const Number* value) {
            put_key(keys, s.d, j, key), put_value(values, s.d, j, value);
        });
        each_sequence(g, [&](const Sequence& q) {
            int ahead = q.ahead();
            for (int j = 0; j < q.before.count; j++) {
                const float* held = q.before.of(s, j, layer) + kv * s.d;
                put_numbers(held, s.d, known), put_key(keys, s.d, j, known);
                put_numbers(held + s.kv_heads * s.d, s.d, known), put_value(values, s.d, j, known);
            }
            for (size_t j = 0; j < size_t(q.own); j++) {
                put_key(keys, s.d, ahead + j, k + (q.own_at + j) * H);
                put_value(values, s.d, ahead + j, v + (q.own_at + j) * H);
            }
            for (int h = kv * each; h < (kv + 1) * each; h++) {
                Rows queries = queries_of(tape, q, h);
                Number* to = tape.o.data<Number>() + q.own_at * s.queries() + h * s.d;
                for (int i = 0; i < q.own;) {
                    Tile tile;
                    for (; i < q.own && !tile.full(); i++)
                        tile.add(Query{queries[i], to + i * s.queries(), Held{keys, values}, ahead + i + 1});
                    attend(tile, s.d, room);
                }
            }
        });
    }

    Rows queries_of(const Tape& tape, const Sequence& q, int h) const {
        size_t H = w_.shape.all_heads();
        return Rows{tape.heads.data<Number>() + q.own_at * H + h * w_.shape.d, H, q.own};
    }

    // P = softmax, dV += P' dO, dS = scale P (dO V' - rowsum(dO O)), dQ = dS K, dK += dS' Q
    void attend_back(int g, int kv, int layer, const Tape& tape, Scratch& scratch) {
        const Shape& s = w_.shape;
        int each = s.heads / s.kv_heads, most = longest(g), d = s.d;
        size_t H = s.all_heads(), O = s.queries(), held = s.held(), width = size_t(blocks_of(most)) * LANES;
        size_t key_at = (s.heads + kv) * d, value_at = key_at + s.kv_heads * d;
        const Number *k = tape.heads.data<Number>() + key_at, *v = tape.heads.data<Number>() + value_at;
        float *dk = dheads_.data() + key_at, *dv = dheads_.data() + value_at, scale = 1.0f / std::sqrt(float(d));
        Element* keys = scratch.keys.room<Element>(keys_size(most, d));
        Element* key_rows = scratch.key_rows.room<Element>(values_size(most, d));
        Element* values = scratch.values.room<Element>(keys_size(most, d));
        float *p = scratch.s.room(LEARNT * width), *ds = scratch.ds.room(LEARNT * width);
        Number* weights = scratch.weights.room<Number>(LEARNT * width);
        Number* slopes = scratch.slopes.room<Number>(LEARNT * width);
        each_sequence(g, [&](const Sequence& q) {
            for (int t = q.own_at; t < q.own_at + q.own; t++)
                std::memset(dk + t * H, 0, 4 * d), std::memset(dv + t * H, 0, 4 * d);
        });
        float *stem_dk = stem_grads(layer, g) + kv * d, *stem_dv = stem_dk + s.kv_heads * d;
        each_of_stem(g, kv, layer, [&](int j, const Number* key, const Number* value) {
            put_key(keys, d, j, key), put_value(key_rows, d, j, key), put_key(values, d, j, value);
            std::memset(stem_dk + j * held, 0, 4 * d), std::memset(stem_dv + j * held, 0, 4 * d);
        });
        each_sequence(g, [&](const Sequence& q) {
            int ahead = q.ahead();
            for (size_t j = 0; j < size_t(q.own); j++) {
                put_key(keys, d, ahead + j, k + (q.own_at + j) * H);
                put_value(key_rows, d, ahead + j, k + (q.own_at + j) * H);
                put_key(values, d, ahead + j, v + (q.own_at + j) * H);
            }
            for (int h = kv * each; h < (kv + 1) * each; h++) {
                Rows all_queries = queries_of(tape, q, h);
                Rows all_grads{dattended_.data<Number>() + q.own_at * O + h * d, O, q.own};
                const Number* out = tape.o.data<Number>() + q.own_at * O + h * d;
                for (int i = 0; i < q.own; i += LEARNT) {
                    Rows queries = all_queries.from(i, LEARNT), grads = all_grads.from(i, LEARNT);
                    int own = i + queries.count, blocks = blocks_of(ahead + own);
                    for (int r = 0; r < queries.count; r += QUERIES) {
                        Rows some = queries.from(r, QUERIES);
                        int first = ahead + i + r + 1, near = first + some.count - 1;
                        scores(some, 0, some.count, keys, d, blocks_of(near), p + r * width, width);
                        scores(grads.from(r, QUERIES), 0, some.count, values, d, blocks_of(near), ds + r * width,
                               width);
                        for (int j = r; j < r + some.count; j++) {
                            int own_keys = first + j - r;
                            float inverse = 1.0f / exponentials(p + j * width, own_keys, blocks, scale, p + j * width);
                            float mean = dot(grads[j], out + (i + j) * O, d);
                            for (int at = 0; at < blocks * LANES; at += LANES) {
                                size_t c = j * width + at;
                                vec own = load(p + c) * inverse, slope = own * (load(ds + c) - mean) * scale;
                                store(weights + c, own);
                                store(slopes + c, kept(slope, own_keys - at, 0.0f));  // no score is behind the keys
                            }
                        }
                        gather(slopes + r * width, width, some.count, key_rows, near, d,
                               dheads_.data() + (q.own_at + i + r) * H + h * d, H, false);
                    }
                    auto add = [&](const Number* x, const Rows& rows, float* to, float* stem_to) {
                        auto part = [&](int count, float* sums, size_t stride) {
                            if (count)
                                add_outer(count, d, rows.count, x, width, rows.data, rows.stride, sums, stride,
                                          scratch.sums.packed);
                            x += count;
                        };
                        part(q.stem, stem_to, held), part(q.shared, to + q.shared_at * H, H);
                        part(own, to + q.own_at * H, H);
                    };
                    add(weights, grads, dv, stem_dv);
                    add(slopes, queries, dk, stem_dk);
                }
            }
        });
        for (int other = in_.stems; g < in_.stems && other < in_.groups(); other++) {
            if (in_.stem(other) != g) continue;
            const float* from = stem_grads(layer, other) + kv * d;
            for (size_t t = in_.context_at[g]; t < size_t(in_.context_at[g + 1]); t++, from += held)
                for (int c = 0; c < d; c++) dk[t * H + c] += from[c], dv[t * H + c] += from[s.kv_heads * d + c];
        }
    }

    const Number* gathered(int a, int rows, Scratch& scratch) {
        size_t N = padded(w_.shape.hidden);
        Number* to = scratch.rows.room<Number>(rows * N);
        for (int i = 0; i < rows; i++) std::memcpy(to + i * N, hidden(in_.predict[a + i]), sizeof(Number) * N);
        return to;
    }

    // Computes d hidden of some live tokens, and adds the output layer's gradient to its weight.
    void back_head(const Hand& hand) {
        const Shape& s = w_.shape;
        size_t D = s.hidden, N = padded(s.hidden), V = s.vocab, Z = padded(s.vocab);
        Scratch& scratch = scratch_[hand.number];
        Share mine = hand.share(in_.tokens());
        int at_once = logit_rows(s.vocab) * hand.size, live = int(live_.size());
        std::memset(dhidden_.data() + mine.a * D, 0, 4 * D * (mine.b - mine.a));
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
            if (w_.head.grad)
                w_.head.gather(count, dz_.data<Number>(), rows_.data<Number>(), hand.number, hand.size,
                               scratch.sums.packed);
            for (int i = 0; i < count; i++) {
                int t = in_.predict[live_[first + i]];
                if (t < mine.a || t >= mine.b) continue;
                for (size_t c = 0; c < D; c++) dhidden_.data()[t * D + c] += drows_.data()[i * D + c];
            }
            hand.meet();
        }
    }

    // Puts the given gradients by hidden states in the places of their tokens. Several tokens may have one place.
    void back_states(const Hand& hand) {
        size_t D = w_.shape.hidden;
        Share mine = hand.share(in_.tokens());
        std::memset(dhidden_.data() + mine.a * D, 0, 4 * D * (mine.b - mine.a));
        for (int m = 0; m < in_.predicted(); m++) {
            int t = in_.predict[m];
            if (t < mine.a || t >= mine.b) continue;
            for (size_t c = 0; c < D; c++) dhidden_.data()[t * D + c] += coefficients_.states[m * D + c];
        }
        hand.meet();
    }

    // Fills the tape with what layer l computed of a piece. The layer's input, which nobody reads after that, is changed.
    void compute_again(const Hand& hands, const Piece& piece, Scratch& scratch, int l) {
        Tape& tape = tape_of(l);
        const Layer& layer = w_.layers[l];
        piece.by_blocks(hands, [&](int a, int b) {
            project(w_, layer, input_of(l), in_.positions.data(), tape, a, b, scratch.raw);
        });
        hands.meet();
        each_item(hands, piece, [&](int g, int kv) { attend_group(g, kv, l, tape, scratch); });
        hands.meet();
        piece.by_blocks(hands, [&](int a, int b) { mix_gated(w_, layer, input_of(l), tape, a, b, scratch.raw); });
    }

    void back_layer(const Hand& hands, const Piece& piece, Scratch& scratch, int l) {
        const Shape& s = w_.shape;
        const Layer& layer = w_.layers[l];
        const Tape& tape = tape_of(l);
        Slopes& slopes = slopes_of(l);
        size_t D = s.hidden, N = padded(s.hidden), F = s.ffn, H = s.all_heads(), O = s.queries();
        float *dx = dx_.data(), *dheads = dheads_.data();
        Number *down = slopes.down.data<Number>(), *up = slopes.up.data<Number>();
        Number *out = slopes.out.data<Number>(), *qkv = slopes.qkv.data<Number>();
        const Number *both = tape.both.data<Number>(), *h = tape.h.data<Number>(), *h2 = tape.h2.data<Number>();
        float *dact = scratch.dact.room(BLOCK * F), *dh = scratch.dh.room(BLOCK * D);
        float* dattended = scratch.dattended.room(BLOCK * O);
        piece.by_blocks(hands, [&](int a, int b) {
            for (int t = a; t < b; t++) put_numbers(dx + t * D, s.hidden, down + t * N);
            layer.down.pull(b - a, down + a * N, dact);
            for (int t = a; t < b; t++) gate_back(both + t * 2 * F, dact + (t - a) * F, s.ffn, up + t * 2 * F);
            layer.up.pull(b - a, up + a * 2 * F, dh);
            for (int t = a; t < b; t++) {
                normalise_back(dh + (t - a) * D, h2 + t * N, tape.r2.data()[t], s.hidden, dx + t * D, dx + t * D);
                put_numbers(dx + t * D, s.hidden, out + t * N);
            }
            layer.out.pull(b - a, out + a * N, dattended);
            put_numbers(dattended, (b - a) * s.queries(), dattended_.data<Number>() + a * O);
        });
        hands.meet();
        each_item(hands, piece, [&](int g, int kv) { attend_back(g, kv, l, tape, scratch); });
        hands.meet();
        piece.by_blocks(hands, [&](int a, int b) {
            for (int t = a; t < b; t++) {
                turn_back(t, layer, tape, slopes);
                put_numbers(dheads + t * H, s.all_heads(), qkv + t * H);
            }
            layer.qkv.pull(b - a, qkv + a * H, dh);
            for (int t = a; t < b; t++)
                normalise_back(dh + (t - a) * D, h + t * N, tape.r.data()[t], s.hidden, dx + t * D, dx + t * D);
        });
    }

    // Turns the gradients of a token's queries and keys back, and takes them through the norms of these.
    void turn_back(size_t t, const Layer& layer, const Tape& tape, Slopes& own) {
        const Shape& s = w_.shape;
        size_t angle = size_t(in_.positions[t]) * (s.d / 2), heads = s.heads + s.kv_heads;
        float* grads = dheads_.data() + t * s.all_heads();
        for (size_t i = 0; i < heads; i++) turn(grads + i * s.d, s.d, w_.cosines + angle, w_.sines + angle, -1.0f);
        if (!s.qk_norm) return;
        std::memcpy(own.turned.data() + t * s.turned(), grads, 4 * size_t(s.turned()));
        for (size_t i = 0; i < heads; i++) {
            float* grad = grads + i * s.d;
            scale(grad, layer.qk_weight + i * s.d, s.d, grad);
            normalise_back(grad, tape.normed.data() + (t * heads + i) * s.d, tape.rr.data()[t * heads + i], s.d, nullptr,
                           grad);
        }
    }

    // The hand's columns of the gradients of the last norm's weight and of the embedding: sums over all tokens.
    void sum_columns(const Hand& hand) {
        const Shape& s = w_.shape;
        size_t D = s.hidden;
        Share columns = hand.share(s.hidden);
        if (!w_.final_grad) return;  // the base under adapters is not trained
        for (size_t t = 0; t < size_t(in_.tokens()); t++) {
            const float *dx = dx_.data() + t * D, *dhidden = dhidden_.data() + t * D, *y = y_.data() + t * D;
            float* to = w_.embedding_grad + in_.ids[t] * D;
            for (int i = columns.a; i < columns.b; i++) w_.final_grad[i] += dhidden[i] * y[i];
            for (int i = columns.a; i < columns.b && in_.beside.empty(); i++) to[i] += dx[i];
        }
    }

    const Weights& w_;
    Packed in_;
    std::vector<Known> known_;  // of each group, or none of any
    Stage stems_, others_;
    std::atomic<int> next_sum_{0};
    std::vector<Scratch> scratch_;
    std::vector<Tape> tapes_;
    std::vector<Slopes> slopes_;
    std::vector<Sum> sums_;         // from the last layer to the first
    std::vector<int> sums_before_;  // how many are of the last layer, of the last two, ...
    std::vector<Spread> spreads_;
    std::vector<int> live_;
    Gradients coefficients_{};
    Buffer x_, r_, y_, hidden_, logits_;
    Buffer inputs_;                         // of each layer, [layers, tokens, hidden], where these alone are kept
    Buffer dx_, dhidden_, dheads_, drows_;  // gradients in floats
    Buffer dattended_, dz_, rows_;               // operands of products
    Buffer stem_held_;                           // keys and values of stems, [layers, tokens of stems, held()]
    Buffer stem_grads_;                          // of each layer that has a tape
    std::vector<size_t> stem_grads_at_;          // where a group's begin, in tokens
    Keep keep_ = Keep::nothing;
    bool keeps_logits_ = false;
};

}  // namespace assay
