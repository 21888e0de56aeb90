"""From the scores of a rubric's criteria to one reward: weights, saturation, pairs, a stretch, and vetoes.

The paper of rubric anchors (Rubicon 2508.12790) names these operators and describes them in words. The formulas are
ours; with the values by default nothing is left but the weighted mean and the veto.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Anchors:
    """How the scores of criteria, each from 0 to 1, become one number.

    Example:
        Anchors(above=0.7, slope=0.3, pairs=0.5)
    """

    above: float = 1.0  # tau: the score of a criterion from which on it grows slower
    slope: float = 0.0  # kappa: how steeply it begins to grow from there, 0 to 1
    pairs: float = 0.0  # omega: the share of what two criteria earn together; below 0 one makes up for the other
    high: float = 1.0  # from this value on the whole is stretched
    stretch: float = 0.0  # by how much
    least: float = 1.0  # a criterion with a veto needs this score
    vetoed: float = 0.0  # at most this is left of the reward where one does not have it
    facts: bool = False  # an answer that meets every factual criterion has the whole reward, whatever its way

    @property
    def fault(self) -> str | None:
        """Why no reward can be made with these values; None if one can."""
        if not 0 < self.above <= 1 or not 0 <= self.slope <= 1:
            return f"above must be in (0, 1] and slope from 0 to 1, not {self.above:g} and {self.slope:g}"
        if not -1 <= self.pairs <= 1:
            return f"pairs must be from -1 to 1, not {self.pairs:g}"
        if self.stretch < 0 or not 0 <= self.high <= 1:
            return f"stretch must be 0 or more and high from 0 to 1, not {self.stretch:g} and {self.high:g}"
        return None if 0 < self.least <= 1 else f"least must be in (0, 1], not {self.least:g}"


def anchored(scores: Sequence[float], weights: Sequence[float], how: Anchors, *, veto: bool = False) -> float:
    """h((1 - omega) S + omega P), and after a veto at most `vetoed`.

    S is the weighted mean of the saturated scores g(r) / g(1), P that of their products over all pairs of criteria,
    each pair with the product of its weights; of a single criterion P is S.
    """
    known = [(saturated(r, how.above, how.slope), w) for r, w in zip(scores, weights, strict=True)]
    full = saturated(1.0, how.above, how.slope)
    mean = math.fsum(w * g for g, w in known) / (full * math.fsum(w for _, w in known))
    both = mean
    if weight := _in_pairs([w for _, w in known]):
        both = _in_pairs([w * g for g, w in known]) / (full**2 * weight)
    whole = stretched((1 - how.pairs) * mean + how.pairs * both, how.high, how.stretch)
    return min(whole, how.vetoed) if veto else whole


def _in_pairs(values: Sequence[float]) -> float:
    """sum over k < l of v_k v_l."""
    return math.fsum(values[k] * values[l] for k in range(len(values)) for l in range(k + 1, len(values)))


def saturated(value: float, above: float, slope: float) -> float:
    """g(r) = min(r, tau) + kappa log(1 + max(r - tau, 0))."""
    return min(value, above) + slope * math.log1p(max(value - above, 0.0))


def stretched(value: float, high: float, stretch: float) -> float:
    """h(R) = R + c max(R - s, 0)^2: convex, so that differences between good answers grow."""
    return value + stretch * max(value - high, 0.0) ** 2
