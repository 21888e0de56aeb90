"""The squared log-ratio, which replaces the KL divergence to the old policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Term

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def squared_ratio(view: View, *, weight: float) -> Tensor:
    """weight / 2 (sum_t log pi - log pi_old)^2 / T."""
    whole = view.sum(view.logp - view.old)
    return view.spread(weight / 2 * whole.square() / view.length.clamp(min=1))


class SquaredRatio(Term):
    """Half the squared log-ratio of the whole answer to the old policy, spread over its tokens (Kimi k1.5 2501.12599).

    With the aggregation `sequence-sum` the term is the mean over answers of weight / 2 (log pi(y) / pi_old(y))^2.

        objective=Objective(regularise=(SquaredRatio(weight=0.1),))
        --mechanism.objective.regularise squared-ratio --mechanism.objective.regularise.0.weight 0.1
    """

    weight: float = 0.1
    does = squared_ratio
