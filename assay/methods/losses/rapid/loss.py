"""The policy gradient with answers weighted by the current policy's likelihood over the old one's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.objective.ratios import CLAMP
from assay.part import Ddof, Positive, WholeLoss

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def rapid(view: View, *, cap: float, ddof: int, epsilon: float) -> Tensor:
    """- mean_i u_i A_i mean_t log pi, where u_i = sg[min(exp(mean_t (log pi - log pi_old)), cap)] and A_i = (R_i -
    sum_j u_j R_j / sum_j u_j) / (std_j R_j + epsilon); 0 in a group of equal rewards.
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


class RAPID(WholeLoss):
    """Off-policy REINFORCE: a capped importance weight for each answer, in the gradient and in the group's baseline
    (RAPID 2510.03515).

        objective=Objective(whole=RAPID(cap=2.0))
        --mechanism.objective.whole rapid --mechanism.objective.whole.cap 2.0
    """

    cap: Positive = 2.0
    ddof: Ddof = 1  # the group's variance is divided by its number of rows minus this
    epsilon: float = 1e-6
    does = rapid

    @property
    def scope(self) -> LossScope:
        return "step"
