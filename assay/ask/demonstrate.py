"""Demonstrations: worked solutions take the place of generated answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError
from assay.memory import Memory
from assay.part import Asking
from assay.tasks import task
from assay.tasks.worked import turns
from assay.types import Problem, Request, Segment

if TYPE_CHECKING:
    from assay.ask import Codec


def demonstrate(requests: Sequence[Request], memory: Memory, *, codec: Codec) -> list[Request]:
    """Each request gets the worked solution as its prefix and no new tokens, unless it has a prefix already."""
    return [
        request if request.prefix else dataclasses.replace(request, prefix=worked(request.problem, codec), max_new=0)
        for request in requests
    ]


class Demonstrate(Asking):
    """Supervised fine-tuning: every answer is the worked solution, and the policy generates nothing.

    A request that already has a prefix keeps it. The replies of a world within a solution are not imitated.

        ask=(Demonstrate(),)
        --mechanism.ask demonstrate
    """

    solutions = "all"
    does = demonstrate
    needs = ()
    imitates = True


def worked(problem: Problem, codec: Codec) -> tuple[Segment, ...]:
    """The worked solution and an end token, as segments. Replies of the world have the origin `ENV`."""
    if problem.solution is None:
        raise DataError(f"problem {problem.id} of '{problem.task}' has no worked solution to imitate.")
    *before, (last, by) = [(codec.encode(text), origin) for text, origin in turns(problem, task(problem.task))]
    pieces = [*before, (np.append(last, np.int32(min(codec.end_ids))), by)]
    return tuple(Segment(ids=ids, origin=np.full(len(ids), origin, dtype=np.int8)) for ids, origin in pieces)
