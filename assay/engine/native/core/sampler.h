// Sampling. Each thread has slots of its own and works from prompts to last tokens without waiting for another thread. New
// rows enter as soon as a quarter of the slots is free. A row's result depends on the row alone: not on the other rows of a
// step, not on the thread, and not on whether keys and values are computed or come from the prefix cache.
#pragma once

#include "pass.h"
#include "queue.h"

namespace assay {

// The slots of one thread, and what it does with them.
class Worker {
  public:
    Worker(const Weights& weights, Queue& queue, const Team& team)
        : w_(weights), s_(weights.shape), queue_(queue), in_(queue.requests()), team_(team), slots_(in_.slots),
          prefill_(w_, 1) {
        size_t slots = in_.slots;
        for (int r = 0; r < in_.count; r++) own_ = std::max(own_, in_.size[r] % LANES + in_.max_new[r]);
        keys_.room<Element>(slots * s_.layers * s_.kv_heads * keys_size(own_, s_.d));
        values_.room<Element>(slots * s_.layers * s_.kv_heads * values_size(own_, s_.d));
        prefixes_.resize(slots);
        tape_.room(s_, slots, false);
        x_.room(slots * s_.hidden);
        positions_.resize(slots);
        hidden_.room<Number>(slots * padded(s_.hidden));
        token_.room<Number>(s_.held());
        room_.room(attend_room(in_.length, s_.d));
        for (int i = in_.slots - 1; i >= 0; i--) free_.push_back(i);
    }

