// The tokens of a pass and the division of its work. Each context is stored once; a group is a context with its rows:
//
//     tokens   [context 0][context 1]...[row 0][row 1]...
//
// Tokens with which several contexts begin may be a context of their own, without rows. Such stems come before all other
// contexts, and a group that has a stem holds only what its context has behind the stem.
#pragma once

#include <atomic>
#include <vector>

#include "network.h"

namespace assay {

// One of the threads that do a piece of work together. Alone, it is number 0 of 1.
struct Hand {
    Team* team;  // whose job this is, or none
    int number, size;

    // Waits for the others. This is also where a job that was cancelled ends.
    void meet() const {
        if (size > 1) team->meet();
        else if (team) team->check();
    }
    Hand alone() const { return Hand{team, 0, 1}; }
    Share share(int count) const { return Share(count, number, size); }
};

struct Packed {
    std::vector<int32_t> ids, positions;
    std::vector<int32_t> context_at;              // [groups + 1]
    std::vector<int32_t> stem_of;                 // [groups] or empty: each group's stem, or -1
    std::vector<int32_t> row_at;                  // [groups + 1] rows of each group
    std::vector<int32_t> row_start, row_length;   // [rows] own tokens
    std::vector<int32_t> predict, targets;        // [M] the token that predicts, the id that is predicted
    std::vector<float> tau;                       // [M]
    std::vector<int32_t> top_ids;                 // [M, top]
    std::vector<int32_t> beside;                  // [tokens] or empty: ids that are read too, and
    std::vector<float> share;                     // [tokens] by how much in place of the first
    int top = 0;
    int stems = 0;  // how many of the groups are stems, the first ones

    int tokens() const { return static_cast<int>(ids.size()); }
    int groups() const { return static_cast<int>(context_at.size()) - 1; }
    int size(int group) const { return context_at[group + 1] - context_at[group]; }
    int stem(int group) const { return stem_of.empty() ? -1 : stem_of[group]; }
    int stem_tokens() const { return context_at[stems]; }
    int predicted() const { return static_cast<int>(predict.size()); }
};

// A context, or a row together with its context, and the stem before it. In the sampler, a cached prefix may come before a
// context.
struct Sequence {
    int stem, shared_at, shared, own_at, own;  // `stem` and `shared`: how many tokens
    Known before{};

    int ahead() const { return before.count + stem + shared; }
    int keys() const { return ahead() + own; }
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
    const float* states = nullptr;           // by hidden states instead, [M, hidden], or null
};

// Some groups that go through all layers together, and where their tokens are.
struct Piece {
    int first, last;                            // groups [first, last)
    std::vector<std::pair<int, int>> ranges{};  // of tokens

    void add(int a, int b) {
        if (!ranges.empty() && ranges.back().second == a) ranges.back().second = b;
        else if (a < b) ranges.push_back({a, b});
    }

    // what(a, b) for blocks of the tokens that are the hand's share.
    template <class Do>
    void by_blocks(const Hand& hand, Do&& what) const {
        for (auto [a, b] : ranges) {
            Share mine = hand.share(b - a);
            assay::by_blocks(a + mine.a, a + mine.b, what);
        }
    }
};

// Groups of which none sees another's tokens: in pieces that threads take one after another, or in one for all threads.
struct Stage {
    std::vector<Piece> pieces;
    bool together = false;
    std::vector<std::vector<int>> items;  // (group, key-value head) of each thread, where they go together
    std::atomic<int> next{0};
};

}  // namespace assay
