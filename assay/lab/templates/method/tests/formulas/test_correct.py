"""The weights by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from assay.lab.templates.method.parts.correct import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    """Ratios of 1/2 and of 4, of which the second is capped."""
    view: Any = SimpleNamespace(old=torch.tensor([0.0, 0.0]), mu=torch.tensor([math.log(2.0), -math.log(4.0)]))
    assert bind(MyMethod(cap=2.0))(view).tolist() == pytest.approx([0.5, 2.0])
