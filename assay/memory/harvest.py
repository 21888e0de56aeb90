"""A replay buffer of right answers, from which a later stage learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory.episodes import bare
from assay.memory.places import Named
from assay.part import Remembering, for_caller
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory


def harvest(memory: Memory, *, episodes: Sequence[Episode], most: int, place: str) -> Memory:
    """The memory with the new right answers of this step. Two answers are the same if their tokens are. Answers of
    earlier stages stay.
    """
    held = list(memory.kept.get(place, ()))
    known = {(e.request.problem.id, e.stream("ids").tobytes()) for e in held}
    counts: dict[str, int] = dict(memory.store(place))
    for episode in episodes:
        problem = episode.request.problem.id
        same, asked = (problem, episode.stream("ids").tobytes()), f"{memory.stage}/{problem}"
        if episode.right and episode.provenance == "fresh" and same not in known and counts.get(asked, 0) < most:
            held.append(bare(episode))
            known.add(same)
            counts[asked] = counts.get(asked, 0) + 1
    return memory.hold(place, held).keep(place, counts)


class Harvest(Named, Remembering):
    """Holds the right answers that the policy generated, each once, at most `most` for each problem in each stage.

    For your own recipes: to keep right answers for later: `rehearse` of `ask` trains on them, in a later step or stage.

    remember=(Harvest(most=4),)
    --mechanism.remember harvest --mechanism.remember.0.most 4
    """

    keeps = "harvest"

    most: int = 4
    name: str = for_caller("harvest")  # of the store; a part that reads the store has the same name
    does = harvest
    needs_verdict = True
