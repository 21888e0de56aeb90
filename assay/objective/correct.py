"""Corrections for the mismatch between the sampler and the learner (rollout importance sampling).

mu is the distribution from which a token was really sampled, pi_old that of the learner before the update. With rho =
pi_old / mu the policy loss of a token is multiplied by c = f(rho), without a gradient. A token with c = 0 stays in the
denominator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.errors import ConfigError
from assay.objective.ratios import CLAMP, token_ratio
from assay.part import Correction, Positive

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope

Level = Literal["token", "sequence"]
"""`token`: rho of each token. `sequence`: the product of these over the answer, the same for all its tokens.

The token level corrects the choice of each next token, but not how often the sampler reached the prefix before that
token. The sequence level corrects both, but its rho grows with the length: 100 tokens of 1.1 have a rho of 13,781.
"""

NOTES = (
    "The correction is the source's; everything else, the scale included, is DAPO's.",
    "Here sampler and learner share weights and nearly agree: rho differs from 1 with top_p, top_k or min_p, with an "
    "adapter in lower precision, or if a follower generates (`areal`). The metrics policy/sampler_mismatch and "
    "policy/correction_effective say by how much.",
    "The learner computes its own log-probs before the first update, even if a step has only one update.",
    "Tokens with the weight 0 stay in the denominator; terms beside the policy loss are not weighted.",
)
"""Notes of every recipe that adds a correction to DAPO."""


def truncate(view: View, *, cap: float, level: str, normalise: bool) -> Tensor:
    """c = min(rho, cap), or min(rho, cap) / mean of min(rho, cap)."""
    weight = rho(view, level).clamp(max=cap)
    if not normalise:
        return weight
    counts = view.mask if level == "token" else view.mask / view.spread(view.length.clamp(min=1))
    return weight * counts.sum() / (weight * counts).sum()


class Truncate(Correction):
    """Truncated importance sampling (TIS): the weight is rho, at most `cap`.

    objective=Objective(correct=(Truncate(cap=2.0),))
    --mechanism.objective.correct truncate --mechanism.objective.correct.0.cap 2
    """

    cap: Positive = 2.0
    level: Level = "token"  # rho of each token, or of the whole answer
    normalise: bool = False  # divide the weights by their mean over the tokens, or answers, of the step
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


class Drop(Correction):
    """Masked importance sampling: the weight is rho, but 0 if rho is outside [low, high].

    IcePop and AReaL mask tokens, sequence-level MIS masks answers.

        objective=Objective(correct=(Drop(low=0.5, high=5.0),))
        --mechanism.objective.correct drop --mechanism.objective.correct.0.low 0.5
    """

    low: float = 0.0
    high: float = 5.0
    level: Level = "token"  # rho of each token, or of the whole answer
    does = drop

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})


def reject(view: View, *, by: str, low: float | None, high: float | None) -> Tensor:
    """c = 1[low <= m <= high], m = exp(mean log rho), mean (log rho)^2 / 2, mean (rho - 1 - log rho) or min rho."""
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


class Reject(Correction):
    """Rejects whole answers whose measure m is outside [low, high]; the other answers keep the weight 1.

    m is the geometric mean of rho over the answer, an estimate of KL(mu, old) per token (k2, k3), or the least rho of a
    token (a veto).

    For your own recipes: where sampler and learner differ by so much that whole answers are to be left out, and not
    weighed down.

        objective=Objective(correct=(Reject(high=1.01),))
        --mechanism.objective.correct reject --mechanism.objective.correct.0.high 1.01
    """

    by: Literal["geometric", "k2", "k3", "least"] = "geometric"  # the measure m
    low: float | None = None  # None: no lower limit
    high: float | None = None  # None: no upper limit
    does = reject

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})


def rho(view: View, level: str = "token") -> Tensor:
    """rho = pi_old / mu of each token, or of its answer. A token that was not sampled has rho = 1."""
    each = token_ratio(view.old, view.mu).detach()
    if level == "token":
        return each
    if level != "sequence":
        raise ConfigError(f"objective.correct: level is 'token' or 'sequence', not '{level}'.")
    return view.spread(view.sum(each.log()).clamp(max=CLAMP).exp())
