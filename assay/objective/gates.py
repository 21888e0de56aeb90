"""Gates: how a trust region limits the update. The policy loss of a token has the gradient of

    - sg[ A * g(w; A) ] * log pi,        sg: stop gradient

A gate is the factor g at the importance ratio w: not negative, computed without a gradient, and logged. If a paper
states a surrogate f(w) A instead, its gate is g = w f'(w), because d f(w) = f'(w) w d log pi. A gate that must see
whole rows asks for the `view`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def open_gate(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = 1."""
    return ratio.new_ones(ratio.shape)


class Open(Gate):
    """g = 1: no trust region and no importance ratio, as in REINFORCE.

    objective=Objective(ratio=NoRatio(), gate=Open())
    --mechanism.objective.ratio none --mechanism.objective.gate open
    """

    does = open_gate


def clip(ratio: Tensor, advantage: Tensor, *, low: float, high: float, dual: float | None) -> Tensor:
    """g = w, but 0 if (A > 0 and w > 1 + high) or (A < 0 and w < 1 - low) or (A < 0 and w > dual).

    PPO: 1707.06347; dual clip: 1912.09729.
    """
    shut = ((advantage > 0) & (ratio > 1 + high)) | ((advantage < 0) & (ratio < 1 - low))
    if dual is not None:
        shut = shut | ((advantage < 0) & (ratio > dual))
    return ratio.masked_fill(shut, 0.0)


class Clip(Gate):
    """PPO's clip: no gradient if the ratio has left [1 - low, 1 + high] in the direction of the token's advantage.

    `high` > `low` is DAPO's clip-higher. `dual` is the dual clip; the two-sided clip with an upper bound delta on the
    ratio (2505.07291) has the same gradient with dual=delta.

        objective=Objective(gate=Clip(low=0.2, high=0.28))
        --mechanism.objective.gate clip --mechanism.objective.gate.high 0.28
    """

    low: float = 0.2
    high: float = 0.2
    dual: float | None = None  # a token with A < 0 and a ratio above this has no gradient; None: no such bound
    does = clip
    off_policy = True


def bounded(ratio: Tensor, advantage: Tensor, *, least: float, most: float | None) -> Tensor:
    """g = clip(w, least, most)."""
    return ratio.clamp(least, most)


class Bounded(Gate):
    """The ratio as a weight between `least` and `most`. No token loses its gradient, unlike with `clip`.

    With token ratios this is CISPO (2506.13585) and truncated importance sampling.

        objective=Objective(gate=Bounded(most=5.0))
        --mechanism.objective.gate bounded --mechanism.objective.gate.most 5
    """

    least: float = 0.0
    most: float | None = 5.0  # None: no upper bound
    does = bounded
    off_policy = True


def shaped(ratio: Tensor, advantage: Tensor, *, gamma: float) -> Tensor:
    """g = w f'(w) = gamma w / (w + gamma)^2."""
    return gamma * ratio / (ratio + gamma).square()


class Shaped(Gate):
    """LUFFY's policy shaping f(w) = w / (w + gamma): a larger gradient for small w, a smaller one for large w.

    LUFFY applies this gate to off-policy tokens, with the probability of a token as its ratio w (2504.14945).

        objective=Objective(ratio=Probability(), gate=Shaped(gamma=0.1))
        --mechanism.objective.ratio probability --mechanism.objective.gate shaped --mechanism.objective.gate.gamma 0.1
    """

    gamma: float = 0.1
    does = shaped


def shut(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = 0."""
    return ratio.new_zeros(ratio.shape)


class Shut(Gate):
    """g = 0: no policy gradient, for tokens of a case that only another term of the loss trains.

    objective=Objective(gate=Shut())
    --mechanism.objective.gate shut
    """

    does = shut


def plain(ratio: Tensor, advantage: Tensor) -> Tensor:
    """g = w."""
    return ratio


class Plain(Gate):
    """g = w: plain importance sampling, without a trust region.

    objective=Objective(gate=Plain())
    --mechanism.objective.gate plain
    """

    does = plain
