"""The loss of right and wrong answers without pairs, relative to how the policy has moved on answers at large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.curate.grouping import MISMATCHED
from assay.objective.preference import Preference
from assay.part import Positive

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def kto(view: View, *, beta: float, balance: float) -> Tensor:
    """Mean over answers of l (1 - sigmoid(beta (S - z))) if right, 1 - sigmoid(beta (z - S)) if wrong, where z =
    sg[max(0, mean of S over mismatched answers)], S = sum_t log pi - log ref and l = balance n_wrong / n_right; z = 0
    if there is no mismatched answer, l = 1 if all answers are right or all are wrong.
    """
    score = view.sum(view.logp - view.streams["ref"])
    trains = view.length > 0
    tags = view.batch.tag
    apart = trains.new_zeros(trains.shape) if tags is None else trains & trains.new_tensor(tags.are(MISMATCHED))
    level = (score.detach() * apart).sum() / apart.sum().clamp(min=1)
    gain = beta * (score - level.clamp(min=0))
    right, wrong = trains & ~apart & view.right, trains & ~apart & ~view.right
    weight = balance * wrong.sum() / right.sum() if right.any() and wrong.any() else 1.0
    return view.share * (weight * right * (-gain).sigmoid() + wrong * gain.sigmoid()).sum()


class KTO(Preference):
    """Raises right and lowers wrong answers, without pairs, relative to a level that mismatched answers give (KTO
    2402.01306).

        objective=Objective(whole=KTO(beta=0.1))
        --mechanism.objective.whole kto --mechanism.objective.whole.beta 0.1
    """

    beta: Positive = 0.1
    balance: float = 1.0  # total weight of right answers divided by that of wrong answers, in each optimiser step
    does = kto
    needs_verdict = True
