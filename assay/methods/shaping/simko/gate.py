"""A larger gradient for the likeliest tokens of wrong answers, where the policy's entropy is high."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.objective.gates import clip
from assay.objective.select import high_entropy
from assay.part import Gate, Proportion

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def clip_likeliest(
    ratio: Tensor, advantage: Tensor, *, view: View, low: float, high: float, factor: float, share: float
) -> Tensor:
    """PPO's clip times `factor`; a token is the likeliest if no stored candidate is likelier under the current
    weights.
    """
    assert view.top_logp is not None
    gate = clip(ratio, advantage, low=low, high=high, dual=None)
    hesitant = high_entropy(view, share=share, by="row", side="high", ties=False)
    harder = hesitant & (view.logp >= view.top_logp.amax(-1)) & ~view.spread(view.right)
    return gate.where(~harder, factor * gate)


class ClipLikeliest(Gate):
    """PPO's clip, times `factor` at tokens of high entropy where a wrong answer took the likeliest token (SimKO
    2510.14807).

        objective=Objective(gate=ClipLikeliest(factor=1.1))
        --mechanism.objective.gate clip-likeliest --mechanism.objective.gate.factor 1.1
    """

    low: float = 0.2  # PPO's clip: the ratio is bounded by 1 - low
    high: float = 0.2  # PPO's clip: the ratio is bounded by 1 + high
    factor: float = 1.1
    share: Proportion = 0.2  # the share of an answer's tokens that count as tokens of high entropy
    does = clip_likeliest
    needs = ("texts",)
    needs_verdict = True

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy", "top"})
