"""What each recipe's paper says of a few rows, worked out without the library: advantages, token weights, gates, KL.

Every entry is written as its source writes it: PPO-like losses as the larger of the clipped and the unclipped term, to
be differentiated through the ratio, where the library uses gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

import torch
from torch import Tensor

CLIPS = {
    "grpo": (0.2, 0.2, None),
    "dr-grpo": (0.2, 0.2, None),
    "dapo": (0.2, 0.28, 10.0),
    "spec-rl": (0.2, 0.2, 3.0),
    "questa": (0.2, 0.2, None),
}
RECIPE_NAMES = ("reinforce", "rloo", "grpo", "dr-grpo", "dapo", "sft")


def advantages(name: str, rewards: Sequence[float]) -> list[float]:
    """Of the answers of one group."""
    if name in ("reinforce", "questa"):
        return list(rewards)
    if name == "sft":
        return [1.0] * len(rewards)
    if len(set(rewards)) == 1:
        return [0.0] * len(rewards)
    if name == "rloo":
        total, count = sum(rewards), len(rewards)
        return [r - (total - r) / (count - 1) for r in rewards]
    scale = 1.0 if name == "dr-grpo" else stdev(rewards) + 1e-6
    return [(r - mean(rewards)) / scale for r in rewards]


WHITENED = {"questa": (0, 1e-5)}  # ddof and epsilon


def shaped(name: str, advantage: Sequence[float], tokens: Sequence[int]) -> list[float]:
    """Of all rows together that are in the loss, from the advantages and the numbers of trained tokens."""
    if name not in WHITENED:
        return list(advantage)
    ddof, epsilon = WHITENED[name]
    count = sum(tokens)
    centre = sum(a * n for a, n in zip(advantage, tokens)) / count
    spread = (sum(n * (a - centre) ** 2 for a, n in zip(advantage, tokens)) / (count - ddof)) ** 0.5
    return [(a - centre) / (spread + epsilon) for a in advantage]


def token_weight(name: str, *, length: int, rows: int, tokens: int, max_new: int) -> float:
    """Of a token of a row with `length` trainable tokens; `rows` and `tokens` are the denominators of the step."""
    return {
        "reinforce": 1 / rows,
        "rloo": 1 / rows,
        "grpo": 1 / (rows * max(length, 1)),
        "dr-grpo": 1 / (rows * max_new),
        "dapo": 1 / tokens,
        "sft": 1 / tokens,
        "spec-rl": 1 / tokens,
        "questa": 1 / tokens,
    }[name]


def surrogate(ratio: Tensor, advantage: Tensor, low: float, high: float, dual: float | None) -> Tensor:
    """max(-w A, -clip(w, 1 - low, 1 + high) A), and where A < 0 at most -dual A."""
    loss = torch.maximum(-ratio * advantage, -ratio.clamp(1 - low, 1 + high) * advantage)
    if dual is not None:
        loss = torch.where(advantage < 0, torch.minimum(loss, -dual * advantage), loss)
    return loss


def k3(logp: Tensor, ref: Tensor) -> Tensor:
    """The estimator of KL that is never negative."""
    return (ref - logp).exp() - (ref - logp) - 1


def token_losses(
    name: str, logp: Tensor, *, advantage: Tensor, old: Tensor | None, ref: Tensor | None, **more: Tensor
) -> Tensor:
    """The loss of each token, whose gradient is what counts; `more`: its entropy, and `mu`, what the sampler said."""
    if name not in CLIPS:
        return -advantage * logp
    anchor = logp.detach() if old is None else old
    loss = surrogate((logp - anchor).exp(), advantage, *CLIPS[name])
    if name == "grpo":
        assert ref is not None
        loss = loss + 0.04 * k3(logp, ref)
    if name == "spec-rl":
        assert ref is not None
        loss = loss + 1e-4 * k3(logp, ref) - 0.001 * more["entropy"]
    if name == "questa":
        behind = (anchor - more["mu"]).exp()
        loss = loss * torch.where(behind <= 5.0, behind, 0.0)
    return loss
