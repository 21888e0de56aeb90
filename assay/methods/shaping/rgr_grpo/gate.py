"""The weight of refined answers, as the paper prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.part import Gate

if TYPE_CHECKING:
    from torch import Tensor


def printed(ratio: Tensor, advantage: Tensor, *, gamma: float) -> Tensor:
    """g = w / (w + gamma)."""
    return ratio / (ratio + gamma)


class Printed(Gate):
    """The gate of f(w) = pi / (pi_old + gamma) in the one update of a step, where pi_old = pi: the likelier a token is,
    the more of the gradient it has. With `shaped`, LUFFY's form, tokens of probability gamma have the most.

    RGR-GRPO 2511.12344 prints this form for refined answers, with the probability of a token as its ratio w.
    """

    gamma: float = 0.1
    does = printed
    needs = ("texts",)

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if scale.num_updates == 1:
            return None
        return (
            f"printed: {scale.num_updates} updates of a step came, and it knows the old probability in the first one "
            "alone. Set scale.num_minibatches and scale.num_epochs to 1."
        )
