"""Draw a token for each row from logits that are read once, and from one block of them again.

With z = logits / tau and M the row's largest z, a token has the weight exp(z - M). The first kernel cuts the vocabulary
into blocks, and leaves for each block its largest z, the sum of weights and the sum of weight times z - largest. The
second joins them to log-sum-exp and entropy, finds the block in which the cumulative weight first exceeds u times the
total, and in this block the token. Nothing as large as the vocabulary is written.

`filtering.draw` makes the same draw of the same u, for rows without filters and barred tokens. Its weights are softmax
probabilities in fp32, which are wrong by some 1e-7 of their size and more in rows of large logits. Here z is rounded to
fp32 as there, and everything behind it is in fp64. So the tokens differ only where u times the total lies so close to
the boundary of two tokens: within some 1e-6 of the total. A draw by exact sums of the same z differs only within 1e-12
of the total. Log-probabilities and entropies differ in the last digits of fp32, except that bf16 logits are widened to
fp32 before anything is computed.

A weight below 2^-126, the least normal number of fp32, counts as zero. A token of weight zero is never drawn, and u = 0
draws the first token of another weight. Equal greatest logits go to the lowest token in a greedy row, which compares z
itself: fp32 log-probabilities can be equal where z is not.
"""

# Triton's types are neither those that the kernels see nor those that a launch takes.
# pyright: reportCallIssue=false, reportArgumentType=false, reportOperatorIssue=false
# pyright: reportAttributeAccessIssue=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.engine import filtering
from assay.engine.filtering import Drawn, Filters

BLOCK = 2048  # words of a block
FUSED = True  # products and sums are fused, whichever way a version of Triton has as its own
LEAST = tl.constexpr(-87.33654475055310)  # 126 log(1/2): the logarithm of the least weight that counts


@triton.jit
def words_of(logits, tau, row, row_step, vocab, block, BLOCK: tl.constexpr):
    """(z in fp32, which words are not finite) of a block of a row; z is -inf at these words and behind the last."""
    word = block * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(logits + row * row_step + word, mask=word < vocab, other=float("-inf")).to(tl.float32)
    if tau is not None:
        z = tl.div_rn(z, tl.load(tau + row).to(tl.float32))
    real = tl.abs(z) < float("inf")
    return tl.where(real, z, float("-inf")), (word < vocab) & (real == 0)


@triton.jit
def weights_of(gap):
    """exp(gap) in fp64, zero for weights too small to count."""
    return tl.where(gap >= LEAST, tl.exp(gap), 0.0)


@triton.jit
def first_above(weight, target, SIZE: tl.constexpr):
    """(index, weight before it): where the cumulative weight first exceeds the target, at a weight that is not zero.

    If rounding leaves no such index, it is the last one whose weight is not zero. The sums of a parallel scan round
    each in its own way, and can rise where nothing is added.
    """
    index = tl.arange(0, SIZE)
    exceeds = (tl.cumsum(weight, 0) > target) & (weight > 0)
    first = tl.min(tl.where(exceeds, index, SIZE), 0)
    last = tl.max(tl.where(weight > 0, index, 0), 0)
    chosen = tl.where(first < SIZE, first, last)
    return chosen, tl.sum(tl.where(index < chosen, weight, 0.0), 0)


@triton.jit
def sum_blocks(logits, tau, peaks, totals, moments, row_step, vocab, blocks, BLOCK: tl.constexpr):
    """Program (row, block): the block's largest z, or inf if not all are finite, and its sums from there."""
    row = tl.program_id(0).to(tl.int64)
    block = tl.program_id(1)
    z, wrong = words_of(logits, tau, row, row_step, vocab, block, BLOCK)
    peak = tl.max(z, 0)
    gap = z.to(tl.float64) - tl.where(peak > float("-inf"), peak, 0.0).to(tl.float64)
    weight = weights_of(gap)
    place = row * blocks + block
    tl.store(peaks + place, tl.where(tl.max(wrong.to(tl.int32), 0) > 0, float("inf"), peak))
    tl.store(totals + place, tl.sum(weight, 0))
    tl.store(moments + place, tl.sum(weight * tl.maximum(gap, LEAST), 0))


