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
    """The one-sided clip of PPO. `high` > `low` is DAPO's clip-higher; `dual` bounds the ratio where A < 0: the dual
    clip, and also the two-sided clip whose ratio is held at delta before (2505.07291), for both push alike.
    """

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
class Bounded(Part):
    """A weight that is held, and no token dropped: what is bounded is the weight itself, not how far it is from 1.

    With token ratios CISPO (2506.13585), truncated importance sampling, and without bounds the plain weight.
    """

    least: float = 0.0
    most: float | None = 5.0


def bounded(ratio: Tensor, advantage: Tensor, *, least: float, most: float | None) -> Tensor:
    """g = clip(w, least, most)."""
    return ratio.clamp(least, most)


@dataclass(frozen=True)
class Preserving(Part):
    """PPO's clip with the gradient of clipped tokens kept at the bound (GPPO 2508.07629)."""

    low: float = 0.2
    high: float = 0.28


def preserving(ratio: Tensor, advantage: Tensor, *, low: float, high: float) -> Tensor:
    """g = w, but 1 + high if (A > 0 and w > 1 + high), and 1 - low if (A < 0 and w < 1 - low)."""
    held = ratio.clamp(max=1 + high).where(advantage > 0, ratio)
    return held.clamp(min=1 - low).where(advantage < 0, held)


@dataclass(frozen=True)
class Soft(Part):
    """f(w) = 4 / tau sigmoid(tau (w - 1)): the push fades as the ratio leaves 1, faster where A <= 0 (SAPO 2511.20347).

    A clip of epsilon is imitated by a tau near 2 / epsilon; the paper's are far looser.
    """

    up: float = 1.0
    down: float = 1.05


def soft(ratio: Tensor, advantage: Tensor, *, up: float, down: float) -> Tensor:
    """g = w f'(w) = 4 w q (1 - q), q = sigmoid(tau (w - 1)), tau = up where A > 0, else down."""
    tau = ratio.new_full(ratio.shape, down).masked_fill(advantage > 0, up)
    far = tau * (ratio - 1)
    return 4 * ratio * far.sigmoid() * (-far).sigmoid()


@dataclass(frozen=True)
class Geometric(Part):
    """The geometric mean of an answer's token ratios, each clipped on one side in the logarithm (GMPO 2507.20673).

    The bounds are those of the log-ratio. It takes the token ratio, one advantage an answer, and a sequence mean.
    """

    low: float = 0.4
    high: float = 0.4


def geometric(ratio: Tensor, advantage: Tensor, *, view: View, low: float, high: float) -> Tensor:
    """g = S on tokens whose own ratio is not clipped, else 0; S = exp(mean_t D_t), D = log w, but at most `high` where
    A > 0 and at least -`low` where A < 0.
    """
    far = ratio.log()
    held = far.clamp(max=high).where(advantage > 0, far)
    held = held.clamp(min=-low).where(advantage < 0, held)
    return view.spread(view.mean(held).exp()).masked_fill(held != far, 0.0)


@dataclass(frozen=True)
class Tapered(Part):
    """The ratio held within bounds of their own for pushes up and for pushes down (TOPR 2503.14286).

    Anything above 0 for `down_least` lets a push down go on for ever.
    """

    up_least: float = 1.0
    up_most: float = 1.0
    down_least: float = 0.0
    down_most: float = 1.0


def tapered(
    ratio: Tensor, advantage: Tensor, *, up_least: float, up_most: float, down_least: float, down_most: float
) -> Tensor:
    """g = clip(w, up_least, up_most) where A > 0, else clip(w, down_least, down_most)."""
    return ratio.clamp(up_least, up_most).where(advantage > 0, ratio.clamp(down_least, down_most))


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
    "bounded": (Bounded, bounded),
    "preserving": (Preserving, preserving),
    "soft": (Soft, soft),
    "geometric": (Geometric, geometric),
    "tapered": (Tapered, tapered),
    "shaped": (Shaped, shaped),
    "shaped-by": (ShapedBy, shaped_by),
    "shut": (Shut, shut),
    "clip-likeliest": (ClipLikeliest, clip_likeliest),
}
