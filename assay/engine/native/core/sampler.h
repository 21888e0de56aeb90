// Sampling. Each thread has its own slots and goes from prompt to last token without waiting for another; rows enter
// as soon as a quarter of the slots is free. A row's numbers depend on the row alone, so who shares a step with it, and
// on which thread, changes nothing.
#pragma once

#include <mutex>

#include "draw.h"
#include "pass.h"

namespace assay {

using Stopped = int32_t (*)(int32_t request, const int32_t* ids, int32_t count);

struct Requests {
    int32_t count, prompts, length, slots, prefill_tokens;  // `length`: positions of the longest row
    const int32_t* prompt_ids;
    const int64_t* prompt_at;   // [prompts + 1]
    const int32_t* prompt_of;   // [count], ascending
    const int32_t* size;        // [count] tokens of its prompt that a request goes on from
    const int32_t* max_new;     // [count]
    const Sampling* sampling;   // [count]
    const int32_t* may_stop;    // [count] whether `stopped` is to be asked
    const int64_t* at;          // [count + 1] where a request's tokens are in what follows
    const double* u;
    const uint8_t* ends;        // [vocab]
    Stopped stopped;
    int32_t* ids;
    float *old, *mu, *entropy;
    int32_t *written, *finish;  // [count]; finish 0 by a stop, 1 by length
};

struct NotFinite {
    int request, token;
};
struct CallbackFailed {};

class Sampler {
  public:
    Sampler(const Weights& weights, const Requests& requests) : w_(weights), in_(requests) {}

    void work(const Team& team) { Worker(*this, team).run(); }

  private:
    // The next requests for a thread with `free` slots: whole prompts where they fit, no more than a fair share.
    std::pair<int, int> take(int free, int threads) {
        std::lock_guard lock(mutex_);
        int first = next_, fair = (in_.count - first + threads - 1) / threads, tokens = 0;
        while (next_ < in_.count) {
            int prompt = in_.prompt_of[next_], last = next_;
            while (last < in_.count && in_.prompt_of[last] == prompt) last++;
            int taken = next_ - first, size = static_cast<int>(in_.prompt_at[prompt + 1] - in_.prompt_at[prompt]);
            if (taken && (taken + last - next_ > std::min(free, fair) || tokens + size > in_.prefill_tokens)) break;
            next_ = std::min(last, first + free);
            tokens += size;
            if (next_ < last) break;
        }
        return {first, next_};
    }

    struct Slot {
        int request, done, position, token, prefix, blocks;  // `blocks`: of the prefix that are its own beginning
    };

    // Keys and values of the whole blocks of a prompt, for all rows that go on from it.
    struct Prefix {
        Buffer keys, values;
        int blocks = 0, users = 0;
    };

    class Worker {
      public:
        Worker(Sampler& sampler, const Team& team)
            : all_(sampler), w_(sampler.w_), s_(sampler.w_.shape), in_(sampler.in_), team_(team), slots_(in_.slots),
              prefill_(w_, 1) {
            size_t slots = in_.slots;
            for (int r = 0; r < in_.count; r++) own_ = std::max(own_, in_.size[r] % LANES + in_.max_new[r]);
            keys_.room(slots * s_.layers * s_.kv_heads * turned_size(own_, s_.d));
            values_.room(slots * s_.layers * s_.kv_heads * own_ * s_.d);
            prefixes_.resize(slots);
            tape_.room(s_, slots);
            x_.room(slots * s_.hidden);
            positions_.resize(slots);
            room_.room(size_t(QUERIES) * rounded_up(in_.length, LANES));
            for (int i = in_.slots - 1; i >= 0; i--) free_.push_back(i);
        }

        void run() {
            for (;;) {
                team_.check();
                bool enough = free_.size() >= std::max<size_t>(1, slots_.size() / 4);
                if (!empty_ && (active_.empty() || enough)) {
                    auto [first, last] = all_.take(static_cast<int>(free_.size()), team_.size());
                    empty_ = first == last;
                    if (!empty_) admit(first, last);
                } else if (active_.empty()) {
                    return;
                } else {
                    step();
                }
            }
        }

