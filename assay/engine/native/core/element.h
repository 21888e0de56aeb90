// The factors of matrix products: floats or, in variants compiled with ASSAY_PAIRS, pairs of bf16 that are neighbours along
// the contraction. An element holds STEP numbers of the contraction; an odd end is padded with a zero. Sums are floats.
//
// Whatever a product reads is rounded once, where it is computed, and stored as rows of numbers. A row is as long as its
// elements (see `padded`), so that the product finds its elements in place.
#pragma once

#include "buffer.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace assay {

#if defined(ASSAY_PAIRS)

typedef uint16_t Number __attribute__((may_alias));   // a bf16
typedef uint32_t Element __attribute__((may_alias));  // the earlier of the two in the lower half
typedef uint16_t Numbers __attribute__((vector_size(2 * LANES)));
typedef uint16_t LooseNumbers __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef uint32_t Elements __attribute__((vector_size(4 * LANES)));
constexpr int STEP = 2;

// Rounds to the nearest bf16, ties to even. Not-a-number stays not-a-number.
inline uint32_t rounded(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof x);
    return (x == x ? bits + 0x7fff + (bits >> 16 & 1) : bits | 0x400000) >> 16;
}

inline Element pair(float first, float second) { return rounded(first) | rounded(second) << 16; }

// Element k of `depth` numbers, `stride` apart.
inline Element element(const float* x, size_t stride, int k, int depth) {
    return pair(x[2 * k * stride], 2 * k + 1 < depth ? x[(2 * k + 1) * stride] : 0.0f);
}

// Element k of `count` chains side by side.
inline void put_elements(const float* x, size_t stride, int k, int depth, int count, Element* to) {
    const float *first = x + 2 * k * stride, *second = first + stride;
    if (2 * k + 1 < depth)
        for (int j = 0; j < count; j++) to[j] = pair(first[j], second[j]);
    else
        for (int j = 0; j < count; j++) to[j] = pair(first[j], 0.0f);
}

typedef uint32_t LooseElements __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
inline Elements load(const Element* p) { return *reinterpret_cast<const LooseElements*>(p); }
inline void store(Element* p, Elements v) { *reinterpret_cast<LooseElements*>(p) = v; }

// The same for a vector. The instruction treats subnormal numbers as zero, as the products do.
inline Numbers rounded(vec x) {
#if defined(__AVX512BF16__)
    return (Numbers)_mm512_cvtneps_pbh((__m512)x);
#else
    const Elements bits = (Elements)x;
    const Elements even = bits + 0x7fff + (bits >> 16 & 1), nan = bits | 0x400000;
    return __builtin_convertvector((x == x ? even : nan) >> 16, Numbers);
#endif
}
inline vec widened(Numbers x) { return (vec)(__builtin_convertvector(x, Elements) << 16); }

inline vec load(const Number* p) { return widened(*reinterpret_cast<const LooseNumbers*>(p)); }
inline void store(Number* p, vec v) { *reinterpret_cast<LooseNumbers*>(p) = rounded(v); }
inline vec load_part(const Number* p, int count, float fill = 0.0f) {
    if (count == LANES) return load(p);
    Numbers v = rounded(all(fill));
    std::memcpy(&v, p, 2 * static_cast<size_t>(count & (LANES - 1)));
    return widened(v);
}
inline void store_part(Number* p, vec v, int count) {
    if (count == LANES) return store(p, v);
    Numbers part = rounded(v);
    std::memcpy(p, &part, 2 * static_cast<size_t>(count & (LANES - 1)));
}

// LANES chains side by side: element k of numbers `stride` apart. What lies behind them is read too.
inline Elements elements(const Number* x, size_t stride, int k, int depth) {
    const Number *first = x + 2 * k * stride, *second = first + stride;
    Elements lower = __builtin_convertvector(*reinterpret_cast<const LooseNumbers*>(first), Elements);
    if (2 * k + 1 == depth) return lower;
    return lower | __builtin_convertvector(*reinterpret_cast<const LooseNumbers*>(second), Elements) << 16;
}

// Puts number j of a chain at each of `count` places side by side: into the elements from `to` on, which hold the numbers
// around j. The later number of an element is zero until it is put.
inline void put_beside(const Number* x, int j, int count, Element* to) {
    const bool later = j % 2;
    int i = 0;
    for (; i + LANES <= count; i += LANES) {
        Elements own = __builtin_convertvector(*reinterpret_cast<const LooseNumbers*>(x + i), Elements);
        store(to + i, later ? (load(to + i) & 0xffff) | own << 16 : own);
    }
    for (; i < count; i++) to[i] = later ? (to[i] & 0xffff) | static_cast<uint32_t>(x[i]) << 16 : x[i];
}

inline void get_beside(const Element* from, int j, int count, Number* x) {
    for (int i = 0; i < count; i++) x[i] = static_cast<uint16_t>(from[i] >> 16 * (j % 2));
}

// (sum + a' b') + a b, for the pairs (a, a') in the lanes of `a` and (b, b') in `b`, rounded after each product.
// The instruction treats subnormal numbers as zero; its emulation does not.
inline vec multiply_add(Elements a, Element b, vec sum) {
#if defined(__AVX512BF16__)
    return (vec)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)_mm512_set1_epi32(static_cast<int>(b)));
#else
    const Elements upper = Elements{} + 0xffff0000u, both = Elements{} + b;
    sum += (vec)(a & upper) * (vec)(both & upper);
    return sum + (vec)(a << 16) * (vec)(both << 16);
#endif
}

#else

typedef float Number;
typedef float Element;
typedef vec Elements;
constexpr int STEP = 1;

inline Element element(const float* x, size_t stride, int k, int) { return x[k * stride]; }

inline void put_elements(const float* x, size_t stride, int k, int, int count, Element* to) {
    std::memcpy(to, x + k * stride, 4 * static_cast<size_t>(count));
}

inline Elements elements(const Number* x, size_t stride, int k, int) { return load(x + k * stride); }

inline void put_beside(const Number* x, int, int count, Element* to) { std::memcpy(to, x, 4 * static_cast<size_t>(count)); }
inline void get_beside(const Element* from, int, int count, Number* x) {
    std::memcpy(x, from, 4 * static_cast<size_t>(count));
}

inline vec multiply_add(Elements a, Element b, vec sum) { return sum + a * b; }

#endif

inline int steps_of(int depth) { return (depth + STEP - 1) / STEP; }

// The length of a row of `depth` numbers. The number behind an odd end is zero: buffers are made of zeros, and what writes
// a row leaves it alone.
inline int padded(int depth) { return steps_of(depth) * STEP; }

// sum of a[i] b[i], the lanes over i
template <class A, class B>
inline float dot(const A* a, const B* b, int n) {
    vec total = {};
    by_vectors(n, [&](int i, int lanes) { total += load_part(a + i, lanes) * load_part(b + i, lanes); });
    return sum(total);
}

// Rounds a row to operands, or widens operands to floats.
template <class From, class To>
inline void put_numbers(const From* from, int n, To* to) {
    by_vectors(n, [&](int i, int lanes) { store_part(to + i, load_part(from + i, lanes), lanes); });
}

// The left-hand side of a product: element (i, k) at data[i * row + k * step].
struct Left {
    const Element* data;
    size_t row, step;
};

// Rows of `depth` numbers, one after another.
inline Left rows_of(const Number* a, int depth) {
    return Left{reinterpret_cast<const Element*>(a), static_cast<size_t>(steps_of(depth)), 1};
}

}  // namespace assay
