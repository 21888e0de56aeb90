"""The output layer and its gradient, some rows at a time, so that no tensor of tokens x vocabulary is kept.

With z = h W' / tau, p = softmax(z) and H the entropy of p, for coefficients c of the token's log-probability, e of the
entropy and c_k of further log-probabilities:

    dL/dz = c onehot + sum_k c_k onehot_k - (c + sum_k c_k) p - e p (log p + H)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.engine.footprint import CACHED, LOGITS
from assay.engine.interface import Outputs

NUMBERS = ("mean_logp", "likeliest", "likeliest_logp")  # fields of a readout that no loss is differentiated by
DIFFERENTIATED = ("logp", "entropy", "top_logp")


@dataclass(frozen=True, eq=False)
class Readout:
    """The results of the output layer for each of M tokens. `all_logp` is kept where it fits, for the backward pass."""

    logp: Tensor  # [M]
    entropy: Tensor | None
    top_logp: Tensor | None  # [M, K]
    mean_logp: Tensor | None  # [M] mean over the vocabulary
    likeliest: Tensor | None  # int64[M, count]
    likeliest_logp: Tensor | None
    all_logp: Tensor | None  # [M, V]
    lse: Tensor | None = None  # [M] log-sum-exp of the logits over tau, where kernels compute the logits again


def _log_probs(hidden: Tensor, weight: Tensor | None, tau: Tensor) -> Tensor:
    z = hidden if weight is None else hidden @ weight.t()
    z = z if z.dtype == tau.dtype else z.to(tau.dtype)
    return torch.log_softmax(z / tau[:, None], -1)


def _width(hidden: Tensor, weight: Tensor | None) -> int:
    return hidden.shape[-1] if weight is None else weight.shape[0]


def _rows_at_once(vocab: int) -> int:
    return max(1, LOGITS // vocab)


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
    """The log-probabilities of `ids` [M] given hidden states [M, D], at temperatures `tau` [M].

    The result has the dtype of `tau`. Without a weight, `hidden` are the logits [M, V] themselves.
    """
    count, vocab = len(ids), _width(hidden, weight)
    keep = keep and count * vocab <= LOGITS
    logp = torch.empty_like(tau)
    spread = torch.empty_like(tau) if entropy else None
    top = tau.new_empty(top_ids.shape) if top_ids is not None else None
    mean = torch.empty_like(tau) if mean_logp else None
    best = ids.new_empty(count, likeliest) if likeliest else None
    best_logp = tau.new_empty(count, likeliest) if likeliest else None
    every = None
    rows = _rows_at_once(vocab)
    for a in range(0, count, rows):
        cut = slice(a, min(a + rows, count))
        lp = _log_probs(hidden[cut], weight, tau[cut])
        logp[cut] = lp.gather(-1, ids[cut, None]).squeeze(-1)
        if spread is not None:
            spread[cut] = _entropy(lp)
        if top is not None and top_ids is not None:
            top[cut] = lp.gather(-1, top_ids[cut])
        if mean is not None:
            mean[cut] = lp.mean(-1)
        if best is not None and best_logp is not None:
            best[cut] = likeliest_of(lp, likeliest)
            best_logp[cut] = lp.gather(-1, best[cut])
        if keep:
            every = lp
    return Readout(logp, spread, top, mean, best, best_logp, every)


def likeliest_of(lp: Tensor, count: int) -> Tensor:
    """int64[M, count]: the likeliest ids, the likeliest first. Ties go to the lower id, on every device alike."""
    if count == 1:
        return lp.argmax(-1, keepdim=True)
    least = lp.topk(count).values[:, -1:]
    above, level = lp > least, lp == least
    chosen = above | (level & (level.cumsum(-1) <= count - above.sum(-1, keepdim=True)))
    ids = chosen.nonzero()[:, 1].view(len(lp), count)
    order = torch.sort(lp.gather(-1, ids), dim=-1, descending=True, stable=True).indices
    return ids.gather(-1, order)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The derivatives of the loss by the outputs of `read`; None stands for zeros."""

    logp: Tensor | None = None
    entropy: Tensor | None = None
    top_logp: Tensor | None = None

    def live(self) -> Tensor | None:
        """bool[M]: the tokens with a coefficient that is not zero."""
        parts = [self.logp, self.entropy, None if self.top_logp is None else self.top_logp.abs().amax(-1)]
        marks = [part != 0 for part in parts if part is not None]
        if not marks:
            return None
        result = marks[0]
        for mark in marks[1:]:
            result = result | mark
        return result


