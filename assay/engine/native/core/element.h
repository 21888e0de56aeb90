// The factors of matrix products: floats or, in variants compiled with ASSAY_PAIRS, pairs of bf16 that are neighbours along
// the contraction. An element holds STEP numbers of the contraction; an odd end is padded with a zero. Sums are floats.
#pragma once

#include "buffer.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace assay {

#if defined(ASSAY_PAIRS)

typedef uint32_t Element;  // the earlier of the two in the lower half
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

inline Elements load(const Element* p) {
    typedef uint32_t loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
    return *reinterpret_cast<const loose*>(p);
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

typedef float Element;
typedef vec Elements;
constexpr int STEP = 1;

inline Element element(const float* x, size_t stride, int k, int) { return x[k * stride]; }

inline void put_elements(const float* x, size_t stride, int k, int, int count, Element* to) {
    std::memcpy(to, x + k * stride, 4 * static_cast<size_t>(count));
}

inline vec multiply_add(Elements a, Element b, vec sum) { return sum + a * b; }

#endif

inline int steps_of(int depth) { return (depth + STEP - 1) / STEP; }

// The left-hand side of a product: element (i, k) at data[i * row + k * step].
struct Left {
    const Element* data;
    size_t row, step;
};

// A by rows: floats where they lie, pairs in `scratch`.
inline Left left_of(int rows, const float* a, size_t stride, int depth, Buffer& scratch) {
#if defined(ASSAY_PAIRS)
    int steps = steps_of(depth);
    Element* to = scratch.room<Element>(static_cast<size_t>(rows) * steps);
    for (int i = 0; i < rows; i++, to += steps) {
        const float* from = a + i * stride;
        for (int k = 0; k < depth / 2; k++) to[k] = pair(from[2 * k], from[2 * k + 1]);
        if (depth % 2) to[steps - 1] = element(from, 1, steps - 1, depth);
    }
    return Left{scratch.data<Element>(), static_cast<size_t>(steps), 1};
#else
    (void)rows, (void)depth, (void)scratch;
    return Left{a, stride, 1};
#endif
}

}  // namespace assay
