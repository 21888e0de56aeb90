"""What the papers of advantage shaping and of lengths say of a few rows, worked out without the library."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from statistics import mean, pstdev, stdev
from typing import Any

import numpy as np
import torch
from torch import Tensor

PLAIN = (0.2, 0.2, None)
CLIPS = dict.fromkeys(("passk", "psr", "nsr", "w-reinforce", "otb", "maxrl", "gdpo", "l1-exact", "l1-max"), PLAIN)
CLIPS |= dict.fromkeys(("len-kimi", "rew-qwen"), PLAIN) | {"ngrpo": (0.16, 0.24, None), "rl-zvp": (0.2, 0.28, None)}
CLIPS |= dict.fromkeys(("gfpo", "gfpo-efficiency", "gfpo-adaptive"), (0.2, 0.2, 10.0)) | {"spo": (0.2, 0.28, 10.0)}
CLIPS |= dict.fromkeys(
    ("temp-entropy", "temp-schedule", "acereason", "deepscaler-len", "self", "nurl", "meml-grpo", "synthrl"), PLAIN
)
CLIPS |= {"drive": (0.2, 0.28, None), "attnrl": (0.2, 0.28, None)}
CLIPS |= dict.fromkeys(("clpo", "clpo-rewriter", "j1", "j1-pointwise", "cloud"), PLAIN)
LIKE = dict.fromkeys(("len-dapo", "len-stop", "rlep"), "dapo")
LIKE |= dict.fromkeys(
    (
        "judge-prompts",
        "judge-single",
        "spec-verifier",
        "rubric-reward",
        "rubric-whole",
    ),
    "grpo",
)
LIKE |= dict.fromkeys(("vr-rule", "vr-gate"), "grpo") | dict.fromkeys(("rubric-anchors", "rubric-anchors-role"), "arpo")
GENTLE = ("rew-qwen", "logic-rl", "verif")  # a KL of 0.001
PLAIN_MEANS = (
    "toolrl",
    "toolrl-exact",
    "swe-rl",
    "g2rpo-a",
    "continual",
    "sws",
    "sws-uniform",
)  # a mean over each answer, without a KL
CLIPS |= dict.fromkeys((*GENTLE, *PLAIN_MEANS), PLAIN) | {"wemath2": (0.2, 0.3, 3.0)}
DUAL = ("simko", "archer")  # tokens go by how much the policy hesitates
NAMES = (*CLIPS, *DUAL, *LIKE)
REFERENCE: dict[str, float] = dict.fromkeys(("l1-exact", "l1-max", *GENTLE), 0.001)  # weight of k3
REFERENCE |= dict.fromkeys(("deepscaler-len", "clpo", "clpo-rewriter", "attnrl", "j1", "j1-pointwise", "cloud"), 0.001)
REFERENCE |= {"wemath2": 0.01}
HESITATION: dict[str, float] = dict.fromkeys(
    ("gfpo", "gfpo-efficiency", "gfpo-adaptive", "deepscaler-len"), 0.001
)  # weight of the entropy
TOKENS = ("rl-zvp", "otb")  # advantages of their own at each token


def advantages(name: str, rewards: Sequence[float]) -> list[float]:
    """Of the answers of a group; those above 0 are right."""
    right = [r > 0 for r in rewards]
    if name in ("psr", "nsr", "w-reinforce"):
        return [(0.1 if name == "w-reinforce" else 1.0) if r else -1.0 for r in right]
    if name == "spo":  # a new problem, half of whose answers are right for all that is known
        return [r - 0.5 for r in right]
    if name == "ngrpo":
        more = [*rewards, 1.0]
        return [(r - mean(more)) / (stdev(more) + 1e-6) if len(set(more)) > 1 else 0.0 for r in rewards]
    if name == "passk":
        return pass_at(2, right)
    if len(set(rewards)) == 1:
        return [0.0] * len(rewards)
    if name == "attnrl":  # every leaf a piece of its own below the root
        return [2 * (r - mean(rewards)) for r in rewards]
    if name == "maxrl":
        return [(r - mean(rewards)) / mean(rewards) for r in rewards]
    scale = {"len-kimi": 1.0, "g2rpo-a": stdev(rewards) + 1e-4}.get(
        name, (pstdev if name.startswith(("gfpo", "wemath2")) else stdev)(rewards) + 1e-6
    )
    return [(r - mean(rewards)) / scale for r in rewards]


def pass_at(k: int, right: Sequence[bool]) -> list[float]:
    """Over all sets of k answers: the mean, over those with answer i, of (best - mean of best) / deviation of best."""
    sets = list(itertools.combinations(range(len(right)), k))
    best = [float(any(right[i] for i in chosen)) for chosen in sets]
    value = [(b - mean(best)) / (pstdev(best) + 1e-6) for b in best]
    return [mean(v for v, chosen in zip(value, sets, strict=True) if i in chosen) for i in range(len(right))]


def tokens(
    name: str, rewards: Sequence[float], entropy: Sequence[Sequence[float]], energy: Sequence[Sequence[float]]
) -> list[list[float]]:
    """Of the policy's own tokens of each answer of a group."""
    if name == "rl-zvp":
        if len(set(rewards)) > 1:
            return [[a] * len(h) for a, h in zip(advantages("grpo", rewards), entropy, strict=True)]
        if rewards[0] > 0:
            return [[0.1 * x for x in h] for h in entropy]
        return [[-0.1 * (max(h) - x) for x in h] for h in entropy]
    result = []
    for reward, own in zip(rewards, energy, strict=True):
        result.append([0.0] * len(own))
        for t in range(len(own)):
            weight = [sum(e[: t + 1]) if len(e) > t else 0.0 for e in energy]
            base = sum(w * r for w, r in zip(weight, rewards, strict=True)) / (sum(weight) + 1e-8)
            result[-1][t] = reward - base if len(set(rewards)) > 1 else 0.0
    return result


def dual_loss(name: str, logp: Tensor, known: Any, surrogate: Callable[..., Tensor]) -> Tensor:
    """Of the tokens of a row, `known` of what its own tokens are and how sure the policy was of each."""
    hesitates = torch.zeros(len(logp), dtype=torch.bool)
    own = ~known.given & known.trained
    if own.any():
        edge = float(np.quantile(known.entropy.detach().numpy()[own.numpy()], 0.8))
        hesitates = own & (known.entropy.detach() > edge)
    ratio = (logp - known.old).exp()
    if name == "archer":
        wide, tight = (surrogate(ratio, known.advantage, e, e, 10.0) for e in (0.5, 0.2))
        apart = known.ref - logp
        divergence = (apart.exp() - apart - 1) * 0.001 * known.rescale
        return torch.where(hesitates, wide, tight + divergence)
    if known.right:
        shared = 0.99 * ratio
        for k in range(known.top.shape[1]):
            own_ratio = (known.top[:, k] - known.top[:, k].detach() + 1.0).log().exp()  # gradient of log pi(k), value 1
            shared = shared + 0.01 / known.top.shape[1] * ratio.detach() * own_ratio
        ratio = torch.where(hesitates, shared, ratio)
        return surrogate(ratio, known.advantage, 0.2, 0.2, None)
    likeliest = logp.detach() >= known.top.detach().max(-1).values
    harder = torch.where(hesitates & likeliest, 1.1, 1.0)
    return surrogate(ratio, harder * known.advantage, 0.2, 0.2, None)


def shaped(name: str, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The advantages of the tokens of all rows together."""
    every = [a for row in rows for a in (row[:1] if name == "spo" else row)]
    return [[(a - mean(every)) / (stdev(every) + 1e-8) for a in row] for row in rows]
