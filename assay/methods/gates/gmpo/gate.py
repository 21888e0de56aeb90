"""The geometric mean of clipped token ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def geometric(ratio: Tensor, advantage: Tensor, *, view: View, low: float, high: float) -> Tensor:
    """g = S on tokens whose own ratio is not clipped, else 0; S = exp(mean_t D_t), where D = log w, bounded by `high`
    from above if A > 0 and by -`low` from below if A < 0.
    """
    far = ratio.log()
    held = far.clamp(max=high).where(advantage > 0, far)
    held = held.clamp(min=-low).where(advantage < 0, held)
    return view.spread(view.mean(held).exp()).masked_fill(held != far, 0.0)


class Geometric(Gate):
    """The geometric mean of an answer's token ratios, each clipped on one side of its logarithm (GMPO 2507.20673).

    `low` and `high` bound the log-ratio. The gate needs the token ratio, one advantage an answer and a mean over
    answers.

        objective=Objective(gate=Geometric(low=0.4))
        --mechanism.objective.gate geometric --mechanism.objective.gate.low 0.4
    """

    low: float = 0.4
    high: float = 0.4
    does = geometric
    off_policy = True

    @property
    def aggregations(self) -> tuple[str, ...]:
        return ("sequence-mean",)
