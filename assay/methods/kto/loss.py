"""Right and wrong answers without pairs, beside what the policy thinks of answers at large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.curate.grouping import MISMATCHED
from assay.objective.preference import Preference

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def kto(view: View, *, beta: float, balance: float) -> Tensor:
    """Mean over answers of l (1 - sigmoid(beta (S - z))) if right, 1 - sigmoid(beta (z - S)) if wrong, with
    z = sg[max(0, mean of S over mismatched answers)], S = sum_t log pi - log ref and l = balance n_wrong / n_right;
    z = 0 where nothing is mismatched, l = 1 where all answers are alike.
    """
    score = view.sum(view.logp - view.streams["ref"])
    trains = view.length > 0
    apart = trains & trains.new_tensor([tag == MISMATCHED for tag in view.batch.tag or [""] * len(view.batch)])
    level = (score.detach() * apart).sum() / apart.sum().clamp(min=1)
    gain = beta * (score - level.clamp(min=0))
    right, wrong = trains & ~apart & view.right, trains & ~apart & ~view.right
    weight = balance * wrong.sum() / right.sum() if right.any() and wrong.any() else 1.0
    return view.share * (weight * right * (-gain).sigmoid() + wrong * gain.sigmoid()).sum()


@dataclass(frozen=True)
class KTO(Preference):
    """Right answers above, wrong ones below what the policy thinks of answers at large; without pairs (2402.01306)."""

    beta: float = 0.1
    balance: float = 1.0  # of all right answers of the optimiser step to all wrong ones, which weigh 1 each
    does = kto
