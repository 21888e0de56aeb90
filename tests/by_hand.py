"""What each recipe's paper says of a few rows, worked out without the library: advantages, token weights, gates, KL.

Every entry is written as its source writes it: PPO-like losses as the larger of the clipped and the unclipped term, to
be differentiated through the ratio, where the library uses gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import by_hand_shaping as shaping
import by_hand_trust as trust
import by_hand_unlabelled as unlabelled
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
    "rlad-joint": (0.2, 0.5, None),
    "r3": (0.2, 0.2, None),
    "rlsp": (0.2, 0.2, None),
    "r3-staged": (0.2, 0.2, None),
    "ppo": (0.2, 0.2, 3.0),
    "orz": (0.2, 0.2, None),
    "rfpp": (0.2, 0.2, None),
    **dict.fromkeys(("codev-r1", "deepmath"), (0.2, 0.28, None)),
    "sirl": (0.2, 0.3, None),
    "sirl-vote": (0.2, 0.3, None),
    "sql-rlvr": (0.2, 0.2, None),
    "enigmata": (0.2, 0.2, None),
    "enigmata-staged": (0.2, 0.2, None),
    "rstar-coder": (0.2, 0.2, None),
    "rfpp-baseline": (0.2, 0.2, None),
    "prime": (0.2, 0.2, None),
    "liteppo": (0.2, 0.2, None),
    "vapo": (0.2, 0.28, None),
    "vine-ppo": (0.2, 0.2, None),
    "spo-tree": (0.2, 0.2, None),
    "treepo": (0.2, 0.28, 10.0),
    **dict.fromkeys(("rl-v", "rlmt", "dense-step-model", "rl-tango", "remix", "x1"), (0.2, 0.2, None)),
}
REFINED = ("rgr-grpo", "rgr-grpo-printed", "rgr-grpo-worked")
ENIGMATA = ("enigmata", "enigmata-staged")
DIVERGENCES = ("rpg-fkl", "rpg-ufkl", "rpg-rkl", "rpg-urkl")
CLIPS |= dict.fromkeys(DIVERGENCES, (0.2, 0.28, 10.0))
CLIPS |= shaping.CLIPS | unlabelled.CLIPS
# on rows that share nothing, a method that is another
LIKE = {"cure": "dapo", **shaping.LIKE, **unlabelled.LIKE}
LIKE |= {"dapo-ds": "grpo", "prime-filter": "prime", "heimdall": "ppo", "shape-rm": "rew-qwen"}
LIKE |= {"cft-1": "sft", "rstar-math": "sft"}
# on rows that nothing continues and of a task whose steps are not judged
LIKE |= {
    "math-shepherd": "ppo",
    "clip-delta": "ppo",
    "tp-grpo": "grpo",
    "sgpo": "grpo",
    "rest-rl": "grpo",
    "spo-chain": "vine-ppo",
}
RECIPE_NAMES = (
    "reinforce",
    "rloo",
    "grpo",
    "dr-grpo",
    "dapo",
    "deepmath",
    "sft",
    "treerl",
    "deepsearch",
    "spo-tree",
    "treepo",
    "arpo",
    "rstar2",
    "rorecomp",
    "azr",
    "ppo",
    "orz",
    "rfpp",
    "rfpp-baseline",
    "prime",
    "liteppo",
    "opo",
    "gpg",
    *LIKE,
)  # their coefficients are also written out in test_objective.py


def baseline(name: str, *, group: str, role: str, task: str) -> str:
    """With whom an answer is compared."""
    return f"{role}/{task}" if name == "azr" else group


def advantages(
    name: str,
    rewards: Sequence[float],
    *,
    lengths: Sequence[int] = (),
    selected: Sequence[bool] = (),
    step: Sequence[Sequence[float]] = (),
) -> list[float]:
    """Of the answers that are compared with one another, which share no tokens; of these lengths, these trained.

    `step` is all rewards of the step, group by group.
    """
    if name == "prime":
        return [5 * a for a in advantages("rloo", rewards)]
    name = {**LIKE, "prime-filter": "rloo"}.get(name, name)
    if name in shaping.NAMES:
        return shaping.advantages(name, rewards)
    if name in ENIGMATA:
        return list(rewards)
    if name in unlabelled.ENTROPY:
        return [0.0] * len(rewards)
    if name in (
        "reinforce",
        "questa",
        "r3",
        "r3-staged",
        "rlsp",
        "ppo",
        "orz",
        "rfpp",
        "vapo",
        "vine-ppo",
        "topr",
        "sirl",
        "sirl-vote",
    ):
        return list(rewards)
    if name == "remax":  # the last is the greedy one
        return [r - rewards[-1] for r in rewards]
    if name in ("sft", "dft", "ift", "expert-iteration", "rcrl"):
        return [1.0] * len(rewards)
    if name == "erpo" and min(rewards) > 0:  # all right: one failure more, which is worth -1
        others = [*rewards, -1.0]
        return [(r - mean(others)) / (stdev(others) + 1e-6) for r in rewards]
    if len(set(rewards)) == 1:
        return [0.0] * len(rewards)
    if name in ("rloo", "dense-step-model"):  # on rows without rewards of steps
        total, count = sum(rewards), len(rewards)
        return [r - (total - r) / (count - 1) for r in rewards]
    if name == "opo":
        middle = sum(n * r for n, r in zip(lengths, rewards, strict=True)) / sum(lengths)
        return [r - middle for r in rewards]
    if name == "treerl":  # every leaf a piece of its own below the root: 2 V - V(root)
        count = len(rewards)
        others = [r - (sum(rewards) - r) / (count - 1) for r in rewards]
        middle = sum(c * n for c, n in zip(others, lengths, strict=True)) / sum(lengths)
        return [2 * (c - middle) + middle / max(1, sum(selected)) ** 0.5 for c in others]
    scales: dict[str, float] = dict.fromkeys(("dr-grpo", "seele", "ampo", "deepsearch"), 1.0)
    scales |= dict.fromkeys(trust.UNSCALED, 1.0)
    scales |= dict.fromkeys((*DIVERGENCES, "spo-tree", "treepo"), 1.0)
    scales["rl-tango"] = 2 * (stdev(rewards) + 1e-6)  # no steps here, whose share at the start is a half
    scales["azr"] = (stdev(rewards) ** 2 + 1e-8) ** 0.5
    scales["rfpp-baseline"] = scales["k2-critic"] = scales["x1"] = 1.0
    if name == "liteppo":
        scales[name] = stdev([r for group in step for r in group]) + 1e-6
    if name == "gpg":
        scales[name] = sum(len(g) for g in step if len(set(g)) > 1) / sum(len(g) for g in step)
    scale = scales.get(name, stdev(rewards) + 1e-6)
    return [(r - mean(rewards)) / scale for r in rewards]


RLADS = ("rlad", "rlad-hierarchical", "rlad-two", "rlad-joint")
WEIGHTS = {"spec-rl": 1e-4, "rlmt": 0.001, **dict.fromkeys(RLADS, 0.001)}  # of KL beside entropy
WHITENED = {"questa": (0, 1e-5), "r3": (1, 1e-8), "r3-staged": (1, 1e-8), "ppo": (1, 1e-8)}  # ddof and epsilon
WHITENED |= {"orz": (0, 1e-8), "rfpp": (0, 1e-8), "rfpp-baseline": (0, 1e-8), "prime": (1, 1e-8), "vapo": (1, 1e-8)}
WHITENED |= {"prime-filter": (1, 1e-8), "rlsp": (1, 1e-8)}
WHITENED |= dict.fromkeys(
    ("treepo", "vine-ppo", "spo-chain", "spo-tree", "math-shepherd", "clip-delta", "heimdall"), (1, 1e-8)
)

WHITENED |= dict.fromkeys(("sirl", "sirl-vote"), (0, 1e-8))
WHITENED |= dict.fromkeys(ENIGMATA, (1, 1e-8)) | dict.fromkeys(("covo", "serl"), WHITENED["rfpp"])


def spread(name: str, advantage: float, length: int) -> list[float]:
    """Over the tokens of a row that the policy wrote; with lambda = 0.95 and no critic the early ones get less."""
    if name in ("r3", "r3-staged", "rlsp", *ENIGMATA):
        return [advantage * 0.95 ** (length - 1 - t) for t in range(length)]
    if name == "vapo":  # 1 / (1 - lambda) is 0.05 * 20480 tokens at the limit of 8, and less in proportion
        keep = 1 - 1 / (0.05 * 20480 / 8 * length) if length else 0.0
        return [advantage * keep ** (length - 1 - t) for t in range(length)]
    return [advantage] * length


def shaped(name: str, rows: Sequence[Sequence[float]]) -> list[list[float]]:
    """The advantages of the tokens of all rows together."""
    if name in ("gdpo", "spo"):
        return shaping.shaped(name, rows)
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
        "rlsp": 1 / (rows * max(length, 1)),
        **dict.fromkeys(("rl-v", "rl-tango"), 1 / (rows * max(length, 1))),
        "k2-critic": 1 / rows,
        **dict.fromkeys(("rlmt", "dense-step-model", "remix", "x1", *REFINED), 1 / tokens),
        "r3-staged": 1 / (rows * max(length, 1)),
        "dr-grpo": 1 / (rows * max_new),
        "dapo": 1 / tokens,
        **dict.fromkeys(("codev-r1", "deepmath", "wemath2"), 1 / tokens),
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
        **dict.fromkeys(DIVERGENCES, 1 / tokens),
        "ppo": 1 / tokens,
        "vapo": 1 / tokens,
        "vine-ppo": 1 / tokens,
        "spo-tree": 1 / tokens,
        "treepo": 1 / tokens,
        "orz": 1 / tokens,
        "remax": 1 / rows,
        "rfpp": 1 / tokens,
        **dict.fromkeys(("sirl", "sirl-vote", "sql-rlvr", "rstar-coder", *ENIGMATA), 1 / tokens),
        "rfpp-baseline": 1 / tokens,
        "prime": 1 / tokens,
        "liteppo": 1 / tokens,
        "opo": 1 / tokens,
        "gpg": 1 / tokens,
        **dict.fromkeys((*shaping.CLIPS, *shaping.DUAL), 1 / tokens),
        **dict.fromkeys((*shaping.GENTLE, *shaping.PLAIN_MEANS), 1 / (rows * max(length, 1))),
        **dict.fromkeys(RLADS, 1 / tokens),
        **dict.fromkeys(unlabelled.ENTROPY, 1 / rows),
        **dict.fromkeys(unlabelled.BY_TOKENS, 1 / tokens),
        **dict.fromkeys((*unlabelled.PLAIN_MEANS, *unlabelled.CROSSED), 1 / (rows * max(length, 1))),
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
    liked: float = 0.0  # where the answer is right, one over the tokens of all right ones, in tokens of the step
    right: bool = False
    trained: Tensor | None = None
    top: Tensor | None = None  # [T, K] log-probs of the stored candidates
    rescale: float = 1.0  # tokens of the step, in units of those that a term is averaged over


def token_losses(name: str, logp: Tensor, known: Tokens) -> Tensor:
    """The loss of each token, whose gradient is what counts."""
    name = LIKE.get(name, name)
    if name in shaping.DUAL:
        return shaping.dual_loss(name, logp, known, surrogate)
    advantage, ratio = known.advantage, (logp - known.old).exp()
    if name in unlabelled.ENTROPY:
        return known.entropy
    if name == "k2-critic":  # the square is of the whole answer: an even part of it for each token
        apart = (logp - known.old)[known.trained]
        return -advantage * logp + 0.1 * apart.sum().square() / 2 / len(apart)
    if name in REFINED:  # no row here is a refinement, and nothing is clipped
        return -advantage * ratio
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
    loss = loss + (shaping.REFERENCE | unlabelled.REFERENCE | unlabelled.CROSSED).get(name, 0.0) * k3(logp, known.ref)
    loss = loss - shaping.HESITATION.get(name, 0.0) * known.entropy
    if name in WEIGHTS:
        loss = loss + WEIGHTS[name] * k3(logp, known.ref) - 0.001 * known.entropy
    if name in DIVERGENCES:
        log = logp - known.old
        terms = (-log, ratio - log - 1, ratio * log, ratio * log - ratio)
        loss = loss + 1e-4 * terms[DIVERGENCES.index(name)]
    if name == "rl-v" and not known.hinted:  # rows with a tag have no KL
        loss = loss + 0.04 * k3(logp, known.ref)
    if name == "dense-step-model":
        loss = loss + 0.001 * k3(logp, known.ref)
    if name in ("rl-tango", "remix"):  # weighted by the ratio, which the gradient goes through too
        loss = loss + 0.001 * ratio * k3(logp, known.ref)
    if name == "x1":
        loss = loss + 0.01 * k3(logp, known.ref)
    if name == "vapo":
        loss = loss - 0.1 * known.liked * logp
    if name in ("vine-ppo", "spo-tree"):
        loss = loss + 1e-4 * k3(logp, known.ref)
    if name == "rfpp-baseline":
        loss = loss + 1e-5 * (known.ref - logp).square() / 2
    if name == "prime":
        loss = loss - 0.001 * known.entropy
    if name == "questa":
        behind = (known.old - known.mu).exp()
        loss = loss * torch.where(behind <= 5.0, behind, 0.0)
    return loss
