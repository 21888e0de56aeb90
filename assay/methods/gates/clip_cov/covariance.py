"""The tokens that make the entropy of a softmax policy fall: those whose log-prob and advantage vary together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.part import Proportion, Selector

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def covariance(view: View, *, share: float, pick: str, low: float, high: float, open: float, side: str) -> Tensor:
    """Selects max(1, floor(share N)) of the N trained tokens, or all candidates if they are fewer."""
    trained, advantage, logp = view.mask > 0, view.streams["advantage"], view.logp.detach()
    chosen = trained.new_zeros(trained.shape)
    if bool((advantage[trained] != 0).any()):
        product = _centred(advantage, trained) * _centred(logp, trained)
        wanted = max(1, int(share * int(trained.sum())))
        if pick == "draw":
            shut = (advantage > 0) & ((logp - view.old).exp() > 1 + open)
            candidate = trained & ~shut & (product > low) & (product < high)
            order = product.new_tensor(_draws(view))
        else:
            candidate, order = trained, product
        places = order.masked_fill(~candidate, -float("inf")).topk(min(wanted, int(candidate.sum()))).indices
        chosen[places] = True
    return chosen if side == "in" else trained & ~chosen


class Covariance(Selector):
    """Selects a share of the tokens by their covariance C = (A - mean A) (log pi - mean log pi) (2505.22617).

    The means run over the trained tokens of the optimiser step. With `pick=top` the tokens with the largest C are
    selected, with `pick=draw` random tokens with low < C < high. With `side=out` the part gives all other
    tokens.

    Tokens with A > 0 and a ratio above 1 + `open` are not drawn, since the clip gives them no gradient anyway. If all
    advantages are 0, no token is selected.

        objective=Objective(keep=(Covariance(share=0.0002),))
        --mechanism.objective.keep covariance --mechanism.objective.keep.0.share 0.0002
    """

    share: Proportion = 2e-4
    pick: Literal["top", "draw"] = "top"
    low: float = 1.0  # with pick=draw, the lower bound of C
    high: float = 5.0  # with pick=draw, the upper bound of C
    open: float = 1.0
    side: Literal["in", "out"] = "in"
    does = covariance

    @property
    def scope(self) -> LossScope:
        return "step"


def _centred(x: Tensor, trained: Tensor) -> Tensor:
    return x.double() - x[trained].double().mean()


def _draws(view: View) -> np.ndarray:
    """A uniform number for each token. It depends on the request and the position in the answer, not on the place in
    the batch.
    """
    batch = view.batch
    rows = zip(batch.request, batch.lengths.tolist(), strict=True)
    return np.concatenate([view.key("draw", request).generator().random(length) for request, length in rows])
