"""Prompts for new problems, among others or alone: each is answered once, by the player who poses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.part import Asking
from assay.tasks.pose import PREFIX
from assay.types import Request


def posed_once(requests: Sequence[Request], *, role: str) -> list[Request]:
    """The requests. Of each prompt for a new problem one is left, which the role answers."""
    return [
        dataclasses.replace(request, role=role) if request.problem.task.startswith(PREFIX) else request
        for request in requests
        if not request.problem.task.startswith(PREFIX) or request.sample == 0
    ]


class PosedOnce(Asking):
    """A prompt for a new problem is answered once, by this role; other prompts stay as they are.

    ask=(PosedOnce(role="proposer"),)
    --mechanism.ask posed-once --mechanism.ask.0.role proposer
    """

    role: str = "proposer"
    does = posed_once
