"""The decoupled objective: a trust region around the weights of today, and a correction for who really wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.ratios import token_ratio
from assay.part import Part

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Decoupled(Part):
    """PPO's clip around the proximal policy, times its likelihood over the behaviour's (2110.00641, AReaL 2505.24298).

    The proximal policy is that before the first update of the step; a token whose correction exceeds the cap is out.
    """

    low: float = 0.2
    high: float = 0.2
    cap: float = 5.0


def decoupled(
    ratio: Tensor, advantage: Tensor, *, streams: Mapping[str, Tensor], low: float, high: float, cap: float
) -> Tensor:
    """g = clip(w; A) b [b <= cap], with w = pi / pi_prox and b = pi_prox / pi_behaviour, 1 if just written."""
    shut = ((advantage > 0) & (ratio > 1 + high)) | ((advantage < 0) & (ratio < 1 - low))
    push = ratio.masked_fill(shut, 0.0)
    if "old" not in streams:
        return push
    behind = token_ratio(streams["old"], streams["mu"])
    return push * behind.masked_fill(behind > cap, 0.0)
