"""What the paper says of the tokens of a step, in plain Python."""

from __future__ import annotations

from collections.abc import Callable

from formulas import TokenLoss, centred, over_tokens, surrogate
from oracles import Answer, Oracle, Step
from torch import Tensor


def with_divergence(divergence: Callable[[Tensor, Tensor], Tensor]) -> TokenLoss:
    """DAPO's clip and 1e-4 times a divergence of (log w, w)."""

    def token_loss(answer: Answer, step: Step) -> Tensor:
        loss = surrogate(answer.ratio, answer.advantage, 0.2, 0.28, 10.0)
        return loss + 1e-4 * divergence(answer.logp - answer.old, answer.ratio)

    return token_loss


ORACLES = {
    "rpg-fkl": Oracle(centred, with_divergence(lambda log, w: -log), over_tokens),
    "rpg-ufkl": Oracle(centred, with_divergence(lambda log, w: w - log - 1), over_tokens),
    "rpg-rkl": Oracle(centred, with_divergence(lambda log, w: w * log), over_tokens),
    "rpg-urkl": Oracle(centred, with_divergence(lambda log, w: w * log - w), over_tokens),
}
TESTED = dict.fromkeys(
    (f"rpg-{kind}-reinforce" for kind in ("fkl", "ufkl", "rkl", "urkl")), "test_each_row_of_the_table_by_enumeration"
)
