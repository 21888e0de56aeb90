"""Right answers that were stored earlier stand for the first answers to a problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.memory import Memory
from assay.memory.places import Named
from assay.methods.exploration.deepsearch.solved import HoldSolved
from assay.part import Asking, for_caller
from assay.types import Request


def recall(requests: Sequence[Request], memory: Memory, *, place: str) -> list[Request]:
    """The requests, of which the first ones of a problem are answered by its stored answers."""
    held: dict[str, list] = {}
    for episode in memory.kept.get(place, ()):
        held.setdefault(episode.request.problem.id, []).append(episode.segments)
    result = []
    for request in requests:
        answers = held.get(request.problem.id, [])
        given = request.sample < len(answers)
        result.append(dataclasses.replace(request, prefix=answers[request.sample], max_new=0) if given else request)
    return result


class Recall(Named, Asking):
    """The stored right answers to a problem replace its first samples; the policy is not asked for these.

    ask=(Recall(),)
    --mechanism.ask recall
    """

    reads = (HoldSolved,)

    name: str = for_caller("solved")  # the name of the part that stores the answers
    does = recall
