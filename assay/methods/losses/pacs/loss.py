"""The verdict as the label of a classifier whose logit is the policy's log-ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Positive, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def pacs(view: View, *, beta: float, balanced: bool) -> Tensor:
    """mean_i w_i BCE(sigmoid(s_i), R_i), s_i = r_i - mean_{j != i} r_j, r_i = beta sum_t (log pi - log pi_old)."""
    from torch.nn.functional import binary_cross_entropy_with_logits

    moved = beta * view.sum(view.logp - view.old)
    member, right = (view.length > 0).to(moved.dtype), view.right.to(moved.dtype)
    size = view.in_group(member)
    score = moved - (view.in_group(member * moved) - moved) / (size - 1).clamp(min=1)
    each = binary_cross_entropy_with_logits(score, right, reduction="none")
    if balanced:
        count = view.in_group(member * right)
        mine = count.where(right > 0, size - count)
        each = each * (size / (2 * mine)).where((count > 0) & (count < size), 1.0)
    return view.share * (member * (size > 1) * each).sum()


class PACS(WholeLoss):
    """Predicts the verdict from the policy's log-ratio on the answer, relative to those of its group (PACS
    2509.02522).

    At the old policy the gradient is that of RLOO; with `balanced` it is divided by 4 p (1 - p), where p is the share
    of right answers. A group of equal verdicts has a gradient too, as soon as its log-ratios differ; elsewhere such a
    group has none.

        objective=Objective(whole=PACS(beta=1.0))
        --mechanism.objective.whole pacs --mechanism.objective.whole.beta 1.0
    """

    beta: Positive = 1.0
    balanced: bool = True  # the right answers of a group together weigh as much as its wrong ones
    does = pacs
    needs_verdict = True

    @property
    def scope(self) -> LossScope:
        return "step"
