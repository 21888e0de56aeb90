"""The term by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from assay.lab.templates.method.parts.extra import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """3^2 / 2 a tenth."""
    view: Any = SimpleNamespace(logp=torch.tensor([-1.0, -4.0]), old=torch.tensor([-1.0, -1.0]))
    assert bind(MyMethod(weight=0.1))(view).tolist() == pytest.approx([0.0, 0.45])
