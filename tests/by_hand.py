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
    "rlad": (0.2, 0.5, None),
    "rlad-hierarchical": (0.2, 0.5, None),
    "rlad-two": (0.2, 0.5, None),
    "r3": (0.2, 0.2, None),
    "r3-staged": (0.2, 0.2, None),
}
RECIPE_NAMES = ("reinforce", "rloo", "grpo", "dr-grpo", "dapo", "sft")


def advantages(name: str, rewards: Sequence[float]) -> list[float]:
    """Of the answers of one group."""
    if name in ("reinforce", "questa", "r3", "r3-staged"):
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


WEIGHTS = {"spec-rl": 1e-4, "rlad": 0.001, "rlad-hierarchical": 0.001, "rlad-two": 0.001}  # of KL beside entropy
WHITENED = {"questa": (0, 1e-5), "r3": (1, 1e-8), "r3-staged": (1, 1e-8)}  # ddof and epsilon


def spread(name: str, advantage: float, length: int) -> list[float]:
    """Over the tokens of a row that the policy wrote; with lambda = 0.95 and no critic the early ones get less."""
    if name in ("r3", "r3-staged"):
        return [advantage * 0.95 ** (length - 1 - t) for t in range(length)]
    return [advantage] * length


def shaped(name: str, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The advantages of the tokens of all rows together."""
    if name not in WHITENED:
        return [list(row) for row in rows]
    ddof, epsilon = WHITENED[name]
    every = [a for row in rows for a in row]
    centre = mean(every)
    deviation = (sum((a - centre) ** 2 for a in every) / (len(every) - ddof)) ** 0.5
    return [[(a - centre) / (deviation + epsilon) for a in row] for row in rows]


def token_weight(name: str, *, length: int, rows: int, tokens: int, max_new: int) -> float:
    """Of a token of a row with `length` trainable tokens; `rows` and `tokens` are the denominators of the step."""
    return {
        "reinforce": 1 / rows,
        "rloo": 1 / rows,
        "grpo": 1 / (rows * max(length, 1)),
        "r3": 1 / (rows * max(length, 1)),
        "r3-staged": 1 / (rows * max(length, 1)),
        "dr-grpo": 1 / (rows * max_new),
        "dapo": 1 / tokens,
        "sft": 1 / tokens,
        "spec-rl": 1 / tokens,
        "questa": 1 / tokens,
        "rlad": 1 / tokens,
        "rlad-hierarchical": 1 / tokens,
        "rlad-two": 1 / tokens,
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
    if name in WEIGHTS:
        assert ref is not None
        loss = loss + WEIGHTS[name] * k3(logp, ref) - 0.001 * more["entropy"]
    if name == "questa":
        behind = (anchor - more["mu"]).exp()
        loss = loss * torch.where(behind <= 5.0, behind, 0.0)
    return loss
