"""Solutions of problems that nobody solved, studied when there are enough of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from assay.augment import Codec
from assay.augment.demonstrate import worked
from assay.memory import Memory
from assay.part import Part, scales_with
from assay.types import Episode, Request


@dataclass(frozen=True)
class Study(Part):
    """When `size` problems are held, another role of the policy is shown their worked solutions (ReLIFT 2506.07527)."""

    size: int = scales_with("num_prompts", 128)
    name: str = "unsolved"
    student: str = "student"


def study(
    episodes: Sequence[Episode], memory: Memory, *, codec: Codec, size: int, name: str, student: str
) -> list[Request]:
    """Requests for the first `size` of them, which are what they are asked for; once a step. One whose solution is as
    long as the limit or longer would be taught to stop in the middle, and is not shown.
    """
    held = memory.kept.get(name, ())[:size]
    if len(held) < size or any(episode.request.role == student for episode in episodes):
        return []
    asked = []
    for place, episode in enumerate(held):
        request, prefix = episode.request, worked(episode.request.problem, codec)
        if sum(map(len, prefix)) <= request.max_new:
            changes = {"group": f"{memory.step}:{student} {place}", "role": student, "sample": 0, "tag": student}
            asked.append(dataclasses.replace(request, prefix=prefix, max_new=0, **changes))
    return asked
