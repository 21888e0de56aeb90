"""Trust regions by probabilities in place of ratios: tokens, or whole answers, that the policy has not left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from assay.errors import ConfigError
from assay.part import Part

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

LEAST = 1e-30


@dataclass(frozen=True)
class Near(Part):
    """Tokens that have not gone too far in the direction in which they are pushed (DPPO 2602.04879).

    With p the policy's probability of the token and q the sampler's: `tv` bounds |p - q|, `kl` the divergence between
    (q, 1 - q) and (p, 1 - p), by `high` where A > 0 and by `low` where not.
    """

    kind: Literal["tv", "kl"] = "tv"
    low: float = 0.15
    high: float = 0.15


def near(view: View, *, kind: str, low: float, high: float) -> Tensor:
    """1 - 1[A > 0, p > q, D > high] - 1[A <= 0, p < q, D > low], D = |p - q| or q log(q/p) + (1-q) log((1-q)/(1-p))."""
    p, q = (x.detach().double().exp() for x in (view.logp, view.mu))
    if kind == "tv":
        far = (p - q).abs()
    elif kind == "kl":
        far = q.xlogy(q / p.clamp(min=LEAST)) + (1 - q).xlogy((1 - q) / (1 - p).clamp(min=LEAST))
    else:
        raise ConfigError(f"objective.keep: kind is 'tv' or 'kl', not '{kind}'.")
    up = view.streams["advantage"] > 0
    return ~((up & (p > q) & (far > high)) | (~up & (p < q) & (far > low)))


@dataclass(frozen=True)
class Followed(Part):
    """Tokens of all answers but those that are pushed down and that the policy has left: whose mean log-prob has fallen
    by more than `most` since they were sampled (DeepSeek-V3.2 2512.02556).
    """

    most: float = 0.5


def followed(view: View, *, most: float) -> Tensor:
    """1 - 1[A < 0, mean_t (log mu - log pi) > most]."""
    fallen = view.mean(view.mu - view.logp.detach())
    return ~((view.streams["advantage"] < 0) & view.spread(fallen > most))
