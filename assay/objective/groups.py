"""Losses that compare the answers of a group at the current weights. A group's members are its rows with a token that
trains; a group of one has nothing to compare with and adds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.objective.ratios import CLAMP
from assay.part import Part

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import Scope


@dataclass(frozen=True)
class PACS(Part):
    """The verdict as a label, predicted from how far the policy moved on the answer beside its group (2509.02522).

    At the old policy it is RLOO, with balanced classes divided by 4 p (1 - p), p the share of right answers. A group
    that is all alike is pulled together as soon as its log-ratios differ: an exception to zero for such groups.
    """

    beta: float = 1.0
    balanced: bool = True  # the right and the wrong answers of a group weigh the same, where it has both

    @property
    def scope(self) -> Scope:
        return "step"


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


@dataclass(frozen=True)
class RAPID(Part):
    """The score function off policy: each answer weighs what it would now, in its group's baseline too (2510.03515)."""

    cap: float = 2.0
    ddof: int = 1
    epsilon: float = 1e-6

    @property
    def scope(self) -> Scope:
        return "step"


def rapid(view: View, *, cap: float, ddof: int, epsilon: float) -> Tensor:
    """- mean_i u_i A_i mean_t log pi with u_i = sg[min(exp(mean_t (log pi - log pi_old)), cap)] and
    A_i = (R_i - sum_j u_j R_j / sum_j u_j) / (std_j R_j + epsilon); 0 in a group of equal rewards.
    """
    member = (view.length > 0).to(view.logp.dtype)
    reward = view.outcome.where(member > 0, 0.0)
    use = member * view.mean(view.logp.detach() - view.old).clamp(min=-CLAMP).exp().clamp(max=cap)
    size = view.in_group(member)
    far = member * (reward - view.in_group(reward) / size)
    spread = (view.in_group(far.square()) / (size - ddof)).sqrt()
    differs = view.in_group((far.abs() > 1e-6 * reward.abs().clamp(min=1)).to(far.dtype)) > 0
    baseline = view.in_group(use * reward) / view.in_group(use)
    advantage = ((reward - baseline) / (spread + epsilon)).where(differs, 0.0).detach()
    return -view.share * (use * advantage * view.mean(view.logp)).sum()
