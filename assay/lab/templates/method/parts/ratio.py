"""The importance ratio of each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.part import Positive, Ratio

if TYPE_CHECKING:
    from torch import Tensor


def tempered(logp: Tensor, old: Tensor, *, power: float) -> Tensor:
    """w = (pi / pi_old)^power."""
    return (power * (logp - old)).clamp(-20, 20).exp()


class MyMethod(Ratio):
    """Fill in: what the ratio is (and the arXiv id). Here that of the token, to a power."""

    power: Positive = 0.5
    does = tempered
