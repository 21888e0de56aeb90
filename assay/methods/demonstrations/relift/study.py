"""Worked solutions of failed problems, studied when there are enough of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from assay.ask import Codec
from assay.ask.demonstrate import worked
from assay.memory import Memory
from assay.memory.places import Named
from assay.methods.demonstrations.relift.unsolved import HoldUnsolved
from assay.part import Count, Expansion, for_caller, scales_with
from assay.types import Episode, Request


def study(
    episodes: Sequence[Episode], memory: Memory, *, codec: Codec, size: int, student: str, place: str
) -> list[Request]:
    """Requests for the first `size` stored problems, answered by their worked solutions; at most once a step.

    A solution that reaches the limit is not shown, since the cut would teach the policy to stop in the middle.
    """
    held = memory.kept.get(place, ())[:size]
    if len(held) < size or any(episode.request.role == student for episode in episodes):
        return []
    asked = []
    for number, episode in enumerate(held):
        request, prefix = episode.request, worked(episode.request.problem, codec)
        if sum(map(len, prefix)) <= request.max_new:
            changes = {"group": f"{memory.step}:{student} {number}", "role": student, "sample": 0, "tag": student}
            asked.append(dataclasses.replace(request, prefix=prefix, max_new=0, **changes))
    return asked


class Study(Named, Expansion):
    """When `size` failed problems are stored, their worked solutions are shown to another role of the policy (ReLIFT
    2506.07527).

        expand=(Study(size=128),)
        --mechanism.expand study --mechanism.expand.0.size 128
    """

    solutions = "all"
    reads = (HoldUnsolved,)

    size: Count = scales_with("num_prompts", 128, at=128)
    name: str = for_caller("unsolved")  # the name of the part that stores the problems
    student: str = "student"  # the role that is shown the solutions
    does = study
