"""Corrections: a detached weight for who really wrote a token. With rho = pi_old / mu, mu the distribution that was
sampled from, the policy term is multiplied by c = sg[f(rho)]. The tokens stay in every denominator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.ratios import token_ratio
from assay.part import Part, Registry

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


@dataclass(frozen=True)
class Truncate(Part):
    """Token by token, held at a cap (TIS)."""

    cap: float = 2.0

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})


def truncate(view: View, *, cap: float) -> Tensor:
    """c = min(rho, cap)."""
    return rho(view).clamp(max=cap)


@dataclass(frozen=True)
class Drop(Part):
    """Token by token, out where it leaves a range (IcePop, AReaL)."""

    low: float = 0.0
    high: float = 5.0

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"old"})


def drop(view: View, *, low: float, high: float) -> Tensor:
    """c = rho 1[low <= rho <= high]."""
    weight = rho(view)
    return weight.masked_fill((weight < low) | (weight > high), 0.0)


def rho(view: View) -> Tensor:
    """pi_old / mu of each token; 1 where nobody sampled it."""
    mu = view.streams["mu"]
    return token_ratio(view.old.where(mu.isfinite(), 0.0), mu.nan_to_num(0.0)).detach()


CORRECTIONS: Registry = {"truncate": (Truncate, truncate), "drop": (Drop, drop)}
