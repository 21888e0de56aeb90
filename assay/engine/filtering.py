"""From logits to a drawn token with its log-probabilities: temperature, filters, inverse-CDF draw, entropy.

Three filters act in this order, each on the renormalised distribution that the filter before has left: top-k (the k
most probable tokens, ties to the lower id), top-p (the smallest set of most probable tokens whose mass reaches p),
min-p (tokens with at least min_p times the largest probability). Temperature 0 is greedy and takes the most probable
token: its `old` is the log-probability at temperature 1, and its `mu` is 0, because it was picked with certainty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Filters:
    """The temperatures and filters of n rows. A field is None where no row needs it."""

    tau: Tensor | None = None  # [n], 1 for greedy rows
    greedy: Tensor | None = None  # bool[n]
    filtered: Tensor | None = None  # bool[n]: the rows that some filter touches
    top_k: Tensor | None = None  # int64[n], the vocabulary's size where off
    top_p: Tensor | None = None  # [n], 1 where off
    min_p: Tensor | None = None  # [n], 0 where off
    barred: Tensor | None = None  # bool[n, V] the tokens that are not drawn


@dataclass(frozen=True, eq=False)
class Drawn:
    """The tokens that were drawn for n rows."""

    token: Tensor  # int64[n]
    old: Tensor  # [n] log-probability under the full softmax at the row's temperature
    mu: Tensor  # [n] log-probability under the filtered distribution that the token was drawn from
    entropy: Tensor  # [n] of the full softmax
    finite: Tensor  # bool[n]: all logits of the row are finite


Draw = Callable[[Tensor, Tensor, Filters], Drawn]
"""(logits [n, V], u float64[n], filters) -> tokens: `draw`, or a kernel that does the same."""


def kept(p: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor) -> Tensor:
    """bool[n, V]: the tokens that the filters keep. The most probable token is always kept."""
    ordered, order = torch.sort(p, dim=-1, descending=True, stable=True)
    rank = torch.arange(p.shape[-1], device=p.device)
    stays = rank[None, :] < top_k[:, None]
    ordered = ordered * stays
    mass = ordered.sum(-1, keepdim=True)
    before = ordered.cumsum(-1) - ordered
    stays &= (before < top_p[:, None] * mass) | (top_p[:, None] >= 1)
    stays &= ordered >= min_p[:, None] * ordered[:, :1]
    stays[:, 0].fill_(True)
    return torch.zeros_like(stays).scatter_(-1, order, stays)


def invert(weight: Tensor, u: Tensor) -> Tensor:
    """The token at which the cumulative weight first exceeds u times the total; never a token of weight zero."""
    cdf = weight.cumsum(-1, dtype=torch.float64)
    total = cdf[:, -1]
    target = torch.minimum(u * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cdf, target[:, None], right=True).squeeze(-1)


def best_of(logp: Tensor, barred: Tensor | None) -> Tensor:
    """The most probable token of each row that it does not bar."""
    return (logp if barred is None else logp.masked_fill(barred, -torch.inf)).argmax(-1)


def draw(logits: Tensor, u: Tensor, filters: Filters) -> Drawn:
    """Draw one token for each row by its uniform random number `u`, float64[n] in [0, 1), in fp32 or wider."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    finite = torch.isfinite(logits.sum(-1))
    z = logits if filters.tau is None else logits / filters.tau[:, None]
    logp = torch.log_softmax(z, -1)
    p = logp.exp()
    entropy = -(p * logp).sum(-1)
    whole = p if filters.barred is None else p.masked_fill(filters.barred, 0)
    weight = whole
    if filters.filtered is not None:
        assert filters.top_k is not None and filters.top_p is not None and filters.min_p is not None
        weight = whole * kept(whole, filters.top_k, filters.top_p, filters.min_p)
    token = invert(weight, u).clamp_(max=p.shape[-1] - 1)
    if filters.barred is not None:
        token = torch.where(weight.sum(-1) > 0, token, best_of(logp, filters.barred))
    if filters.greedy is not None:
        token = torch.where(filters.greedy, best_of(logp, filters.barred), token)
    old = logp.gather(-1, token[:, None]).squeeze(-1)
    mu = old
    if filters.filtered is not None or filters.barred is not None:
        left = (old - weight.sum(-1).log()).clamp(max=0)
        if filters.barred is not None:
            mu = torch.where(filters.barred.any(-1), left, mu)
        if filters.filtered is not None:
            mu = torch.where(filters.filtered, left, mu)
    if filters.greedy is not None:
        mu = torch.where(filters.greedy, torch.zeros_like(mu), mu)
    return Drawn(token, old, mu, entropy, finite)
