"""Gates: how a trust region limits the push. The gradient of the policy term is that of

    - sg[ A * g(w; A) ] * log pi,

so a gate is the multiplier g of A at ratio w: non-negative, computed without a graph, and logged. Where a method names
a function f of the ratio instead, d f(w) = f'(w) w d log pi, so its gate is w f'(w). A gate that has to see whole rows
asks for the `view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def open_gate(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = 1."""
    return ratio.new_ones(ratio.shape)


@dataclass(frozen=True)
class Open(Gate):
    """No trust region and no ratio: g = 1. The score function itself."""

    does = open_gate


def clip(ratio: Tensor, advantage: Tensor, *, low: float, high: float, dual: float | None) -> Tensor:
    """g = w, but 0 if (A > 0 and w > 1 + high) or (A < 0 and w < 1 - low) or (A < 0 and w > dual).

    1707.06347; dual clip 1912.09729.
    """
    shut = ((advantage > 0) & (ratio > 1 + high)) | ((advantage < 0) & (ratio < 1 - low))
    if dual is not None:
        shut = shut | ((advantage < 0) & (ratio > dual))
    return ratio.masked_fill(shut, 0.0)


@dataclass(frozen=True)
class Clip(Gate):
    """The one-sided clip of PPO. `high` > `low` is DAPO's clip-higher; `dual` bounds the ratio where A < 0: the dual
    clip, and also the two-sided clip whose ratio is held at delta before (2505.07291), for both push alike.
    """

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None
    does = clip


def bounded(ratio: Tensor, advantage: Tensor, *, least: float, most: float | None) -> Tensor:
    """g = clip(w, least, most)."""
    return ratio.clamp(least, most)


@dataclass(frozen=True)
class Bounded(Gate):
    """A weight that is held, and no token dropped: what is bounded is the weight itself, not how far it is from 1.

    With token ratios CISPO (2506.13585), truncated importance sampling, and without bounds the plain weight.
    """

    least: float = 0.0
    most: float | None = 5.0
    does = bounded


def shaped(ratio: Tensor, advantage: Tensor, *, gamma: float) -> Tensor:
    """g = w f'(w) = gamma w / (w + gamma)^2."""
    return gamma * ratio / (ratio + gamma).square()


@dataclass(frozen=True)
class Shaped(Gate):
    """f(w) = w / (w + gamma): near zero a token is pushed 1 / gamma times as hard, far above gamma hardly any more.

    With the probability itself as ratio it is LUFFY's shaping of tokens that others wrote (2504.14945).
    """

    gamma: float = 0.1
    does = shaped


def shut(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = 0."""
    return ratio.new_zeros(ratio.shape)


@dataclass(frozen=True)
class Shut(Gate):
    """g = 0: no policy gradient. For tokens that another term of the loss is for."""

    does = shut


def plain(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = w."""
    return ratio


@dataclass(frozen=True)
class Plain(Gate):
    """No trust region: the ratio itself is the weight."""

    does = plain
