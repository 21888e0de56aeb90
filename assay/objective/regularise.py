"""Regularisers: differentiable terms per token, added to the loss with their own weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.errors import ConfigError
from assay.part import Part
from assay.types import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from assay.engine.interface import Outputs


@dataclass(frozen=True)
class KL(Part):
    """KL to the frozen reference, in the loss, on tokens of the policy. k3 is GRPO's estimator; k2's gradient is the
    right one on policy.
    """

    weight: float = 0.04
    estimator: Literal["k2", "k3"] = "k3"


def kl(out: Outputs, streams: Mapping[str, Tensor], *, weight: float, estimator: str) -> Tensor:
    """With d = log ref - log pi:  k2 = d^2 / 2,  k3 = exp(d) - d - 1;  0 on tokens that others wrote."""
    difference = (streams["ref"] - out.logp) * (streams["origin"] == Origin.POLICY)
    if estimator == "k2":
        return weight * difference.square() / 2
    if estimator == "k3":
        # bounded only where exp overflows: far below, where the policy has left the reference, the pull must stay
        difference = difference.clamp(max=20.0)
        return weight * (difference.exp() - difference - 1)
    raise ConfigError(f"objective.regularise: estimator is 'k2' or 'k3', not '{estimator}'.")


@dataclass(frozen=True)
class Imitate(Part):
    """- weight * log pi of the tokens that the policy did not write: likelihood beside the policy gradient."""

    weight: float = 1.0


def imitate(out: Outputs, streams: Mapping[str, Tensor], *, weight: float) -> Tensor:
    """- weight log pi on injected tokens, 0 elsewhere."""
    return -weight * out.logp * (streams["origin"] == Origin.INJECTED)


@dataclass(frozen=True)
class Entropy(Part):
    """Entropy bonus: - weight * H, over the full vocabulary."""

    weight: float = 0.001


def entropy(out: Outputs, streams: Mapping[str, Tensor], *, weight: float) -> Tensor:
    assert out.entropy is not None
    return -weight * out.entropy


REGULARISERS = {"kl": (KL, kl), "entropy": (Entropy, entropy), "imitate": (Imitate, imitate)}
