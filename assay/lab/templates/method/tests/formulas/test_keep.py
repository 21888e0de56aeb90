"""Which tokens, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from assay.lab.templates.method.parts.keep import MyMethod
from assay.part import bind


def test_by_hand() -> None:
    view: Any = SimpleNamespace(mu=torch.tensor([-2.0, -0.5]))
    assert bind(MyMethod(below=-1.0))(view).tolist() == [True, False]
    assert bind(MyMethod())(view).all()
