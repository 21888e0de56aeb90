"""Terms beside the policy's: differentiable per token, each with its own weight.

A term acts where its selector says, `over` = none everywhere. It is averaged like the policy's term, or with
`mean=own` over its own tokens of the whole optimiser step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from assay.errors import ConfigError
from assay.objective.ratios import CLAMP, token_ratio
from assay.part import Term
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
    distance     |d|                    sign d              KL-Cov's; 0 of what the weights have just written
"""


def kl(view: View, *, weight: float, estimator: str, anchor: str) -> Tensor:
    """The table above; 0 on tokens that others wrote. Before the first update of a step the difference from the policy
    before it is rounding, whose sign is no slope.
    """
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
    if estimator == "distance" and anchor == "old":
        slope = slope * ~view.still
    own = view.streams["origin"] == Origin.POLICY
    return weight * (own * (value + slope * (view.logp - logp)))


@dataclass(frozen=True)
class KL(Term):
    """KL to the reference, or to the policy before the step, in the loss, on tokens of the policy (2506.09477).

    The reference is the frozen one or what the recipe's model of that name is: one that follows the policy moves.
    """

    weight: float = 0.04  # of the term in the loss
    estimator: Estimator = "weighted-k3"  # of the divergence; assay/objective/terms.py has the table
    anchor: Literal["reference", "old"] = "reference"  # what the divergence is from
    does = kl

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"}) if self.weight and self.anchor == "reference" else frozenset()


def entropy(view: View, *, weight: float) -> Tensor:
    """- weight H."""
    assert view.entropy is not None
    return -weight * view.entropy


@dataclass(frozen=True)
class Entropy(Term):
    """Entropy bonus, over the full vocabulary."""

    weight: float = 0.001
    does = entropy

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy"}) if self.weight else frozenset()


def likelihood(view: View, *, weight: float) -> Tensor:
    """- weight log pi."""
    return -weight * view.logp


@dataclass(frozen=True)
class Likelihood(Term):
    """Likelihood beside the policy gradient: of demonstrations, of right answers, of whatever `over` selects."""

    weight: float = 1.0
    does = likelihood
