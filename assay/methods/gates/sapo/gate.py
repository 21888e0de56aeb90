"""A gate that closes smoothly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Gate, Positive

if TYPE_CHECKING:
    from torch import Tensor


def soft(ratio: Tensor, advantage: Tensor, *, up: float, down: float) -> Tensor:
    """g = w f'(w) = 4 w q (1 - q), where q = sigmoid(tau (w - 1)) and tau = up if A > 0, else down."""
    tau = ratio.new_full(ratio.shape, down).masked_fill(advantage > 0, up)
    far = tau * (ratio - 1)
    return 4 * ratio * far.sigmoid() * (-far).sigmoid()


class Soft(Gate):
    """f(w) = 4 / tau sigmoid(tau (w - 1)): the gate falls as the ratio leaves 1, faster if A <= 0 (SAPO 2511.20347).

    A tau near 2 / epsilon imitates a clip of epsilon; the paper's values of tau are far looser.

        objective=Objective(gate=Soft(up=1.0))
        --mechanism.objective.gate soft --mechanism.objective.gate.up 1.0
    """

    up: Positive = 1.0
    down: Positive = 1.05
    does = soft
    off_policy = True
