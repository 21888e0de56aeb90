"""Terms beside the policy's: differentiable per token, each with its own weight.

A term acts where its selector says, `over` = none everywhere. It is averaged like the policy's term, or with
`mean=own` over its own tokens of the whole optimiser step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from assay.errors import ConfigError
from assay.objective.gates import clip
from assay.objective.ratios import CLAMP, token_ratio
from assay.objective.regularised import OldKL, old_kl
from assay.objective.select import high_entropy
from assay.objective.term import Term
from assay.part import Registry
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


Estimator = Literal["k1", "k2", "k3", "k1+", "k3+", "weighted-k2", "weighted-k3", "distance"]
"""With d = log pi - log anchor and w = pi / pi_old, the value of an estimator and its slope by log pi:

    k1           d                      1                   the slope is 0 in the mean: no pull at all
    k2           d^2 / 2                d                   on policy the gradient of KL(policy, anchor)
    k3           exp(-d) - 1 + d        1 - exp(-d)         on policy the gradient of KL(anchor, policy); customary
    k1+, k3+     that of k1, k3         d
    weighted-k2  w d^2 / 2              w d                 the gradient of KL(policy, anchor), off policy too
    weighted-k3  w (exp(-d) - 1 + d)    w d                 the same, and its value is right as well
    distance     |d|                    sign d              KL-Cov's
"""


@dataclass(frozen=True)
class KL(Term):
    """KL to the reference, or to the policy before the step, in the loss, on tokens of the policy (2506.09477).

    The reference is the frozen one or what the recipe's model of that name is: one that follows the policy moves.
    """

    weight: float = 0.04
    estimator: Estimator = "weighted-k3"
    anchor: Literal["reference", "old"] = "reference"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"}) if self.weight and self.anchor == "reference" else frozenset()


def kl(view: View, *, weight: float, estimator: str, anchor: str) -> Tensor:
    """The table above; 0 on tokens that others wrote."""
    logp = view.logp.detach()
    d = logp - (view.streams["ref"] if anchor == "reference" else view.old)
    # bounded only where exp overflows: a policy that has left the reference is pulled all the same
    pull = -(-d).clamp(max=CLAMP).expm1()
    forms = {
        "k1": (d, d.new_ones(d.shape)),
        "k2": (d.square() / 2, d),
        "k3": (d - pull, pull),
        "distance": (d.abs(), d.sign()),
    }
    forms |= {"k1+": (d, d), "k3+": (d - pull, d)}
    if estimator.startswith("weighted-"):
        w = token_ratio(logp, view.old)
        forms |= {"weighted-k2": (w * d.square() / 2, w * d), "weighted-k3": (w * (d - pull), w * d)}
    if estimator not in forms:
        raise ConfigError(
            f"objective.regularise: estimator is one of {', '.join(get_args(Estimator))}, not '{estimator}'."
        )
    value, slope = forms[estimator]
    own = view.streams["origin"] == Origin.POLICY
    return weight * (own * (value + slope * (view.logp - logp)))


@dataclass(frozen=True)
class Entropy(Term):
    """Entropy bonus, over the full vocabulary."""

    weight: float = 0.001

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"}) if self.weight else frozenset()


def entropy(view: View, *, weight: float) -> Tensor:
    """- weight H."""
    assert view.entropy is not None
    return -weight * view.entropy


@dataclass(frozen=True)
class Likelihood(Term):
    """Likelihood beside the policy gradient: of demonstrations, of right answers, of whatever `over` selects."""

    weight: float = 1.0


def likelihood(view: View, *, weight: float) -> Tensor:
    """- weight log pi."""
    return -weight * view.logp


@dataclass(frozen=True)
class SquaredRatio(Term):
    """Half the squared log-ratio of the whole answer to the old policy, spread over its tokens (Kimi k1.5 2501.12599).

    With the aggregation `sequence-sum` it is the mean over answers of weight / 2 (log pi(y) / pi_old(y))^2.
    """

    weight: float = 0.1


def squared_ratio(view: View, *, weight: float) -> Tensor:
    """weight / 2 (sum_t log pi - log pi_old)^2 / T."""
    whole = view.sum(view.logp - view.old)
    return view.spread(weight / 2 * whole.square() / view.length.clamp(min=1))


@dataclass(frozen=True)
class ShareWithCandidates(Term):
    """At hesitant tokens of right answers a share of the push goes to the likeliest candidates (SimKO 2510.14807).

    What the ratio w~ = (1 - a) w + (a / K) sum_k sg[w / w_k] w_k adds to the gradient of w, whose value it has; w_k is
    the ratio of candidate k. The clip is that of the policy's term.
    """

    weight: float = 0.01  # a
    low: float = 0.2
    high: float = 0.2
    share: float = 0.2  # of the tokens of an answer that count as hesitant

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy", "top"})


def share_with_candidates(view: View, *, weight: float, low: float, high: float, share: float) -> Tensor:
    """- a A g(w) (mean_k log pi(k) - log pi), A g(w) without a graph."""
    assert view.top_logp is not None
    advantage = view.streams["advantage"]
    gate = clip(token_ratio(view.logp.detach(), view.old), advantage, low=low, high=high, dual=None)
    hesitant = high_entropy(view, share=share, by="row", side="high", ties=False)
    push = weight * advantage * gate * (hesitant & view.spread(view.right))
    return -push * (view.top_logp.mean(-1) - view.logp)


@dataclass(frozen=True)
class LikelihoodByEntropy(Term):
    """Likelihood of answers, the less sure the policy is of one the less (SRFT 2506.19767)."""

    weight: float = 0.5

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"})


def likelihood_by_entropy(view: View, *, weight: float) -> Tensor:
    """- weight exp(-h) log pi, h the mean entropy of the answer's tokens, without a gradient."""
    return -weight * view.spread(-view.mean_entropy).exp() * view.logp


TERMS: Registry = {
    "kl": (KL, kl),
    "entropy": (Entropy, entropy),
    "likelihood": (Likelihood, likelihood),
    "old-kl": (OldKL, old_kl),
    "squared-ratio": (SquaredRatio, squared_ratio),
    "share-with-candidates": (ShareWithCandidates, share_with_candidates),
    "likelihood-by-entropy": (LikelihoodByEntropy, likelihood_by_entropy),
}
