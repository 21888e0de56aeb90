"""The geometric mean of clipped token ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View


def geometric(ratio: Tensor, advantage: Tensor, *, view: View, low: float, high: float) -> Tensor:
    """g = S on tokens whose own ratio is not clipped, else 0; S = exp(mean_t D_t), D = log w, but at most `high` where
    A > 0 and at least -`low` where A < 0.
    """
    far = ratio.log()
    held = far.clamp(max=high).where(advantage > 0, far)
    held = held.clamp(min=-low).where(advantage < 0, held)
    return view.spread(view.mean(held).exp()).masked_fill(held != far, 0.0)


@dataclass(frozen=True)
class Geometric(Gate):
    """The geometric mean of an answer's token ratios, each clipped on one side in the logarithm (GMPO 2507.20673).

    The bounds are those of the log-ratio. It takes the token ratio, one advantage an answer, and a sequence mean.
    """

    low: float = 0.4
    high: float = 0.4
    does = geometric

    @property
    def aggregations(self) -> tuple[str, ...]:
        return ("sequence-mean",)
