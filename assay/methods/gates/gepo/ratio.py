"""The ratio of an answer's likelihood to the expected likelihood of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.objective.ratios import CLAMP
from assay.part import Ratio

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def group_expectation(logp: Tensor, old: Tensor, *, view: View) -> Tensor:
    """w_i = P_i / (sum_j Q_j^2 / sum_j Q_j), where P_i = exp(mean_t log pi) and Q_i = exp(mean_t log pi_old)."""
    known = (view.length > 0).double()
    before, now = view.mean(old).double().exp() * known, view.mean(logp).double()
    expected = view.in_group(before.square()).log() - view.in_group(before).log()
    # a group without a trained token has no expectation, and no token that would need it
    return view.spread((now - expected.nan_to_num(0.0)).clamp(-CLAMP, CLAMP).exp().to(logp.dtype))


class GroupExpectation(Ratio):
    """The likelihood of an answer over the expected likelihood of its group under the old policy, both per token (GEPO
    2508.17850).

    The expectation weighs each answer by its old likelihood. On policy the ratio is not 1.

        objective=Objective(ratio=GroupExpectation())
        --mechanism.objective.ratio group-expectation
    """

    does = group_expectation

    @property
    def aggregations(self) -> tuple[str, ...]:
        return ("sequence-mean",)

    @property
    def scope(self) -> LossScope:
        return "step"
