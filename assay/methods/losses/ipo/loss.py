"""The loss of pairs of answers whose margin is to be a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.curate.pairs import SIDES
from assay.objective.preference import Preference, pairs
from assay.part import Positive

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def ipo(view: View, *, tau: float) -> Tensor:
    """Mean over pairs of (S_w - S_l - 1 / (2 tau))^2, S = mean_t log pi - log ref."""
    margin, _ = pairs(view, view.mean(view.logp - view.streams["ref"]))
    return (margin - 1 / (2 * tau)).square().sum() / max(1, len(margin))


class IPO(Preference):
    """Regresses the margin between winner and loser to a constant, so that nothing saturates where preferences are
    certain (IPO 2310.12036).

        objective=Objective(whole=IPO(tau=0.1))
        --mechanism.objective.whole ipo --mechanism.objective.whole.tau 0.1
    """

    tau: Positive = 0.1
    reads = (SIDES,)
    does = ipo