      private:
        int size_of(int prompt) const { return static_cast<int>(in_.prompt_at[prompt + 1] - in_.prompt_at[prompt]); }
        size_t head(int owner, int layer, int kv) const { return (size_t(owner) * s_.layers + layer) * s_.kv_heads + kv; }
        float* keys(int slot, int layer, int kv) { return keys_.data() + head(slot, layer, kv) * turned_size(own_, s_.d); }
        float* values(int slot, int layer, int kv) { return values_.data() + head(slot, layer, kv) * own_ * s_.d; }
        float* prefix_keys(Prefix& p, int layer, int kv) {
            return p.keys.data() + head(0, layer, kv) * turned_size(p.blocks * LANES, s_.d);
        }
        float* prefix_values(Prefix& p, int layer, int kv) {
            return p.values.data() + head(0, layer, kv) * p.blocks * LANES * s_.d;
        }

        // A token's key and value of one head, from its row of heads, as number `at` of a place.
        void put(float* keys, float* values, int kv, int at, const float* heads) {
            put_key(keys, s_.d, at, heads + (s_.heads + kv) * s_.d);
            std::memcpy(values + size_t(at) * s_.d, heads + s_.turned() + kv * s_.d, 4 * size_t(s_.d));
        }

        void put_own(int slot, int layer, int position, const float* heads) {
            int at = position - slots_[slot].blocks * LANES;
            for (int kv = 0; kv < s_.kv_heads; kv++)
                put(keys(slot, layer, kv), values(slot, layer, kv), kv, at, heads);
        }

        void put_prefix(Prefix& p, int layer, int position, const float* heads) {
            for (int kv = 0; kv < s_.kv_heads; kv++)
                put(prefix_keys(p, layer, kv), prefix_values(p, layer, kv), kv, position, heads);
        }

        // A place for the whole blocks of a prompt.
        int new_prefix(int size) {
            int free = 0;
            while (prefixes_[free].users) free++;
            Prefix& p = prefixes_[free];
            p.blocks = size / LANES;
            size_t heads = size_t(s_.layers) * s_.kv_heads;
            p.keys.room(heads * turned_size(p.blocks * LANES, s_.d));
            p.values.room(heads * p.blocks * LANES * s_.d);
            return free;
        }

        void admit(int first, int last) {
            Packed prompts;
            prompts.context_at.push_back(0), prompts.row_at.push_back(0);
            std::vector<int> taken, which, prefix;
            for (int r = first; r < last; r++) {
                int prompt = in_.prompt_of[r];
                if (r == first || prompt != in_.prompt_of[r - 1]) {
                    int64_t a = in_.prompt_at[prompt], b = in_.prompt_at[prompt + 1];
                    for (int64_t t = a; t < b; t++) {
                        prompts.ids.push_back(in_.prompt_ids[t]);
                        prompts.positions.push_back(static_cast<int32_t>(t - a));
                    }
                    prompts.context_at.push_back(prompts.tokens());
                    prompts.row_at.push_back(0);
                    prefix.push_back(new_prefix(size_of(prompt)));
                }
                which.push_back(prompts.groups() - 1);
                prefixes_[prefix.back()].users++;
                taken.push_back(free_.back()), free_.pop_back();
                slots_[taken.back()] = Slot{r, 0, in_.size[r], 0, prefix.back(), in_.size[r] / LANES};
            }
            prefill_.take(std::move(prompts));
            prefill_.prepare(false);
            const auto& at = prefill_.packed().context_at;
            prefill_.forward(Hand{nullptr, 0, 1}, [&](int layer, const float* heads) {
                team_.check();
                size_t H = s_.all_heads();
                for (size_t g = 0; g < prefix.size(); g++)
                    for (int t = 0; t < prefixes_[prefix[g]].blocks * LANES; t++)
                        put_prefix(prefixes_[prefix[g]], layer, t, heads + (at[g] + t) * H);
                for (size_t i = 0; i < taken.size(); i++)
                    for (int t = slots_[taken[i]].blocks * LANES; t < slots_[taken[i]].position; t++)
                        put_own(taken[i], layer, t, heads + (at[which[i]] + t) * H);
            });
            hidden_.room(taken.size() * s_.hidden);
            for (size_t i = 0; i < taken.size(); i++)
                std::memcpy(hidden_.data() + i * s_.hidden,
                            prefill_.hidden(at[which[i]] + slots_[taken[i]].position - 1), 4 * size_t(s_.hidden));
            settle(taken, hidden_.data());
        }