    void run() {
        for (;;) {
            team_.check();
            bool enough = free_.size() >= std::max<size_t>(1, slots_.size() / 4);
            if (!empty_ && (active_.empty() || enough)) {
                auto [first, last] = queue_.take(static_cast<int>(free_.size()), team_.size());
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
    struct Slot {
        int request, done, position, token, prefix, blocks;  // `blocks`: how many blocks of the prefix the row begins with
    };

    // Keys and values of the whole blocks of a prompt, for all rows that continue it.
    struct Prefix {
        Buffer keys, values;
        int prompt = -1, blocks = 0, users = 0;
    };

    size_t head(int owner, int layer, int kv) const { return (size_t(owner) * s_.layers + layer) * s_.kv_heads + kv; }
    Element* keys(int slot, int layer, int kv) {
        return keys_.data<Element>() + head(slot, layer, kv) * keys_size(own_, s_.d);
    }
    Element* values(int slot, int layer, int kv) {
        return values_.data<Element>() + head(slot, layer, kv) * values_size(own_, s_.d);
    }
    Element* prefix_keys(Prefix& p, int layer, int kv) {
        return p.keys.data<Element>() + head(0, layer, kv) * keys_size(p.blocks * LANES, s_.d);
    }
    Element* prefix_values(Prefix& p, int layer, int kv) {
        return p.values.data<Element>() + head(0, layer, kv) * values_size(p.blocks * LANES, s_.d);
    }

    // A token's key and value of one head, from all that are held of it in a layer, as number `at` of a place.
    void put(Element* keys, Element* values, int kv, int at, const Number* held) {
        put_key(keys, s_.d, at, held + kv * s_.d);
        put_value(values, s_.d, at, held + (s_.kv_heads + kv) * s_.d);
    }

    void put_own(int slot, int layer, int position, const Number* held) {
        int at = position - slots_[slot].blocks * LANES;
        for (int kv = 0; kv < s_.kv_heads; kv++)
            put(keys(slot, layer, kv), values(slot, layer, kv), kv, at, held);
    }

    void put_prefix(Prefix& p, int layer, int position, const Number* held) {
        for (int kv = 0; kv < s_.kv_heads; kv++)
            put(prefix_keys(p, layer, kv), prefix_values(p, layer, kv), kv, position, held);
    }

    // Copies the keys and values of a row's answer from its slot to the prefix cache.
    void keep_answer(int slot) {
        const Slot& row = slots_[slot];
        int size = in_.size[row.request], before = row.blocks * LANES;
        float* to = queue_.keep(in_.prompts + row.request, row.position - size);
        if (!to) return;
        Number* held = token_.data<Number>();
        for (int t = size; t < row.position; t++)
            for (int l = 0; l < s_.layers; l++, to += s_.held()) {
                for (int kv = 0; kv < s_.kv_heads; kv++) {
                    get_key(keys(slot, l, kv), s_.d, t - before, held + kv * s_.d);
                    get_value(values(slot, l, kv), s_.d, t - before, held + (s_.kv_heads + kv) * s_.d);
                }
                put_numbers(held, s_.held(), to);
            }
    }

    // A prompt whose rows are admitted: its known prefix, and where its other tokens are run.
    struct Path {
        int prompt, size, prefix;
        bool fills;   // whether the prefix is new and must be filled
        Begun begun;  // holds what is known, if that comes from those who took the requests before
        Known known;
        int at = 0;                                // where its first unknown token is in the pass
        float* kept = nullptr;                     // receives the keys and values of the unknown tokens
        Begun rest{};                              // receives those of all tokens, for who takes the other requests
        std::vector<std::pair<int, int>> last{};  // known tokens that are run again for their hidden states, and where
    };

    // A prompt, with a place for its prefix and what is known of it.
    Path path_of(int prompt, Buffer& room) {
        int size = queue_.size_of(prompt), place = place_of(prompt);
        bool fills = is_new(prefixes_[place], prompt, size);
        Begun begun = queue_.begun(prompt);
        Known known = begun ? Known{begun->data(), size} : known_of(prompt, room);
        return Path{prompt, size, place, fills, std::move(begun), known};
    }

    // The known prefix of a prompt, joined to one piece.
    Known known_of(int prompt, Buffer& room) {
        Known known{nullptr, queue_.known(prompt)};
        if (!known.count) return known;
        int64_t first = in_.piece_at[prompt], last = in_.piece_at[prompt + 1];
        if (last == first + 1) return Known{in_.pieces[first], known.count};
        size_t width = size_t(s_.layers) * s_.held();
        float* to = room.room(known.count * width);
        known.rows = to;
        for (int64_t i = first; i < last; i++, to += in_.piece_size[i - 1] * width)
            std::memcpy(to, in_.pieces[i], 4 * in_.piece_size[i] * width);
        return known;
    }

    // The place that has the whole blocks of a prompt, or else a free one.
    int place_of(int prompt) const {
        int free = -1;
        for (size_t i = 0; i < prefixes_.size(); i++) {
            if (prefixes_[i].prompt == prompt) return static_cast<int>(i);
            if (free < 0 && !prefixes_[i].users) free = static_cast<int>(i);
        }
        return free;
    }

    // Makes room for the whole blocks of a prompt, unless they are there.
    bool is_new(Prefix& p, int prompt, int size) {
        if (p.prompt == prompt) return false;
        p.prompt = prompt, p.blocks = size / LANES;
        size_t heads = size_t(s_.layers) * s_.kv_heads;
        p.keys.room<Element>(heads * keys_size(p.blocks * LANES, s_.d));
        p.values.room<Element>(heads * values_size(p.blocks * LANES, s_.d));
        return true;
    }

    // Adds tokens [from, to) of a prompt to the pass, behind its known prefix. Returns where they are.
    int run(const Path& path, int from, int to, Packed& packed, std::vector<Known>& before) {
        int at = packed.tokens();
        for (int t = from; t < to; t++) {
            packed.ids.push_back(in_.prompt_ids[in_.prompt_at[path.prompt] + t]);
            packed.positions.push_back(t);
        }
        packed.context_at.push_back(packed.tokens()), packed.row_at.push_back(0);
        before.push_back(Known{path.known.rows, from});
        return at;
    }

    // Where the last prompt token of a row is run, from whose hidden state the row's first token is drawn.
    int end_of(Path& path, int size, Packed& packed, std::vector<Known>& before) {
        if (size > path.known.count) return path.at + size - 1 - path.known.count;
        for (auto [token, at] : path.last)
            if (token == size - 1) return at;
        path.last.push_back({size - 1, run(path, size - 1, size, packed, before)});
        return path.last.back().second;
    }

    void admit(int first, int last) {
        Packed packed;
        packed.context_at.push_back(0), packed.row_at.push_back(0);
        std::vector<Known> before;
        std::vector<Path> paths;
        std::vector<int> taken, which, ends;
        if (joined_.size() < free_.size()) joined_.resize(free_.size());
        for (int r = first; r < last; r++) {
            int prompt = in_.prompt_of[r];
            if (r == first || prompt != in_.prompt_of[r - 1]) {
                paths.push_back(path_of(prompt, joined_[paths.size()]));
                Path& path = paths.back();
                if (path.known.count < path.size) {
                    path.at = run(path, path.known.count, path.size, packed, before);
                    path.kept = queue_.keep(prompt, path.size - path.known.count);
                    if (queue_.goes_on(prompt, last)) path.rest = std::make_shared<Buffer>();
                } else if (path.begun && !queue_.goes_on(prompt, last)) {
                    queue_.forget(prompt);
                }
                if (path.rest) path.rest->room(size_t(path.size) * s_.layers * s_.held());
            }
            Path& path = paths.back();
            which.push_back(static_cast<int>(paths.size()) - 1);
            ends.push_back(end_of(path, in_.size[r], packed, before));
            prefixes_[path.prefix].users++;
            taken.push_back(free_.back()), free_.pop_back();
            slots_[taken.back()] = Slot{r, 0, in_.size[r], 0, path.prefix, in_.size[r] / LANES};
        }
        queue_.prefilled(packed.tokens());
        prefill_.take(std::move(packed), std::move(before));
        prefill_.prepare(Keep::nothing, false);
        prefill_.forward(Hand{nullptr, 0, 1}, [&](int layer, const Number* heads) {
            team_.check();
            for (Path& path : paths) {
                for (int t = 0; path.fills && t < prefixes_[path.prefix].blocks * LANES; t++)
                    put_prefix(prefixes_[path.prefix], layer, t, held(path, t, layer, heads));
                for (int t = path.known.count; path.kept && t < path.size; t++)
                    put_numbers(held(path, t, layer, heads), s_.held(),
                                path.kept + (size_t(t - path.known.count) * s_.layers + layer) * s_.held());
                for (int t = 0; path.rest && t < path.size; t++)
                    put_numbers(held(path, t, layer, heads), s_.held(),
                                path.rest->data() + (size_t(t) * s_.layers + layer) * s_.held());
            }
            for (size_t i = 0; i < taken.size(); i++)
                for (int t = slots_[taken[i]].blocks * LANES; t < slots_[taken[i]].position; t++)
                    put_own(taken[i], layer, t, held(paths[which[i]], t, layer, heads));
        });
        if (paths.back().rest) queue_.set_begun(paths.back().prompt, paths.back().rest);
        size_t N = padded(s_.hidden);
        for (size_t i = 0; i < taken.size(); i++)
            std::memcpy(hidden_.data<Number>() + i * N, prefill_.hidden(ends[i]), sizeof(Number) * N);
        settle(taken);
        std::stable_sort(active_.begin(), active_.end(), [this](int a, int b) {
            return slots_[a].prefix < slots_[b].prefix;  // so that rows which share keys lie side by side
        });
    }

    // Keys and values of token t of a prompt, known or just run.
    const Number* held(const Path& path, int t, int layer, const Number* heads) const {
        int run = t - path.known.count;
        if (run >= 0) return heads + size_t(path.at + run) * s_.all_heads() + s_.queries();
        put_numbers(path.known.of(s_, t, layer), s_.held(), token_.data<Number>());
        return token_.data<Number>();
    }

    // Feeds one token to every row in flight and draws the next.
    void step() {
        size_t D = s_.hidden, n = active_.size();
        for (size_t i = 0; i < n; i++) {
            const Slot& slot = slots_[active_[i]];
            std::memcpy(x_.data() + i * D, w_.embedding + slot.token * D, 4 * D);
            positions_[i] = slot.position;
        }
        for (int l = 0; l < s_.layers; l++) {
            project(w_, w_.layers[l], x_.data(), positions_.data(), tape_, 0, static_cast<int>(n), both_);
            for (size_t first = 0, last = 0; first < n; first = last) {
                last = together(first);
                for (size_t i = first; i < last; i++)
                    put_own(active_[i], l, positions_[i],
                            tape_.heads.data<Number>() + i * s_.all_heads() + s_.queries());
                for (int kv = 0; kv < s_.kv_heads; kv++) attend_rows(first, last, l, kv);
            }
            mix(w_, w_.layers[l], x_.data(), tape_, 0, static_cast<int>(n), both_);
            team_.check();
        }
        for (size_t i = 0; i < n; i++) {
            float* x = x_.data() + i * D;
            normalise(x, s_.hidden, s_.eps, x);
            scale(x, w_.final_norm, s_.hidden, hidden_.data<Number>() + i * padded(s_.hidden));
            slots_[active_[i]].position++;
        }
        std::vector<int> rows = std::move(active_);
        active_.clear();
        settle(rows);
    }

    // The end of the rows that go through attention with the row in place `first` of a step: they continue one prefix.
    size_t together(size_t first) const {
        const Slot& row = slots_[active_[first]];
        size_t last = first + 1;
        while (row.blocks && last < active_.size() && slots_[active_[last]].prefix == row.prefix &&
               slots_[active_[last]].blocks == row.blocks)
            last++;
        return last;
    }

    // All heads with one key-value head, of rows that go together.
    void attend_rows(size_t first, size_t last, int layer, int kv) {
        size_t d = s_.d, each = s_.heads / s_.kv_heads, Q = s_.queries(), H = s_.all_heads();
        const Slot& row = slots_[active_[first]];
        Prefix& p = prefixes_[row.prefix];
        Tile tile;
        tile.shared = Held{prefix_keys(p, layer, kv), prefix_values(p, layer, kv)}, tile.blocks = row.blocks;
        for (size_t i = first; i < last; i++)
            for (size_t h = kv * each; h < (kv + 1) * each; h++) {
                int slot = active_[i];
                tile.add(Query{tape_.heads.data<Number>() + i * H + h * d, tape_.o.data<Number>() + i * Q + h * d,
                               Held{keys(slot, layer, kv), values(slot, layer, kv)}, positions_[i] + 1});
                if (tile.full()) attend(tile, s_.d, room_.data()), tile.count = 0;
            }
        if (tile.count) attend(tile, s_.d, room_.data());
    }

    // Draws a token for each of these slots from its hidden state, writes it down, and frees the slots of rows that are
    // over.
    void settle(const std::vector<int>& rows) {
        int n = static_cast<int>(rows.size()), at_once = logit_rows(s_.vocab);
        for (int a = 0; a < n; a += at_once) {
            int count = std::min(at_once, n - a);
            float* z = logits_.room(size_t(count) * s_.vocab);
            w_.head.apply(count, hidden_.data<Number>() + size_t(a) * padded(s_.hidden), z);
            for (int i = 0; i < count; i++) write(rows[a + i], z + size_t(i) * s_.vocab);
            team_.check();
        }
    }

    void write(int slot, const float* z) {
        Slot& row = slots_[slot];
        int r = row.request;
        int64_t at = in_.at[r] + row.done;
        const Sampling& how = in_.sampling[r];
        const uint8_t* barred = how.barred < 0 ? nullptr : in_.barred + static_cast<int64_t>(how.barred) * s_.vocab;
        Drawn drawn = drawer_.draw(z, s_.vocab, how, barred, in_.u[at]);
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
            in_.finish[r] = stop ? 0 : 1;
            __atomic_store_n(&in_.written[r], row.done, __ATOMIC_RELEASE);  // last: whoever reads it reads the rest
            keep_answer(slot);
            free_.push_back(slot);
            prefixes_[row.prefix].users--;
        } else {
            active_.push_back(slot);
        }
    }

    const Weights& w_;
    const Shape& s_;
    Queue& queue_;
    const Requests& in_;
    const Team& team_;
    std::vector<Slot> slots_;
    std::vector<Prefix> prefixes_;
    Pass prefill_;
    int own_ = 0;  // tokens that a slot has room for
    std::vector<int> free_, active_;
    std::vector<int32_t> positions_;
    Buffer keys_, values_, token_, x_, hidden_, logits_, room_, both_;
    std::vector<Buffer> joined_;  // what is known of prompts, where it came in several pieces
    Tape tape_;
    Drawer drawer_;
    bool empty_ = false;
};

class Sampler {
  public:
    Sampler(const Weights& weights, const Requests& requests) : w_(weights), queue_(weights.shape, requests) {}

    void work(const Team& team) { Worker(w_, queue_, team).run(); }

  private:
    const Weights& w_;
    Queue queue_;
};

}  // namespace assay
