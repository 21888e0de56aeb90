"""The policy's certainty of its own answer, as a reward: one formula; most such rewards are a row of its table.

    r(x, y) = psi( sigma / |I| sum_{i in I} H(q_i, pi_i) ),    H(q, pi) = - sum_v q(v) log pi(v)

The anchor q, the sign sigma and the function psi are the columns of `FORMS`. I are tokens of the answer, or the answer
as a whole. No gradient goes through a reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.models import Models
from assay.part import Rewarding
from assay.reward.composed import whole
from assay.types import Episode, Origin, Reward
from assay.verifiers.answer_tokens import Decoding, answer_tokens
from assay.verifiers.elections import answer_of

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Anchor:
    """The distribution q of a cross-entropy: which number of the engine gives H(q, pi) at a token, and how.

    Anchor({"mean_logp": True}, "mean_logp", np.negative)
    """

    want: Mapping[str, Any]  # what the engine is asked for beside the log-prob of the token (`Want`)
    reads: str  # the output of the engine
    cross: Callable[[np.ndarray], np.ndarray]  # this output at each token -> H(q, pi) at each token


def gap(likeliest: np.ndarray) -> np.ndarray:
    """pi(first) - pi(second) of the two likeliest tokens, from their log-probs [T, 2]."""
    return np.exp(likeliest[:, 0]) - np.exp(likeliest[:, 1])


ANCHORS: Mapping[str, Anchor] = {
    "uniform": Anchor({"mean_logp": True}, "mean_logp", np.negative),  # q(v) = 1 / V
    "sampled": Anchor({}, "logp", np.negative),  # q = 1 at the token that was sampled
    "policy": Anchor({"entropy": True}, "entropy", np.asarray),  # q = pi
    "gap": Anchor({"likeliest": 2}, "likeliest_logp", gap),  # no cross-entropy, but a number of each token like one
}

PSI: Mapping[str, Callable[[float, int, int], float]] = {
    "mean": lambda z, count, vocab: z,
    "sum": lambda z, count, vocab: count * z,
    "above-uniform": lambda z, count, vocab: z - math.log(vocab),
    "probability": lambda z, count, vocab: math.exp(count * z),
}
"""psi(z, |I|, V), with V the size of the vocabulary."""


@dataclass(frozen=True)
class Form:
    """A row of the table: `Form("policy", -1, "mean")` is the negative mean entropy."""

    anchor: str  # of `ANCHORS`; "answers": q = 1 at the sampled answer, pi = the shares of answers in its group
    sign: Literal[1, -1]  # sigma
    psi: str  # of `PSI`


FORMS: Mapping[str, Form] = {
    "self-certainty": Form("uniform", 1, "above-uniform"),  # KL(U, pi): RLIF 2505.19590
    "trajectory": Form("sampled", -1, "sum"),  # log pi(y): EM-RL 2505.15134
    "likelihood": Form("sampled", -1, "mean"),  # the same per token
    "token-entropy": Form("policy", -1, "sum"),  # EM-RL 2505.15134
    "mean-entropy": Form("policy", -1, "mean"),  # RENT 2505.22660
    "probability": Form("sampled", -1, "probability"),  # pi(y): RLSC 2506.06395
    "gap": Form("gap", 1, "mean"),  # RLSF 2507.21931; outside the formula, in which q is one distribution
    "cluster": Form("answers", -1, "probability"),  # EMPO 2504.05812, its paper
    "log-cluster": Form("answers", -1, "mean"),  # EMPO, its code
}


def certainty(cross: np.ndarray, form: Form, *, vocab: int) -> float:
    """psi(sigma / |I| sum_i H(q_i, pi_i)), given the cross-entropies H of the |I| > 0 places."""
    count = len(cross)
    return PSI[form.psi](form.sign * math.fsum(cross.tolist()) / count, count, vocab)


def crosses(episodes: Sequence[Episode], anchor: Anchor, *, models: Models, micro_tokens: int) -> list[np.ndarray]:
    """H(q, pi) at each token of each answer, in the context and at the temperature that it was sampled in, under the
    current weights of those who wrote it. Equal answers are computed once, so that their numbers are equal bits.
    """
    from assay.engine.interface import Want
    from assay.engine.spans import distinct, forwarded, joined, paths_of

    result = [np.zeros(0) for _ in episodes]
    for role in dict.fromkeys(episode.request.role for episode in episodes):
        mine = [i for i, episode in enumerate(episodes) if episode.request.role == role and len(episode)]
        paths, counts = paths_of([episodes[i] for i in mine], sampled=True)
        spans, of = distinct(paths)
        made = forwarded(models.play(role), spans, Want(**anchor.want), anchor.reads, tokens=micro_tokens)
        for i, outputs in zip(mine, joined([made[span][0] for span in of], counts), strict=True):
            result[i] = anchor.cross(outputs.astype(np.float64))
    return result


def certain(
    episodes: Sequence[Episode],
    *,
    models: Models,
    codec: Decoding,
    micro_tokens: int,
    form: str,
    over: str,
    unread: float | None,
) -> list[Reward | None]:
    """The reward `FORMS[form]` over the tokens that the policy wrote, or over those of them that are the answer."""
    row, rewards = FORMS[form], []
    cross_entropies = crosses(episodes, ANCHORS[row.anchor], models=models, micro_tokens=micro_tokens)
    for episode, cross in zip(episodes, cross_entropies, strict=True):
        if unread is not None and answer_of(episode) is None:
            rewards.append(Reward("certainty", unread))
            continue
        places = (episode.stream("origin") == Origin.POLICY) & _chosen(episode, over, codec)
        vocab = models.play(episode.request.role).vocab
        rewards.append(whole("certainty", certainty(cross[places], row, vocab=vocab)) if places.any() else None)
    return rewards


def _chosen(episode: Episode, over: str, codec: Decoding) -> np.ndarray:
    """bool[T]: all tokens of an answer, or those of its final answer; none if it has no final answer."""
    if over == "all":
        return np.ones(len(episode), bool)
    chosen = np.zeros(len(episode), bool)
    found = answer_tokens(episode.stream("ids").tolist(), episode.request.problem.wording, codec)
    if found is not None:
        chosen[slice(*found)] = True
    return chosen


class Certainty(Rewarding):
    """How sure the policy is of what it wrote, by the numbers of its own softmax; nobody verifies the answer.

    The forms (`assay/reward/certainty.py` has their formula): self-certainty KL(U, pi), the log-prob of the answer
    (trajectory: sum, likelihood: mean), its negative entropies (token-entropy: sum, mean-entropy: mean), its
    probability, or the gap between the two likeliest tokens. It takes a forward pass of the policy over the answers,
    anew in each round of a step.

        reward=(Certainty(form="mean-entropy"),)
        --mechanism.reward certainty --mechanism.reward.0.form mean-entropy
    """

    form: Literal[
        "self-certainty", "trajectory", "likelihood", "token-entropy", "mean-entropy", "probability", "gap"
    ] = "self-certainty"
    over: Literal["all", "answer"] = "all"  # the tokens: all that the policy wrote, or those of the final answer
    unread: float | None = None  # the reward of a response that was cut or has no final answer; None: as any other
    does = certain
    outcome = True
