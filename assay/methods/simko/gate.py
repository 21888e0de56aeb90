"""The push on the likeliest tokens, where the policy hesitates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.gates import clip
from assay.objective.select import high_entropy
from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def clip_likeliest(
    ratio: Tensor, advantage: Tensor, *, view: View, low: float, high: float, factor: float, share: float
) -> Tensor:
    """Likeliest: none of the candidates that were stored before the first update is likelier now."""
    assert view.top_logp is not None
    gate = clip(ratio, advantage, low=low, high=high, dual=None)
    hesitant = high_entropy(view, share=share, by="row", side="high", ties=False)
    harder = hesitant & (view.logp >= view.top_logp.amax(-1)) & ~view.spread(view.right)
    return gate.where(~harder, factor * gate)


@dataclass(frozen=True)
class ClipLikeliest(Gate):
    """PPO's clip, times `factor` where a wrong answer hesitated and yet took the likeliest token (SimKO 2510.14807).

        objective=Objective(gate=ClipLikeliest(low=0.2))
        --mechanism.objective.gate clip-likeliest --mechanism.objective.gate.low 0.2
    """

    low: float = 0.2
    high: float = 0.2
    factor: float = 1.1
    share: float = 0.2  # of the tokens of an answer that count as hesitant
    does = clip_likeliest

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy", "top"})
