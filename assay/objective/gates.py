"""Gates: how a trust region limits the push. The gradient of the policy term is that of

    - sg[ A * g(w; A) ] * log pi,

so a gate is the multiplier g of A at ratio w: non-negative, computed without a graph, and logged. Where a method names
a function f of the ratio instead, d f(w) = f'(w) w d log pi, so its gate is w f'(w). A gate that has to see whole rows
asks for the `view`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.experts import ByEntropy, Focal, Plain, by_entropy, focal, plain
from assay.objective.select import high_entropy
from assay.part import Part, Registry

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


@dataclass(frozen=True)
class Open(Part):
    """No trust region and no ratio: g = 1. The score function itself."""


def open_gate(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = 1."""
    return ratio.new_ones(ratio.shape)


@dataclass(frozen=True)
class Clip(Part):
    """The one-sided clip of PPO. `high` > `low` is DAPO's clip-higher; `dual` bounds the ratio where A < 0."""

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None


def clip(ratio: Tensor, advantage: Tensor, *, low: float, high: float, dual: float | None) -> Tensor:
    """g = w, but 0 if (A > 0 and w > 1 + high) or (A < 0 and w < 1 - low) or (A < 0 and w > dual).

    1707.06347; dual clip 1912.09729.
    """
    shut = ((advantage > 0) & (ratio > 1 + high)) | ((advantage < 0) & (ratio < 1 - low))
    if dual is not None:
        shut = shut | ((advantage < 0) & (ratio > dual))
    return ratio.masked_fill(shut, 0.0)


@dataclass(frozen=True)
class Shaped(Part):
    """f(w) = w / (w + gamma): near zero a token is pushed 1 / gamma times as hard, far above gamma hardly any more.

    With the probability itself as ratio it is LUFFY's shaping of tokens that others wrote (2504.14945).
    """

    gamma: float = 0.1


def shaped(ratio: Tensor, advantage: Tensor, *, gamma: float) -> Tensor:
    """g = w f'(w) = gamma w / (w + gamma)^2."""
    return gamma * ratio / (ratio + gamma).square()


@dataclass(frozen=True)
class ShapedBy(Part):
    """f(w) = w / (w + gamma) with the gamma of each token: the weight `gamma` of its row (Guide 2506.13923)."""


def shaped_by(ratio: Tensor, advantage: Tensor, *, view: View) -> Tensor:
    """g = w f'(w) = gamma w / (w + gamma)^2."""
    gamma = view.streams["weights/gamma"]
    return gamma * ratio / (ratio + gamma).square()


@dataclass(frozen=True)
class Shut(Part):
    """g = 0: no policy gradient. For tokens that another term of the loss is for."""


def shut(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = 0."""
    return ratio.new_zeros(ratio.shape)


@dataclass(frozen=True)
class ClipLikeliest(Part):
    """PPO's clip, times `factor` where a wrong answer hesitated and yet took the likeliest token (SimKO 2510.14807)."""

    low: float = 0.2
    high: float = 0.2
    factor: float = 1.1
    share: float = 0.2  # of the tokens of an answer that count as hesitant

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy", "top"})


def clip_likeliest(
    ratio: Tensor, advantage: Tensor, *, view: View, low: float, high: float, factor: float, share: float
) -> Tensor:
    """Likeliest: none of the candidates that were stored before the first update is likelier now."""
    assert view.top_logp is not None
    gate = clip(ratio, advantage, low=low, high=high, dual=None)
    hesitant = high_entropy(view, share=share, by="row", side="high", ties=False)
    harder = hesitant & (view.logp >= view.top_logp.amax(-1)) & ~view.spread(view.right)
    return gate.where(~harder, factor * gate)


GATES: Registry = {
    "open": (Open, open_gate),
    "plain": (Plain, plain),
    "focal": (Focal, focal),
    "by-entropy": (ByEntropy, by_entropy),
    "clip": (Clip, clip),
    "shaped": (Shaped, shaped),
    "shaped-by": (ShapedBy, shaped_by),
    "shut": (Shut, shut),
    "clip-likeliest": (ClipLikeliest, clip_likeliest),
}
