"""How the policy is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking, Positive
from assay.types import Request


def warmed(requests: Sequence[Request], *, factor: float) -> list[Request]:
    """T <- factor T for every second answer of a group."""
    return [
        dataclasses.replace(request, temperature=factor * request.temperature) if request.sample % 2 else request
        for request in requests
    ]


class MyMethod(Asking):
    """Fill in: how the requests change (and the arXiv id). Here every second answer is sampled more warmly."""

    factor: Positive = 1.2
    does = warmed
