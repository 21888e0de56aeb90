"""How near the results of a kernel must be to a formula in fp64, and memory that shows what was never written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

FORMATS = (torch.float32, torch.bfloat16)


def near(got: Tensor, exact: Tensor, *, roundings: float = 1, sums: float = 16) -> None:
    """That `got` is `exact` but for so many roundings to its format, and for fp32 sums of so many roundings.

    Triton's interpreter cuts numbers off where a GPU rounds them, so that one rounding is a whole unit.
    """
    assert got.shape == exact.shape, f"{tuple(got.shape)}, expected {tuple(exact.shape)}"
    assert torch.isfinite(got).all(), "a number is not finite"
    unit = roundings * torch.finfo(got.dtype).eps + sums * torch.finfo(torch.float32).eps
    off = float((got.double() - exact).abs().max()) if got.numel() else 0.0
    allowed = unit * max(1.0, float(exact.abs().max()) if exact.numel() else 0.0)
    assert off <= allowed, f"off by {off:.3g}; rounding explains {allowed:.3g}"


@contextmanager
def poisoned() -> Iterator[None]:
    """Inside the block, new memory holds NaN until it is written."""

    def filled(make: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def make_it(*arguments: Any, **how: Any) -> Tensor:
            made = make(*arguments, **how)
            return made.fill_(torch.nan) if made.is_floating_point() else made

        return make_it

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((torch, "empty"), (torch, "empty_like"), (Tensor, "new_empty")):
            patch.setattr(owner, name, filled(getattr(owner, name)))
        yield


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * scale).to(dtype)
