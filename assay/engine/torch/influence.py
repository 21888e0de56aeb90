"""How much later steps of an answer attend to each step: a dense forward pass that keeps sums of attention, no
gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from assay.policy.transformer import Transformer
from assay.types import Ids


def shares(starts: Sequence[int], ends: Sequence[int], length: int) -> Tensor:
    """[steps, length]: row i has 1 / length of step i at its tokens, so that it takes a mean over them."""
    found = torch.zeros(len(starts), length)
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        found[i, start:end] = 1 / (end - start)
    return found


def future(steps: int, gap: int) -> Tensor:
    """[steps, steps]: 1 where step i (row) is `gap` or more behind step j (column), else 0."""
    number = torch.arange(steps)
    return (number[:, None] >= number[None, :] + gap).float()


@torch.no_grad()
def influence(model: Transformer, context: Ids, answer: Ids, ends: Sequence[int], gap: int) -> np.ndarray:
    """F_j = max over layers and heads of sum_{i >= j + gap} S_ij, for each step j of the answer (AttnRL 2509.26628).

    S_ij is the mean attention of the tokens of step i to those of step j. `ends` are the ends of the steps in tokens of
    the answer. The memory is that of the attention of a few heads, of all tokens to all; the time is a forward pass.
    """
    device = next(model.parameters()).device
    ids = torch.from_numpy(np.concatenate([context, answer]).astype(np.int64)).to(device)
    places = [len(context) + end for end in (0, *ends)]
    mean, later = shares(places[:-1], places[1:], len(ids)).to(device), future(len(ends), gap).to(device)
    unseen = torch.ones(len(ids), len(ids), dtype=torch.bool, device=device).triu(1)
    best = torch.zeros(len(ends), device=device)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        group, out = q.shape[1] // k.shape[1], torch.empty_like(q)
        for head in range(k.shape[1]):
            mine = slice(head * group, (head + 1) * group)
            scores = torch.einsum("nhd,md->hnm", q[:, mine], k[:, head]).float() * q.shape[-1] ** -0.5
            weight = scores.masked_fill(unseen, -torch.inf).softmax(-1)
            out[:, mine] = torch.einsum("hnm,md->nhd", weight.to(v.dtype), v[:, head])
            step = mean @ weight @ mean.T
            torch.maximum(best, (step * later).sum(1).amax(0), out=best)
        return out

    model(ids, torch.arange(len(ids), device=device), attend)
    return best.cpu().numpy().astype(np.float64)
