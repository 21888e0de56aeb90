"""The loss of pairs of answers, in each of which the winner is to become more likely than the loser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.curate.pairs import SIDES
from assay.objective.preference import Preference, pairs
from assay.part import Positive

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def dpo(view: View, *, beta: float, likelihood: float) -> Tensor:
    """Mean over pairs of - log sigmoid(beta (S_w - S_l)) - likelihood mean_t log pi_w, where S = sum_t log pi - log
    ref.
    """
    from torch.nn.functional import logsigmoid

    margin, winner = pairs(view, view.sum(view.logp - view.streams["ref"]))
    each = -logsigmoid(beta * margin) - likelihood * view.mean(view.logp)[winner]
    return each.sum() / max(1, len(margin))


class DPO(Preference):
    """The winner of a pair is to become more likely than the loser, relative to the reference policy (DPO 2305.18290).

    With `likelihood` above 0 the winner's own likelihood rises too, as in iterative reasoning preference optimisation
    (2404.19733).

        objective=Objective(whole=DPO(beta=0.1))
        --mechanism.objective.whole dpo --mechanism.objective.whole.beta 0.1
    """

    beta: Positive = 0.1
    likelihood: float = 0.0
    reads = (SIDES,)
    does = dpo
