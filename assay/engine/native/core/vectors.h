// A vector of floats, as wide as the processor's registers, and functions on it. Their results depend on their operands
// alone: every sum has one fixed order.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace assay {

#if defined(__AVX512F__)
constexpr int LANES = 16, TILE_ROWS = 14, TILE_VECTORS = 2;
#elif defined(__AVX2__) && defined(__FMA__)
constexpr int LANES = 8, TILE_ROWS = 6, TILE_VECTORS = 2;
#elif defined(__aarch64__)
constexpr int LANES = 4, TILE_ROWS = 8, TILE_VECTORS = 3;
#else
#error "the core needs AVX-512, AVX2 with FMA, or 64-bit ARM; the torch path runs everywhere else"
#endif
constexpr int PANEL = LANES * TILE_VECTORS;  // columns of a product that are made at once

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));
typedef float loose_vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

constexpr float INF = std::numeric_limits<float>::infinity();

inline vec load(const float* p) { return *reinterpret_cast<const loose_vec*>(p); }
inline void store(float* p, vec v) { *reinterpret_cast<loose_vec*>(p) = v; }
inline vec all(float x) { return vec{} + x; }
inline vec choose(ivec mask, vec a, vec b) { return mask ? a : b; }

// The first `count` lanes; the others are `fill` on loading and untouched on storing.
inline vec load_part(const float* p, int count, float fill = 0.0f) {
    if (count == LANES) return load(p);
    vec v = all(fill);
    std::memcpy(&v, p, 4 * static_cast<size_t>(count & (LANES - 1)));
    return v;
}
inline void store_part(float* p, vec v, int count) {
    if (count == LANES) store(p, v);
    else std::memcpy(p, &v, 4 * static_cast<size_t>(count & (LANES - 1)));
}

// what(i, lanes) for vectors of n numbers: at i, `lanes` of them.
template <class Do>
inline void by_vectors(int n, Do&& what) {
    int i = 0;
    for (; i + LANES <= n; i += LANES) what(i, LANES);
    if (i < n) what(i, n - i);
}

// The first `count` lanes of v, and `fill` in the others.
inline vec kept(vec v, int count, float fill) {
    ivec lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return choose(lane < count, v, all(fill));
}

inline int rounded_up(int n, int to) { return (n + to - 1) / to * to; }

// The lanes, each moved down by `by` places and the first ones to the end.
template <int BY, int... LANE>
inline vec turned(vec v, std::integer_sequence<int, LANE...>) {
#if defined(__clang__)
    return __builtin_shufflevector(v, v, ((LANE + BY) % LANES)...);
#else
    return __builtin_shuffle(v, ivec{((LANE + BY) % LANES)...});
#endif
}

// All lanes joined to one: the upper half to the lower half, until one lane is left.
template <int HALF = LANES / 2, class Join>
inline float joined(vec v, Join&& join) {
    v = join(v, turned<HALF>(v, std::make_integer_sequence<int, LANES>()));
    if constexpr (HALF > 1) return joined<HALF / 2>(v, join);
    else return v[0];
}

inline vec larger(vec a, vec b) { return choose(a > b, a, b); }

inline float sum(vec v) {
    return joined(v, [](vec a, vec b) { return a + b; });
}
inline float greatest(vec v) { return joined(v, larger); }

// e^x within 2 units in the last place: x = n ln 2 + r, a polynomial in r, and n into the exponent.
inline vec exp(vec x) {
    const vec magic = all(0x1.8p23f);
    vec bounded = choose(x > all(88.0f), all(88.0f), choose(x < all(-87.0f), all(-87.0f), x));
    vec n = (bounded * all(1.44269504f) + magic) - magic;
    vec r = bounded - n * all(0.693359375f);
    r = r - n * all(-2.12194440e-4f);
    vec p = all(1.9875691500e-4f);
    p = p * r + all(1.3981999507e-3f);
    p = p * r + all(8.3334519073e-3f);
    p = p * r + all(4.1665795894e-2f);
    p = p * r + all(1.6666665459e-1f);
    p = p * r + all(5.0000001201e-1f);
    p = p * (r * r) + r + all(1.0f);
    ivec bits;
    std::memcpy(&bits, &p, sizeof p);
    bits += __builtin_convertvector(n, ivec) << 23;
    std::memcpy(&p, &bits, sizeof p);
    p = choose(x < all(-87.0f), all(0.0f), p);
    return choose(x == x, p, x);  // not-a-number stays what it is
}

inline vec sigmoid(vec x) { return all(1.0f) / (all(1.0f) + exp(-x)); }

}  // namespace assay
