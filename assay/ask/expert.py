"""Demonstrations in the group: whole, as answers of somebody else, or begun, for the policy to go on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask.demonstrate import worked
from assay.part import Asking
from assay.types import Request, first_tokens

if TYPE_CHECKING:
    from assay.ask import Codec

EXPERT = "expert"


def expert(requests: Sequence[Request], *, codec: Codec, group_size: int, count: int) -> list[Request]:
    """Nothing is generated for these; one that is longer than the limit is cut there."""
    return [
        dataclasses.replace(
            request, prefix=first_tokens(worked(request.problem, codec), request.max_new), max_new=0, tag=EXPERT
        )
        if request.sample >= group_size - count
        else request
        for request in requests
    ]


@dataclass(frozen=True)
class Expert(Asking):
    """The last `count` answers of each group are the worked solution, verified like any other (LUFFY 2504.14945)."""

    solutions = "all"

    count: int = 1
    does = expert

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if 0 <= self.count < scale.group_size:
            return None
        return (
            f"ask.count: of {scale.group_size} answers from 0 to {scale.group_size - 1} are an expert's, not "
            f"{self.count}."
        )


def solution_ids(request: Request, codec: Codec) -> np.ndarray:
    """The worked solution and its end token, of a problem whose environment has no part in it."""
    return np.concatenate([segment.ids for segment in worked(request.problem, codec)])
