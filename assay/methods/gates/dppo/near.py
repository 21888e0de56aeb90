"""Tokens whose probability has not moved too far from the sampler's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from assay.errors import ConfigError
from assay.part import Selector

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View

LEAST = 1e-30


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


class Near(Selector):
    """Masks tokens that have already moved too far in the direction of their advantage (DPPO 2602.04879).

    p is the policy's probability of the token and q the sampler's. `tv` bounds |p - q|, `kl` the KL divergence of (p,
    1 - p) from (q, 1 - q); the bound is `high` where A > 0, else `low`.

        objective=Objective(keep=(Near(high=0.15),))
        --mechanism.objective.keep near --mechanism.objective.keep.0.high 0.15
    """

    kind: Literal["tv", "kl"] = "tv"  # the distance: total variation, or KL of (p, 1 - p) from (q, 1 - q)
    low: float = 0.15
    high: float = 0.15
    does = near
