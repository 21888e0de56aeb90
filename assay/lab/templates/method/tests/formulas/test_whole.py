"""The loss by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from assay.lab.templates.method.parts.whole import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """Tokens at log-ratios of 0 and 1 with the advantage 1: (1 + 0) / 2 times their weight."""
    streams = {"advantage": torch.ones(2)}
    view: Any = SimpleNamespace(logp=torch.tensor([0.0, 1.0]), old=torch.zeros(2), mask=torch.ones(2), streams=streams)
    assert bind(MyMethod(beta=1.0))(view, weight=torch.tensor([0.2, 0.2])).item() == pytest.approx(0.1)
