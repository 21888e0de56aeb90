"""A part of a right token's gradient goes to the likeliest candidates at its position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.objective.gates import clip
from assay.objective.ratios import token_ratio
from assay.objective.select import high_entropy
from assay.part import Proportion, Term

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def share_with_candidates(view: View, *, weight: float, low: float, high: float, share: float) -> Tensor:
    """- a A g(w) (mean_k log pi(k) - log pi), A g(w) without a graph."""
    assert view.top_logp is not None
    advantage = view.streams["advantage"]
    gate = clip(token_ratio(view.logp.detach(), view.old), advantage, low=low, high=high, dual=None)
    hesitant = high_entropy(view, share=share, by="row", side="high", ties=False)
    push = weight * advantage * gate * (hesitant & view.spread(view.right))
    return -push * (view.top_logp.mean(-1) - view.logp)


class ShareWithCandidates(Term):
    """At tokens of high entropy in right answers, a part of the gradient goes to the likeliest candidates (SimKO
    2510.14807).

    The term is the difference in gradient between the paper's ratio w~ = (1 - a) w + (a / K) sum_k sg[w / w_k] w_k and
    w; both have the same value. w_k is the ratio of candidate k. The clip is that of the policy's loss.

        objective=Objective(extra=(ShareWithCandidates(weight=0.01),))
        --mechanism.objective.extra share-with-candidates --mechanism.objective.extra.0.weight 0.01
    """

    weight: float = 0.01  # the a of the formula
    low: float = 0.2  # PPO's clip: the ratio is bounded by 1 - low
    high: float = 0.2  # PPO's clip: the ratio is bounded by 1 + high
    share: Proportion = 0.2  # the share of an answer's tokens that count as tokens of high entropy
    does = share_with_candidates
    needs = ("texts",)
    needs_verdict = True

    @property
    def wants(self) -> frozenset[str]:
        return frozenset({"entropy", "top"})