def outputs_of(readout: Readout, *, learns: bool) -> Outputs:
    """What a forward pass read, for an objective. Where the engine learns, it differentiates its loss by them."""
    leaves = {name: getattr(readout, name) for name in DIFFERENTIATED}
    for leaf in leaves.values() if learns else ():
        if leaf is not None:
            leaf.requires_grad_(True)
    return Outputs(**leaves, **{name: getattr(readout, name) for name in NUMBERS})


def coefficients_of(outputs: Outputs) -> Coefficients | None:
    """What an objective has differentiated these to; None if it has left all of them alone."""
    leaves = {name: getattr(outputs, name) for name in DIFFERENTIATED}
    grads = {name: None if leaf is None else leaf.grad for name, leaf in leaves.items()}
    return None if all(grad is None for grad in grads.values()) else Coefficients(**grads)


@torch.no_grad()
def pull(
    hidden: Tensor,
    weight: Tensor | None,
    ids: Tensor,
    tau: Tensor,
    coefficients: Coefficients,
    weight_grad: Tensor | None,
    *,
    top_ids: Tensor | None = None,
    all_logp: Tensor | None = None,
) -> Tensor:
    """The gradient by `hidden` [M, D]. The gradient by `weight` is added to `weight_grad`, unless that is None."""
    result = torch.zeros_like(hidden)
    live = coefficients.live()
    if live is None:
        return result
    chosen = torch.nonzero(live).squeeze(-1)
    every = len(chosen) == len(ids)
    rows = _rows_at_once(_width(hidden, weight))
    for part in chosen.split(rows):
        pick = (lambda x: x) if every and len(part) == len(ids) else (lambda x, part=part: x.index_select(0, part))
        h, t = pick(hidden), pick(tau)
        lp = _log_probs(h, weight, t) if all_logp is None else pick(all_logp)
        dz = _logit_grad(lp, pick(ids), coefficients, pick, None if top_ids is None else pick(top_ids))
        dz = dz.div_(t[:, None]).to(h.dtype)
        if every and len(part) == len(ids) and weight is not None:
            torch.mm(dz, weight, out=result)
        else:
            result.index_copy_(0, part, dz if weight is None else dz @ weight)
        if weight_grad is not None:
            add_product(weight_grad, dz, h)
    return result


def add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """total += a' b, accumulated in the number format of `total`."""
    if total.dtype == a.dtype:
        total.addmm_(a.t(), b)
    else:
        total.add_(a.t() @ b)


def _logit_grad(lp: Tensor, ids: Tensor, c: Coefficients, pick, top_ids: Tensor | None) -> Tensor:
    zero = lp.new_zeros(len(ids))
    first = zero if c.logp is None else pick(c.logp).to(lp.dtype)
    total, further = first, None
    if c.top_logp is not None:
        further = pick(c.top_logp).to(lp.dtype)
        total = total + further.sum(-1)
    if c.entropy is not None:
        dz = _entropy_grad(lp, pick(c.entropy).to(lp.dtype)[:, None], total[:, None])
    else:
        dz = lp.exp().mul_(-total[:, None])
    dz.scatter_add_(-1, ids[:, None], first[:, None])
    if further is not None and top_ids is not None:
        dz.scatter_add_(-1, top_ids, further)
    return dz


def _entropy(lp: Tensor) -> Tensor:
    result = lp.new_empty(len(lp))
    for cut in _blocks(lp):
        result[cut] = -lp[cut].exp().mul_(lp[cut]).sum(-1)
    return result


def _entropy_grad(lp: Tensor, e: Tensor, total: Tensor) -> Tensor:
    """- e p (log p + H) - total p."""
    result = torch.empty_like(lp)
    for cut in _blocks(lp):
        p = lp[cut].exp()
        plogp = p * lp[cut]
        by_entropy = plogp.sub_(p * plogp.sum(-1, keepdim=True)).mul_(-e[cut])
        torch.sub(by_entropy, p.mul_(total[cut]), out=result[cut])
    return result


def _blocks(lp: Tensor) -> Iterator[slice]:
    """Blocks of rows whose intermediate values stay in a processor's cache, because a tensor as large as `lp` takes
    longer to fetch from memory than to compute. On other devices one block holds all rows.
    """
    rows = max(1, CACHED * torch.get_num_threads() // lp.shape[-1]) if lp.device.type == "cpu" else len(lp)
    yield from (slice(a, a + rows) for a in range(0, len(lp), max(1, rows)))
