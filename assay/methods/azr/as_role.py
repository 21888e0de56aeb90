"""The requests are those of the player who poses problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from assay.part import Asking
from assay.types import Request


def as_role(requests: Sequence[Request], *, role: str) -> list[Request]:
    return [dataclasses.replace(request, role=role) for request in requests]


@dataclass(frozen=True)
class AsRole(Asking):
    """Whoever plays this role is asked."""

    role: str = "proposer"
    does = as_role
