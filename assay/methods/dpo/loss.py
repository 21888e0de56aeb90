"""Each pair of answers, the winner more likely than the loser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.curate.pairs import SIDES
from assay.objective.preference import Preference, pairs

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def dpo(view: View, *, beta: float, likelihood: float) -> Tensor:
    """Mean over pairs of - log sigmoid(beta (S_w - S_l)) - likelihood mean_t log pi_w, S = sum_t log pi - log ref."""
    from torch.nn.functional import logsigmoid

    margin, winner = pairs(view, view.sum(view.logp - view.streams["ref"]))
    each = -logsigmoid(beta * margin) - likelihood * view.mean(view.logp)[winner]
    return each.sum() / max(1, len(margin))


@dataclass(frozen=True)
class DPO(Preference):
    """The winner more likely than the loser, in units of the reference (2305.18290); with `likelihood` also likelier
    by itself, as in iterative reasoning preference optimisation (2404.19733).
    """

    beta: float = 0.1
    likelihood: float = 0.0
    needs = (SIDES,)
    does = dpo
