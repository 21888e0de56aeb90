"""What each recipe's paper says of a few rows, worked out without the library: advantages, token weights, gates, KL.

Every entry is written as its source writes it: PPO-like losses as the larger of the clipped and the unclipped term, to
be differentiated through the ratio, where the library uses gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import torch
from torch import Tensor

CLIPS = {
    "grpo": (0.2, 0.2, None),
    "dr-grpo": (0.2, 0.2, None),
    "dapo": (0.2, 0.28, 10.0),
    "rlve": (0.2, 0.28, None),
    "erpo": (0.2, 0.28, 10.0),
    "guide": (0.2, 0.2, None),
    "seele": (0.2, 0.2, None),
    "ampo": (0.2, 0.2, 10.0),
    "treerl": (0.2, 0.26, None),
    "deepsearch": (0.2, 0.28, 10.0),
    "arpo": (0.2, 0.2, None),
    "rstar2": (0.2, 0.28, None),
    "rorecomp": (0.2, 0.2, None),
    "azr": (0.2, 0.2, None),
    "spec-rl": (0.2, 0.2, 3.0),
    "questa": (0.2, 0.2, None),
    "rlad": (0.2, 0.5, None),
    "rlad-hierarchical": (0.2, 0.5, None),
    "rlad-two": (0.2, 0.5, None),
    "r3": (0.2, 0.2, None),
    "r3-staged": (0.2, 0.2, None),
}
DIVERGENCES = ("rpg-fkl", "rpg-ufkl", "rpg-rkl", "rpg-urkl")
CLIPS |= dict.fromkeys(DIVERGENCES, (0.2, 0.28, 10.0))
LIKE = {"cure": "dapo"}  # on rows that share nothing, a method that is another
RECIPE_NAMES = (
    "reinforce",
    "rloo",
    "grpo",
    "dr-grpo",
    "dapo",
    "sft",
    "treerl",
    "deepsearch",
    "arpo",
    "rstar2",
    "rorecomp",
    "azr",
    *LIKE,
)  # their coefficients are also written out in test_objective.py


def baseline(name: str, *, group: str, role: str, task: str) -> str:
    """With whom an answer is compared."""
    return f"{role}/{task}" if name == "azr" else group


def advantages(
    name: str, rewards: Sequence[float], *, lengths: Sequence[int] = (), selected: Sequence[bool] = ()
) -> list[float]:
    """Of the answers that are compared with one another, which share no tokens; of these lengths, these trained."""
    name = LIKE.get(name, name)
    if name in ("reinforce", "questa", "r3", "r3-staged"):
        return list(rewards)
    if name == "sft":
        return [1.0] * len(rewards)
    if name == "erpo" and min(rewards) > 0:  # all right: one failure more, which is worth -1
        others = [*rewards, -1.0]
        return [(r - mean(others)) / (stdev(others) + 1e-6) for r in rewards]
    if len(set(rewards)) == 1:
        return [0.0] * len(rewards)
    if name == "rloo":
        total, count = sum(rewards), len(rewards)
        return [r - (total - r) / (count - 1) for r in rewards]
    if name == "treerl":  # every leaf a piece of its own below the root: 2 V - V(root)
        count = len(rewards)
        others = [r - (sum(rewards) - r) / (count - 1) for r in rewards]
        middle = sum(c * n for c, n in zip(others, lengths, strict=True)) / sum(lengths)
        return [2 * (c - middle) + middle / max(1, sum(selected)) ** 0.5 for c in others]
    scales = dict.fromkeys(("dr-grpo", "seele", "ampo", "deepsearch"), 1.0)
    scales |= dict.fromkeys(DIVERGENCES, 1.0)
    scales["azr"] = (stdev(rewards) ** 2 + 1e-8) ** 0.5
    scale = scales.get(name, stdev(rewards) + 1e-6)
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
        "deepsearch": 1 / tokens,
        "treerl": 1 / (rows * max(length, 1)),
        "sft": 1 / tokens,
        "rlve": 1 / (rows * max(length, 1)),
        "erpo": 1 / tokens,
        "guide": 1 / tokens,
        "seele": 1 / (rows * max_new),
        "ampo": 1 / (rows * max_new),
        "arpo": 1 / tokens,
        "rstar2": 1 / tokens,
        "rorecomp": 1 / tokens,
        "azr": 1 / tokens,
        "spec-rl": 1 / tokens,
        "questa": 1 / tokens,
        "rlad": 1 / tokens,
        "rlad-hierarchical": 1 / tokens,
        "rlad-two": 1 / tokens,
        **dict.fromkeys(DIVERGENCES, 1 / tokens),
    }[LIKE.get(name, name)]


def surrogate(ratio: Tensor, advantage: Tensor, low: float, high: float, dual: float | None) -> Tensor:
    """max(-w A, -clip(w, 1 - low, 1 + high) A), and where A < 0 at most -dual A."""
    loss = torch.maximum(-ratio * advantage, -ratio.clamp(1 - low, 1 + high) * advantage)
    if dual is not None:
        loss = torch.where(advantage < 0, torch.minimum(loss, -dual * advantage), loss)
    return loss


def k3(logp: Tensor, ref: Tensor) -> Tensor:
    """The estimator of KL that is never negative."""
    return (ref - logp).exp() - (ref - logp) - 1


@dataclass(frozen=True)
class Tokens:
    """What is known of the tokens of a row beside their log-probs."""

    advantage: Tensor
    old: Tensor
    ref: Tensor
    given: Tensor  # others wrote them
    entropy: Tensor
    mu: Tensor  # what the sampler said
    hinted: bool = False  # the row was sampled with a hint that it is not trained with
    gamma: float = 1.0


def token_losses(name: str, logp: Tensor, known: Tokens) -> Tensor:
    """The loss of each token, whose gradient is what counts."""
    name = LIKE.get(name, name)
    advantage, ratio = known.advantage, (logp - known.old).exp()
    if name not in CLIPS:
        return -advantage * logp
    loss = surrogate(ratio, advantage, *CLIPS[name])
    if name == "guide" and known.hinted:
        return -advantage * ratio / (ratio + known.gamma)
    if name == "seele":
        apart = known.ref - logp
        return torch.where(known.given, -0.001 * logp, loss + 0.001 * (apart.exp() - apart - 1))
    if name == "ampo":
        probability = logp.exp()
        others = -advantage * probability / (probability + 0.1)
        return torch.where(known.given, others, loss) - 0.001 * known.entropy
    if name == "grpo":
        loss = loss + 0.04 * k3(logp, known.ref)
    if name in WEIGHTS:
        loss = loss + WEIGHTS[name] * k3(logp, known.ref) - 0.001 * known.entropy
    if name in DIVERGENCES:
        log = logp - known.old
        terms = (-log, ratio - log - 1, ratio * log, ratio * log - ratio)
        loss = loss + 1e-4 * terms[DIVERGENCES.index(name)]
    if name == "questa":
        behind = (known.old - known.mu).exp()
        loss = loss * torch.where(behind <= 5.0, behind, 0.0)
    return loss
