"""Terms beside the policy's: differentiable per token, each with its own weight.

A term acts where its selector says, `over` = none everywhere. It is averaged like the policy's term, or with
`mean=own` over its own tokens of the whole optimiser step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.errors import ConfigError
from assay.objective.regularised import OldKL, old_kl
from assay.objective.term import Term
from assay.part import Registry
from assay.types import Origin

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


@dataclass(frozen=True)
class KL(Term):
    """KL to the frozen reference, in the loss, on tokens of the policy. k3 is GRPO's estimator; k2's gradient is the
    right one on policy.
    """

    weight: float = 0.04
    estimator: Literal["k2", "k3"] = "k3"

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"ref"}) if self.weight else frozenset()


def kl(view: View, *, weight: float, estimator: str) -> Tensor:
    """With d = log ref - log pi:  k2 = d^2 / 2,  k3 = exp(d) - d - 1;  0 on tokens that others wrote."""
    difference = (view.streams["ref"] - view.logp) * (view.streams["origin"] == Origin.POLICY)
    if estimator == "k2":
        return weight * difference.square() / 2
    if estimator == "k3":
        # bounded only where exp overflows: far below, where the policy has left the reference, the pull must stay
        difference = difference.clamp(max=20.0)
        return weight * (difference.exp() - difference - 1)
    raise ConfigError(f"objective.regularise: estimator is 'k2' or 'k3', not '{estimator}'.")


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


TERMS: Registry = {
    "kl": (KL, kl),
    "entropy": (Entropy, entropy),
    "likelihood": (Likelihood, likelihood),
    "old-kl": (OldKL, old_kl),
    "squared-ratio": (SquaredRatio, squared_ratio),
}