        // Feeds one token to every row in flight and draws the next.
        void step() {
            size_t D = s_.hidden, n = active_.size();
            int each = s_.heads / s_.kv_heads;
            for (size_t i = 0; i < n; i++) {
                const Slot& slot = slots_[active_[i]];
                std::memcpy(x_.data() + i * D, w_.embedding + slot.token * D, 4 * D);
                positions_[i] = slot.position;
            }
            for (int l = 0; l < s_.layers; l++) {
                project(w_, w_.layers[l], x_.data(), positions_.data(), tape_, 0, static_cast<int>(n), operands_);
                for (size_t i = 0; i < n; i++) {
                    put_own(active_[i], l, positions_[i], tape_.heads.data() + i * s_.all_heads());
                    for (int kv = 0; kv < s_.kv_heads; kv++)
                        for (int h = kv * each; h < (kv + 1) * each; h += QUERIES)
                            attend_one(i, l, kv, h, std::min(QUERIES, (kv + 1) * each - h));
                }
                mix(w_, w_.layers[l], x_.data(), tape_, 0, static_cast<int>(n), operands_);
                team_.check();
            }
            for (size_t i = 0; i < n; i++) {
                float* x = x_.data() + i * D;
                normalise(x, s_.hidden, s_.eps, x);
                for (size_t c = 0; c < D; c++) x[c] *= w_.final_norm[c];
                slots_[active_[i]].position++;
            }
            std::vector<int> rows = std::move(active_);
            active_.clear();
            settle(rows, x_.data());
        }

        // `count` heads from `h` on, which share their keys, of the row in place i of a step.
        void attend_one(size_t i, int layer, int kv, int h, int count) {
            size_t d = s_.d, at = i * s_.queries() + h * d;
            int seen = positions_[i] + 1, slot = active_[i];
            Prefix& p = prefixes_[slots_[slot].prefix];
            int blocks = slots_[slot].blocks, before = blocks * LANES;
            Tile tile{Rows{tape_.heads.data() + i * s_.all_heads() + h * d, d, count}, seen, 0, s_.d,
                      1.0f / std::sqrt(float(s_.d)), keys(slot, layer, kv), prefix_keys(p, layer, kv), blocks,
                      Rows{prefix_values(p, layer, kv), d, before}, Rows{values(slot, layer, kv), d, seen - before}};
            float inverse[QUERIES];
            attend(tile, room_.data(), tape_.o.data() + at, d, inverse);
        }

        // Draws a token for each of these slots, writes it down, and frees the slots of rows that are over.
        void settle(const std::vector<int>& rows, const float* hidden) {
            int n = static_cast<int>(rows.size()), at_once = logit_rows(s_.vocab);
            for (int a = 0; a < n; a += at_once) {
                int count = std::min(at_once, n - a);
                float* z = logits_.room(size_t(count) * s_.vocab);
                w_.head.apply(count, hidden + size_t(a) * s_.hidden, z, operands_);
                for (int i = 0; i < count; i++) write(rows[a + i], z + size_t(i) * s_.vocab);
                team_.check();
            }
        }

        void write(int slot, const float* z) {
            Slot& row = slots_[slot];
            int r = row.request;
            int64_t at = in_.at[r] + row.done;
            Drawn drawn = drawer_.draw(z, s_.vocab, in_.sampling[r], in_.u[at]);
            if (!std::isfinite(drawn.old)) throw NotFinite{r, row.done};
            in_.ids[at] = row.token = drawn.token;
            in_.old[at] = drawn.old, in_.mu[at] = drawn.mu, in_.entropy[at] = drawn.entropy;
            row.done++;
            bool stop = in_.ends[drawn.token];
            if (!stop && in_.may_stop[r]) {
                int32_t answer = in_.stopped(r, in_.ids + in_.at[r], row.done);
                if (answer < 0) throw CallbackFailed{};
                stop = answer;
            }
            if (stop || row.done == in_.max_new[r]) {
                in_.written[r] = row.done, in_.finish[r] = stop ? 0 : 1;
                free_.push_back(slot);
                prefixes_[row.prefix].users--;
            } else {
                active_.push_back(slot);
            }
        }

        Sampler& all_;
        const Weights& w_;
        const Shape& s_;
        const Requests& in_;
        const Team& team_;
        std::vector<Slot> slots_;
        std::vector<Prefix> prefixes_;
        Pass prefill_;
        int own_ = 0;  // tokens that a slot has room for
        std::vector<int> free_, active_;
        std::vector<int32_t> positions_;
        Buffer keys_, values_, x_, hidden_, logits_, room_, operands_;
        Tape tape_;
        Drawer drawer_;
        bool empty_ = false;
    };

    const Weights& w_;
    Requests in_;
    std::mutex mutex_;
    int next_ = 0;
};

}  // namespace assay
