// What the threads of a sampling call share: the requests, which they take in order, the prompt of which only some requests
// were taken, and the room of the prefix cache.
#pragma once

#include <memory>
#include <mutex>

#include "draw.h"
#include "network.h"

namespace assay {

using Stopped = int32_t (*)(int32_t request, const int32_t* ids, int32_t count);

struct Requests {
    int32_t count, prompts, length, slots, prefill_tokens;  // `length`: positions of the longest row
    const int32_t* prompt_ids;
    const int64_t* prompt_at;   // [prompts + 1]
    const int32_t* prompt_of;   // [count], ascending
    const int32_t* size;        // [count] length of the part of its prompt that a request continues
    const int32_t* max_new;     // [count]
    const Sampling* sampling;   // [count]
    const uint8_t* barred;      // [sets, vocab] flags of tokens that are not drawn; null: all are
    const int32_t* may_stop;    // [count] whether a request has stop strings, so that `stopped` is called
    const int64_t* at;          // [count + 1] where a request's tokens begin in u, ids, old, mu and entropy
    const double* u;
    const uint8_t* ends;        // [vocab]
    Stopped stopped;
    int32_t* ids;
    float *old, *mu, *entropy;
    int32_t *written, *finish;  // [count]; written is 0 until the row is complete, finish is 0 for a stop, 1 for length
    const int64_t* piece_at;     // [prompts + 1] which cached pieces make up each prompt's known prefix; null: none
    const float* const* pieces;  // each [tokens of the piece, layers, held()], with one more readable vector behind
    const int32_t* piece_size;
    float** kept;      // [prompts + count] or null: receives new keys and values of prompts, then of answers
    int64_t room;      // for how many tokens the prefix cache has room
    int64_t* prefilled;  // receives how many prompt tokens were run
};

struct NotFinite {
    int request, token;
};
struct CallbackFailed {};

// Keys and values [tokens, layers, held()] of a prompt of which only some requests were taken.
using Begun = std::shared_ptr<Buffer>;

class Queue {
  public:
    Queue(const Shape& shape, const Requests& requests) : s_(shape), in_(requests), room_(requests.room) {
        known_.resize(in_.prompts);
        for (int p = 0; in_.piece_at && p < in_.prompts; p++)
            for (int64_t i = in_.piece_at[p]; i < in_.piece_at[p + 1]; i++) known_[p] += in_.piece_size[i];
    }

    const Requests& requests() const { return in_; }
    int size_of(int prompt) const { return static_cast<int>(in_.prompt_at[prompt + 1] - in_.prompt_at[prompt]); }
    int known(int prompt) const { return known_[prompt]; }  // length of its known prefix

    // The next requests for a thread with `free` slots: all requests of a prompt if they fit, but at most a fair share.
    std::pair<int, int> take(int free, int threads) {
        std::lock_guard lock(mutex_);
        int first = next_, fair = (in_.count - first + threads - 1) / threads, tokens = 0;
        while (next_ < in_.count) {
            int prompt = in_.prompt_of[next_], last = next_;
            while (last < in_.count && in_.prompt_of[last] == prompt) last++;
            int taken = next_ - first, size = size_of(prompt) - known_[prompt];
            if (taken && (taken + last - next_ > std::min(free, fair) || tokens + size > in_.prefill_tokens)) break;
            next_ = std::min(last, first + free);
            tokens += size;
            if (next_ < last) break;
        }
        return {first, next_};
    }

    // Whether a prompt has requests from number `last` on: those before it were taken, and these were not.
    bool goes_on(int prompt, int last) const { return last < in_.count && in_.prompt_of[last] == prompt; }

    // What a thread has run of a prompt whose other requests are left, for whoever takes them; null if nothing is known.
    // Requests are taken in order, so there is one such prompt at a time.
    Begun begun(int prompt) {
        std::lock_guard lock(mutex_);
        return prompt == begun_prompt_ ? begun_ : nullptr;
    }

    void set_begun(int prompt, Begun rows) {
        std::lock_guard lock(mutex_);
        begun_prompt_ = prompt, begun_ = std::move(rows);
    }

    // All requests of this prompt were taken.
    void forget(int prompt) {
        std::lock_guard lock(mutex_);
        if (prompt == begun_prompt_) begun_prompt_ = -1, begun_ = nullptr;
    }

    // Memory for `tokens` tokens in entry `place` of `kept`; null if that entry is taken or the cache has no room.
    float* keep(int place, int tokens) {
        std::lock_guard lock(mutex_);
        if (!in_.kept || in_.kept[place] || tokens <= 0 || tokens > room_) return nullptr;
        size_t words = size_t(tokens) * s_.layers * s_.held();
        float* rows = static_cast<float*>(std::malloc(4 * (words + LANES)));
        if (!rows) return nullptr;  // without memory they are not cached, and will be computed again
        std::memset(rows + words, 0, 4 * LANES);
        room_ -= tokens;
        return in_.kept[place] = rows;
    }

    // Counts prompt tokens that were run.
    void prefilled(int tokens) {
        std::lock_guard lock(mutex_);
        if (in_.prefilled) *in_.prefilled += tokens;
    }

  private:
    const Shape& s_;
    const Requests in_;
    std::vector<int> known_;
    int64_t room_;
    int next_ = 0, begun_prompt_ = -1;
    Begun begun_;
    std::mutex mutex_;
};

}  // namespace assay
