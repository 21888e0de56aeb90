"""The output layer by tiles of the vocabulary, forward and backward: no tensor of tokens x vocabulary is made forward,
and a bounded one backward.

z = round(h W') / tau,  logp = z_id - lse,  H = log S - T / S  with S = sum exp(z - m) and T = sum exp(z - m) (z - m)

    dz = c onehot + sum_k c_k onehot_k - (c + sum_k c_k) p - e p (log p + H), divided by tau

Logits are rounded to the format of the hidden states before they are divided, as the product of a whole layer rounds
them: the sampler draws from logits that are rounded so. A row's results do not depend on which rows stand beside it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from assay.engine import head
from assay.engine.footprint import LOGIT_GRADIENTS
from assay.engine.head import Coefficients, Readout
from assay.engine.torch.kernels import plain
from assay.engine.torch.kernels.launching import cdiv, launch, power_of_two
from assay.engine.torch.kernels.products import add_product
from assay.engine.torch.kernels.tiles import grad_kernel, join_kernel, read_kernel

SPAN = 4096  # columns of the vocabulary that one program goes over
ROUND = 8  # numbers to which a row of logits is lengthened, so that products read it in whole pieces
JOINED = 16  # rows whose spans one program joins


def tiles(hidden: Tensor) -> tuple[dict[str, Any], dict[str, int]]:
    """(the constants of a tile, its warps and stages). Products of fp32 are not rounded, and take more registers."""
    width = hidden.shape[-1]
    if hidden.dtype == torch.float32:
        shape, how = {"BM": 64, "BV": 64, "BK": 32}, {"warps": 4, "stages": 3}
    else:
        shape, how = {"BM": 128, "BV": 128, "BK": 64}, {"warps": 8, "stages": 3}
    return {"D": width, **shape, "EVEN": width % shape["BK"] == 0}, how


@torch.no_grad()
def read(
    hidden: Tensor,
    weight: Tensor | None,
    ids: Tensor,
    tau: Tensor,
    *,
    entropy: bool = False,
    top_ids: Tensor | None = None,
    mean_logp: bool = False,
    likeliest: int = 0,
    keep: bool = False,
) -> Readout:
    """As `assay.engine.head.read`, which reads where logits are given, and what no loss is differentiated by."""
    if weight is None or mean_logp or likeliest or not len(ids):
        about = {"entropy": entropy, "top_ids": top_ids, "mean_logp": mean_logp, "likeliest": likeliest, "keep": keep}
        return head.read(hidden, weight, ids, tau, **about)
    hidden, weight, ids, tau = adjoining(hidden), adjoining(weight), ids.contiguous(), tau.contiguous()
    count, vocab = len(ids), len(weight)
    splits = cdiv(vocab, SPAN)
    largest, total, moment = tau.new_empty(3, splits, count).unbind(0)
    logit, top, further = torch.full_like(tau, torch.nan), None, 0  # a token beyond the vocabulary has no logit
    if top_ids is not None:
        top, further, top_ids = tau.new_full(top_ids.shape, torch.nan), top_ids.shape[-1], top_ids.contiguous()
    constants, how = tiles(hidden)
    told = {"ENTROPY": entropy, "FURTHER": further, "SPAN": SPAN}
    arguments = [hidden, weight, ids, tau, ids if top_ids is None else top_ids, largest, total, moment, logit]
    arguments += [logit if top is None else top, count, vocab, hidden.stride(0), weight.stride(0)]
    launch(read_kernel, (cdiv(count, constants["BM"]), splits), *arguments, **constants, **told, **how)
    lse, logp, spread = (torch.empty_like(tau) for _ in range(3))
    joined = {"SPLITS": power_of_two(splits), "ROWS": JOINED, "ENTROPY": entropy}
    sums = (largest, total, moment, logit, lse, logp, spread, count, splits)
    launch(join_kernel, (cdiv(count, JOINED),), *sums, **joined, warps=4)
    if top is not None:
        top.sub_(lse[:, None])
    return Readout(logp, spread if entropy else None, top, None, None, None, None, lse)


@torch.no_grad()
def pull(
    hidden: Tensor,
    weight: Tensor | None,
    ids: Tensor,
    tau: Tensor,
    coefficients: Coefficients,
    weight_grad: Tensor | None,
    *,
    readout: Readout,
    top_ids: Tensor | None = None,
) -> Tensor:
    """As `assay.engine.head.pull`. The gradient by the logits is computed for some rows at a time."""
    if weight is None or readout.lse is None:
        about: dict[str, Any] = {"readout": readout, "top_ids": top_ids}
        return plain.pull(hidden, weight, ids, tau, coefficients, weight_grad, **about)
    result, live = torch.zeros_like(hidden), coefficients.live()
    if live is None:
        return result
    weight, chosen = adjoining(weight), torch.nonzero(live).squeeze(-1)
    rows = rows_at_once(len(weight), hidden.element_size())
    width = cdiv(len(weight), ROUND) * ROUND
    room = hidden.new_empty(min(rows, len(chosen)), width)[:, : len(weight)]
    for part in chosen.split(rows):
        h, dz = hidden.index_select(0, part), room[: len(part)]
        _logit_grad(dz, h, weight, ids, tau, part, coefficients, readout, top_ids)
        result.index_copy_(0, part, dz @ weight)
        if weight_grad is not None:
            add_product(weight_grad, dz, h)
    return result


def rows_at_once(vocab: int, itemsize: int) -> int:
    """Each block of rows adds to the gradient of the whole layer once, so few large blocks are faster."""
    return max(1, LOGIT_GRADIENTS // itemsize // vocab)


def _logit_grad(
    out: Tensor,
    h: Tensor,
    weight: Tensor,
    ids: Tensor,
    tau: Tensor,
    part: Tensor,
    c: Coefficients,
    readout: Readout,
    top_ids: Tensor | None,
) -> None:
    """dL/dz of the rows `part`, written to `out`."""
    assert readout.lse is not None
    heat, lse, token = (x.index_select(0, part) for x in (tau, readout.lse, ids))
    zero = torch.zeros_like(heat)
    first, by_entropy, spread, by_top, other, further = zero, zero, zero, zero, token, 0
    if c.logp is not None:
        first = c.logp.index_select(0, part).to(heat.dtype)
    if c.entropy is not None:
        assert readout.entropy is not None
        by_entropy = c.entropy.index_select(0, part).to(heat.dtype)
        spread = readout.entropy.detach().index_select(0, part)
    total = first
    if c.top_logp is not None and top_ids is not None:
        by_top, other = c.top_logp.index_select(0, part).to(heat.dtype), top_ids.index_select(0, part)
        total, further = first + by_top.sum(-1), by_top.shape[-1]
    constants, how = tiles(h)
    told = {"ENTROPY": c.entropy is not None, "FURTHER": further}
    grid = (cdiv(len(h), constants["BM"]), cdiv(len(weight), constants["BV"]))
    arguments = [h, weight, token, heat, lse, spread, first, by_entropy, total, other, by_top, out, len(h), len(weight)]
    arguments += [h.stride(0), weight.stride(0), out.stride(0)]
    launch(grad_kernel, grid, *arguments, **constants, **told, **how)


def adjoining(x: Tensor) -> Tensor:
    """The matrix itself where the numbers of a row lie side by side, else a copy in which they do."""
    return x if x.stride(-1) == 1 else x.contiguous()