@triton.jit(do_not_specialize=("rows",))
def draw_words(
    logits,
    tau,
    greedy,
    u,
    peaks,
    totals,
    moments,
    tokens,
    reals,
    finite,
    rows,
    row_step,
    vocab,
    blocks,
    BLOCK: tl.constexpr,
    MOST: tl.constexpr,
):
    """Program (row): the row's token, its log-probability, `mu` and entropy, and whether all its z are finite."""
    row = tl.program_id(0).to(tl.int64)
    block = tl.arange(0, MOST)
    here = block < blocks
    peak = tl.load(peaks + row * blocks + block, mask=here, other=float("-inf"))
    fine = tl.max(peak, 0) < float("inf")
    peak = tl.where(fine, peak, 0.0)
    top = tl.max(peak, 0)
    gap = peak.to(tl.float64) - top.to(tl.float64)
    shrink = weights_of(gap)
    part = shrink * tl.load(totals + row * blocks + block, mask=here, other=0.0)
    moment = shrink * tl.load(moments + row * blocks + block, mask=here, other=0.0) + part * tl.maximum(gap, LEAST)
    total = tl.where(fine, tl.sum(part, 0), 1.0)

    target = tl.load(u + row) * total
    chosen, before = first_above(part, target, MOST)
    if greedy is not None:
        sure = tl.load(greedy + row) != 0
        chosen = tl.where(sure, tl.min(tl.where(peak == top, block, MOST - 1), 0), chosen)
    z, _ = words_of(logits, tau, row, row_step, vocab, chosen, BLOCK)
    gap = tl.where(fine, z.to(tl.float64) - top.to(tl.float64), 0.0)
    word, _ = first_above(weights_of(gap), target - before, BLOCK)
    index = tl.arange(0, BLOCK)
    if greedy is not None:
        word = tl.where(sure, tl.min(tl.where(z == top, index, BLOCK - 1), 0), word)

    size = tl.log(total)
    old = tl.where(fine, tl.sum(tl.where(index == word, gap, 0.0), 0) - size, float("nan")).to(tl.float32)
    mu = old
    if greedy is not None:
        mu = tl.where(sure & fine, 0.0, old)
    tl.store(tokens + row, tl.where(fine, chosen.to(tl.int64) * BLOCK + word, 0))
    tl.store(reals + row, old)
    tl.store(reals + rows + row, mu)
    tl.store(reals + 2 * rows + row, tl.where(fine, size - tl.sum(moment, 0) / total, float("nan")).to(tl.float32))
    tl.store(finite + row, fine.to(tl.uint8))


def draw_rows(logits: Tensor, u: Tensor, tau: Tensor | None = None, greedy: Tensor | None = None) -> Drawn:
    """Draw a token for each row of `logits` [n, V] in bf16, fp16 or fp32, by its uniform `u`, float64[n] in [0, 1).

    `tau` [n] is the temperature, 1 for greedy rows; `greedy` is bool[n]. A row whose z are not all finite gets token 0
    and NaN. Nothing waits for the device, and the same logits, u and tau give equal bits whatever the other rows are.
    """
    (n, vocab), device = logits.shape, logits.device
    assert logits.stride(1) == 1 and u.dtype == torch.float64 and vocab > 0
    blocks = -(-vocab // BLOCK)
    peaks = torch.empty(n * blocks, dtype=torch.float32, device=device)
    totals, moments = torch.empty(2, n * blocks, dtype=torch.float64, device=device)
    token = torch.empty(n, dtype=torch.int64, device=device)
    reals = torch.empty(3, n, dtype=torch.float32, device=device)
    finite = torch.empty(n, dtype=torch.bool, device=device)
    if n:
        step = logits.stride(0)
        sum_blocks[n, blocks](
            logits, tau, peaks, totals, moments, step, vocab, blocks, BLOCK=BLOCK, enable_fp_fusion=FUSED
        )
        flags = None if greedy is None else greedy.view(torch.uint8)
        given, outcome = (logits, tau, flags, u, peaks, totals, moments), (token, reals, finite.view(torch.uint8))
        sizes = {"BLOCK": BLOCK, "MOST": triton.next_power_of_2(blocks)}
        draw_words[(n,)](*given, *outcome, n, step, vocab, blocks, **sizes, enable_fp_fusion=FUSED)
    return Drawn(token, *reals, finite)


def draw(logits: Tensor, u: Tensor, filters: Filters) -> Drawn:
    """As `filtering.draw`, which draws where some row has a filter or must not draw some token."""
    if filters.filtered is not None or filters.barred is not None:
        return filtering.draw(logits, u, filters)
    return draw_rows(logits, u, filters.tau, filters.greedy)
