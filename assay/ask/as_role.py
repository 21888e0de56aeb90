"""Requests that the player of a given role answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking
from assay.types import Request


def as_role(requests: Sequence[Request], *, role: str) -> list[Request]:
    """The requests, marked with the role."""
    return [dataclasses.replace(request, role=role) for request in requests]


class AsRole(Asking):
    """The player of this role answers the prompts; here the one who poses problems.

    ask=(AsRole(role="proposer"),)
    --mechanism.ask as-role --mechanism.ask.0.role proposer
    """

    role: str = "proposer"
    does = as_role
