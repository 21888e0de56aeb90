"""Which tokens make the entropy fall: for a softmax policy, those whose log-prob and advantage vary together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.part import Selector

if TYPE_CHECKING:
    from torch import Tensor

    from assay.objective.view import View
    from assay.part import LossScope


def covariance(view: View, *, share: float, pick: str, low: float, high: float, open: float, side: str) -> Tensor:
    """max(1, floor(share N)) of the N trained tokens, or of the candidates among them as many as there are."""
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


@dataclass(frozen=True)
class Covariance(Selector):
    """A share of the tokens of the optimiser step by C = (A - mean A) (log pi - mean log pi), means over trained tokens
    (2505.22617): those with the largest C, or with `pick=draw` any whose C lies in the band; or with `side=out` all
    others.

    `open` is how far above 1 a ratio may be where A > 0: what the gate has shut is not drawn. Where all advantages are
    0, nothing is selected.
    """

    share: float = 2e-4
    pick: Literal["top", "draw"] = "top"
    low: float = 1.0  # C of the band, from here
    high: float = 5.0  # to here
    open: float = 1.0
    side: Literal["in", "out"] = "in"
    does = covariance

    @property
    def scope(self) -> LossScope:
        return "step"


def _centred(x: Tensor, trained: Tensor) -> Tensor:
    return x.double() - x[trained].double().mean()


def _draws(view: View) -> np.ndarray:
    """A uniform number for each token, that of its place in its answer, wherever the answer stands in the batch."""
    batch = view.batch
    rows = zip(batch.request, batch.lengths.tolist(), strict=True)
    return np.concatenate([view.key("draw", request).generator().random(length) for request, length in rows])
