// Draws a token from a row of logits. Three filters act in this order, each on the tokens that the filter before has left:
// top-k (the k most probable, ties to the lower id), top-p (the smallest set of mass p), min-p (tokens with at least min_p
// times the largest probability).
#pragma once

#include <algorithm>
#include <vector>

#include "head.h"

namespace assay {

struct Sampling {
    float tau;  // 1 for greedy rows
    int32_t greedy, filtered, top_k;
    float top_p, min_p;
    int32_t barred;  // the set of tokens that are not drawn, as a row of flags; -1: none
};

struct Drawn {
    int token;
    float old, mu, entropy;
};

class Drawer {
  public:
    // `u` in [0, 1) picks the token at which the cumulative weight first exceeds u times the total. `barred` flags the
    // tokens that are not drawn; null: none.
    Drawn draw(const float* z, int n, const Sampling& how, const uint8_t* barred, double u) {
        Spread spread = spread_of(z, n, how.tau);
        Drawn result{0, 0.0f, 0.0f, entropy(z, n, spread)};
        double left = 0.0;
        if (how.greedy) {
            result.token = barred ? best(z, n, barred) : static_cast<int>(std::max_element(z, z + n) - z);
        } else {
            weigh(z, n, spread);
            for (int i = 0; barred && i < n; i++) p_[i] = barred[i] ? 0.0f : p_[i];
            result.token = how.filtered ? among_kept(n, how, u, left) : among_all(n, u, left);
            if (barred && barred[result.token]) result.token = best(z, n, barred);  // no other has a weight above 0
        }
        result.old = spread.logp(z[result.token]);
        if (how.filtered || (barred && !how.greedy)) result.mu = std::min(0.0f, result.old - static_cast<float>(std::log(left)));
        else result.mu = how.greedy ? 0.0f : result.old;
        return result;
    }

  private:
    static int best(const float* z, int n, const uint8_t* barred) {
        int found = -1;
        for (int i = 0; i < n; i++) if (!barred[i] && (found < 0 || z[i] > z[found])) found = i;
        return std::max(found, 0);
    }

    void weigh(const float* z, int n, const Spread& spread) {
        p_.resize(rounded_up(n, LANES));
        by_vectors(n, [&](int i, int lanes) {
            vec p = exp(spread.logp(load_part(z + i, lanes, spread.most)));
            store_part(p_.data() + i, p, lanes);
        });
        std::fill(p_.begin() + n, p_.end(), 0.0f);
    }

    static double below(double u, double total) { return std::min(u * total, std::nextafter(total, 0.0)); }

    int among_all(int n, double u, double& left) {
        sums_.clear();
        double total = 0.0;
        for (size_t i = 0; i < p_.size(); i += LANES) {
            double some = 0.0;
            for (int lane = 0; lane < LANES; lane++) some += p_[i + lane];
            sums_.push_back(total += some);
        }
        left = total;
        double target = below(u, total);
        size_t block = std::upper_bound(sums_.begin(), sums_.end(), target) - sums_.begin();
        double before = block ? sums_[block - 1] : 0.0;
        int last = 0;
        for (int i = static_cast<int>(block) * LANES; i < std::min(n, static_cast<int>(block + 1) * LANES); i++) {
            if (p_[i] > 0.0f) last = i;
            if ((before += p_[i]) > target) return i;
        }
        return last;
    }

    int among_kept(int n, const Sampling& how, double u, double& left) {
        auto less = [this](int a, int b) { return p_[a] != p_[b] ? p_[a] < p_[b] : a > b; };
        order_.resize(n);
        for (int i = 0; i < n; i++) order_[i] = i;
        std::make_heap(order_.begin(), order_.end(), less);
        size_t limit = std::min(n, how.top_k), heap = n;
        auto next = [&] {  // moves the next most probable token to the end of the heap
            std::pop_heap(order_.begin(), order_.begin() + heap, less);
            return order_[--heap];
        };
        double mass = 0.0;
        if (limit < static_cast<size_t>(n)) {
            for (size_t i = 0; i < limit; i++) mass += p_[next()];
        } else {
            for (int i = 0; i < n; i++) mass += p_[i];
        }
        kept_.clear();
        double before = 0.0;
        float first = 0.0f;
        for (size_t i = 0; i < limit; i++) {
            int id = limit < static_cast<size_t>(n) ? order_[n - 1 - i] : next();
            if (i == 0) first = p_[id];
            else if ((how.top_p < 1.0f && before >= how.top_p * mass) || p_[id] < how.min_p * first) break;
            kept_.push_back(id);
            before += p_[id];
        }
        left = before;
        std::sort(kept_.begin(), kept_.end());
        double target = below(u, before), total = 0.0;
        int last = kept_.front();
        for (int id : kept_) {
            if (p_[id] > 0.0f) last = id;
            if ((total += p_[id]) > target) return id;
        }
        return last;
    }

    std::vector<float> p_;
    std::vector<double> sums_;
    std::vector<int> order_, kept_;
};

}  // namespace assay
