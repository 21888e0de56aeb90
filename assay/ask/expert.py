"""Off-policy answers in a group: some of its answers are worked solutions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.ask.demonstrate import worked
from assay.part import Asking
from assay.types import Request, first_tokens

if TYPE_CHECKING:
    from assay.ask import Codec

EXPERT = "expert"


def expert(requests: Sequence[Request], *, codec: Codec, group_size: int, count: int) -> list[Request]:
    """The requests for the last `count` samples of a group get the worked solution as their whole answer. A solution
    longer than the generation limit is cut there.
    """
    return [
        dataclasses.replace(
            request, prefix=first_tokens(worked(request.problem, codec), request.max_new), max_new=0, tag=EXPERT
        )
        if request.sample >= group_size - count
        else request
        for request in requests
    ]


class Expert(Asking):
    """The last `count` answers of each group are the worked solution, verified like any other (LUFFY 2504.14945).

    ask=(Expert(count=1),)
    --mechanism.ask expert --mechanism.ask.0.count 1
    """

    solutions = "all"

    count: int = 1  # of the `group_size` answers
    does = expert
    needs = ()

    def refusal(self, *, scale: Any, mechanism: Any) -> str | None:
        if self.count < scale.group_size:
            return None
        return (
            f"ask.count: of {scale.group_size} answers from 0 to {scale.group_size - 1} are an expert's, not "
            f"{self.count}. Set ask.count or scale.group_size."
        )


def solution_ids(request: Request, codec: Codec) -> np.ndarray:
    """Token ids of the worked solution and an end token, of a problem whose task has no environment."""
    return np.concatenate([segment.ids for segment in worked(request.problem, codec)])
