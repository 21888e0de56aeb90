"""A gate that closes softly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def soft(ratio: Tensor, advantage: Tensor, *, up: float, down: float) -> Tensor:
    """g = w f'(w) = 4 w q (1 - q), q = sigmoid(tau (w - 1)), tau = up where A > 0, else down."""
    tau = ratio.new_full(ratio.shape, down).masked_fill(advantage > 0, up)
    far = tau * (ratio - 1)
    return 4 * ratio * far.sigmoid() * (-far).sigmoid()


@dataclass(frozen=True)
class Soft(Gate):
    """f(w) = 4 / tau sigmoid(tau (w - 1)): the push fades as the ratio leaves 1, faster where A <= 0 (SAPO
    2511.20347).

    A clip of epsilon is imitated by a tau near 2 / epsilon; the paper's are far looser.

        objective=Objective(gate=Soft(up=1.0))
        --mechanism.objective.gate soft --mechanism.objective.gate.up 1.0
    """

    up: float = 1.0
    down: float = 1.05
    does = soft
