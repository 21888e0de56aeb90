"""Corrections: a detached weight for who really wrote a token. With rho = pi_old / mu, mu the distribution that was
sampled from, the policy term is multiplied by c = sg[f(rho)]. The tokens stay in every denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.errors import ConfigError
from assay.objective.ratios import CLAMP, token_ratio
from assay.part import Correction

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope

Level = Literal["token", "sequence"]
"""rho of each token, or for all tokens of an answer the product of its tokens' rho, that of the answer itself.

The first is right about each next token alone, not about how often its beginning comes. The second is right, and at
equal drift per token it takes long answers out: 1.1^100 is 13,781.
"""

NOTES = (
    "The correction is the source's; the set-up is DAPO's, with its scale.",
    "Here sampler and learner share weights and nearly agree: rho leaves 1 with top_p, top_k or min_p, with an "
    "adapter in lower precision, or behind a follower (`areal`). policy/sampler_mismatch and "
    "policy/correction_effective say by how much.",
    "The learner's own log-probs are scored before the first update, also where one update is all there is.",
    "Tokens that are taken out stay in the denominator; terms beside the policy's are not weighed.",
)
"""What is to be said of each recipe that shows a correction on a method otherwise known, here DAPO."""


def truncate(view: View, *, cap: float, level: str, normalise: bool) -> Tensor:
    """c = min(rho, cap), or that by its mean."""
    weight = rho(view, level).clamp(max=cap)
    if not normalise:
        return weight
    counts = view.mask if level == "token" else view.mask / view.spread(view.length.clamp(min=1))
    return weight * counts.sum() / (weight * counts).sum()


@dataclass(frozen=True)
class Truncate(Correction):
    """Held at a cap (TIS); with `normalise` then divided by its mean over the tokens of the step, or answers."""

    cap: float = 2.0
    level: Level = "token"  # what is held: a token's ratio, or that of a whole answer
    normalise: bool = False
    does = truncate

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})

    @property
    def scope(self) -> LossScope:
        return "step" if self.normalise else "row"


def drop(view: View, *, low: float, high: float, level: str) -> Tensor:
    """c = rho 1[low <= rho <= high]."""
    weight = rho(view, level)
    return weight.masked_fill((weight < low) | (weight > high), 0.0)


@dataclass(frozen=True)
class Drop(Correction):
    """Out where it leaves a range (IcePop and AReaL by tokens, seq-MIS by answers)."""

    low: float = 0.0
    high: float = 5.0
    level: Level = "token"  # what leaves the range: a token's ratio, or that of a whole answer
    does = drop

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})


def reject(view: View, *, by: str, low: float | None, high: float | None) -> Tensor:
    """c = 1[low <= m <= high], m one of exp(mean log rho), mean (log rho)^2 / 2, mean (rho - 1 - log rho), min rho."""
    weight = rho(view)
    far = weight.log()
    if by == "geometric":
        measure = view.mean(far).exp()
    elif by == "k2":
        measure = view.mean(far.square() / 2)
    elif by == "k3":
        measure = view.mean(far.expm1() - far)
    elif by == "least":
        least = far.new_full((len(view.batch),), CLAMP)
        measure = least.scatter_reduce(0, view.row, far.where(view.mask > 0, CLAMP), "amin").exp()
    else:
        raise ConfigError(f"objective.correct: by is 'geometric', 'k2', 'k3' or 'least', not '{by}'.")
    kept = measure.new_ones(measure.shape)
    kept = kept if low is None else kept.masked_fill(measure < low, 0.0)
    kept = kept if high is None else kept.masked_fill(measure > high, 0.0)
    return view.spread(kept)


@dataclass(frozen=True)
class Reject(Correction):
    """Whole answers out, and no weight on the others: by the geometric mean of their tokens' rho, by an estimate of the
    divergence of old from mu per token (k2, k3), or by their least rho (a veto).
    """

    by: Literal["geometric", "k2", "k3", "least"] = "geometric"
    low: float | None = None
    high: float | None = None
    does = reject

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})


def rho(view: View, level: str = "token") -> Tensor:
    """pi_old / mu of each token, or of each answer; tokens that nobody sampled count as 1."""
    each = token_ratio(view.old, view.mu).detach()
    if level == "token":
        return each
    if level != "sequence":
        raise ConfigError(f"objective.correct: level is 'token' or 'sequence', not '{level}'.")
    return view.spread(view.sum(each.log()).clamp(max=CLAMP).exp())
