// The last step of the output layer: log-probabilities and entropy of a row of logits. Sampler and learner share this code.
//
// With z the logits over the temperature, p = softmax(z), H the entropy of p, and coefficients c of a token's log-prob,
// e of the entropy and c_k of further log-probs:
//
//     dL/dz = c onehot + sum_k c_k onehot_k - (c + sum_k c_k) p - e p (log p + H)
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "vectors.h"

namespace assay {

constexpr size_t LOGITS = size_t(1) << 22;  // floats of logits a thread holds at a time
constexpr int LEAST_LOGIT_ROWS = 28;        // fewer make poor products

// How many rows of logits a thread computes at a time. The number is even, so that which tokens form a pair (see element.h)
// does not depend on how many threads share the rows.
inline int logit_rows(int vocab) {
    size_t rows = LOGITS / static_cast<size_t>(vocab) / 2 * 2;
    return static_cast<int>(rows < LEAST_LOGIT_ROWS ? LEAST_LOGIT_ROWS : rows > 256 ? 256 : rows);
}

// The distribution of a row: log p_i = (z_i - most) * inverse - log_sum.
struct Spread {
    float most, inverse, log_sum;

    float logp(float logit) const { return (logit - most) * inverse - log_sum; }
    vec logp(vec logit) const { return (logit - all(most)) * all(inverse) - all(log_sum); }
};

// If a logit is infinite or not a number, `log_sum` is not finite.
inline Spread spread_of(const float* z, int n, float tau) {
    vec most = all(-INF);
    bool sound = true;
    vec trace = {};
    by_vectors(n, [&](int i, int lanes) {
        most = larger(most, load_part(z + i, lanes, -INF));
        trace += load_part(z + i, lanes) * all(0.0f);
    });
    sound = sum(trace) == 0.0f;
    Spread result{greatest(most), 1.0f / tau, 0.0f};
    vec total = {};
    by_vectors(n, [&](int i, int lanes) {
        total += exp((load_part(z + i, lanes, -INF) - all(result.most)) * all(result.inverse));
    });
    result.log_sum = sound ? static_cast<float>(std::log(static_cast<double>(sum(total))))
                           : std::numeric_limits<float>::quiet_NaN();
    return result;
}

// -sum p log p
inline float entropy(const float* z, int n, const Spread& spread) {
    vec total = {};
    by_vectors(n, [&](int i, int lanes) {
        vec l = spread.logp(load_part(z + i, lanes, spread.most));
        vec part = exp(l) * l;
        if (lanes < LANES) part = load_part(reinterpret_cast<const float*>(&part), lanes);
        total -= part;
    });
    return sum(total);
}

// sum log p / n, summed in doubles, because most of a large vocabulary has similar, very low values
inline float mean_logp(const float* z, int n, const Spread& spread) {
    double total = 0.0;
    for (int a = 0; a < n; a += 256) {
        vec part = {};
        int count = n - a < 256 ? n - a : 256;
        by_vectors(count, [&](int i, int lanes) { part += load_part(z + a + i, lanes); });
        total += sum(part);
    }
    return spread.logp(static_cast<float>(total / n));
}

// The ids of the `count` greatest logits, the greatest first; ties go to the lower id.
inline void likeliest(const float* z, int n, int count, std::vector<int32_t>& order, int32_t* ids) {
    order.resize(n);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + count, order.end(),
                      [z](int32_t a, int32_t b) { return z[a] != z[b] ? z[a] > z[b] : a < b; });
    std::copy(order.begin(), order.begin() + count, ids);
}

struct Coefficients {
    float logp, entropy;
    const float* top;  // of further log-probs, and their ids
    const int32_t* top_ids;
    int count;
};

// dL/d(logits) into `dz`, which may be `z`.
inline void logit_grad(const float* z, int n, int id, const Spread& spread, const Coefficients& c, float* dz) {
    float total = c.logp, h = c.entropy != 0.0f ? entropy(z, n, spread) : 0.0f;
    for (int k = 0; k < c.count; k++) total += c.top[k];
    by_vectors(n, [&](int i, int lanes) {
        vec l = spread.logp(load_part(z + i, lanes, spread.most)), p = exp(l);
        vec grad = all(-total) * p;
        if (c.entropy != 0.0f) grad -= all(c.entropy) * p * (l + all(h));
        store_part(dz + i, grad * all(spread.inverse), lanes);
    });
    dz[id] += c.logp * spread.inverse;
    for (int k = 0; k < c.count; k++) dz[c.top_ids[k]] += c.top[k] * spread.inverse;
}

}  // namespace assay
