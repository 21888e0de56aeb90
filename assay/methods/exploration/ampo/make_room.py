"""Traces of teachers replace wrong rollouts, so that groups keep their size."""

from __future__ import annotations

from collections.abc import Sequence

from assay.curate.parts import leave_out
from assay.memory import Memory
from assay.part import Curator
from assay.types import Row, by_group


def make_room(rows: Sequence[Row], *, memory: Memory) -> list[Row]:
    """Leaves out one wrong rollout, drawn at random, for each right trace, and every trace that is wrong or finds no
    place.
    """
    out: set[int] = set()
    for name, group in by_group(rows).items():
        teachers = [i for i in group.places if rows[i].episode.provenance == "teacher"]
        right = [i for i in teachers if rows[i].right]
        wrong = [i for i in group.places if i not in teachers and not rows[i].right and rows[i].in_group]
        order = memory.key("make-room", memory.step, name).generator().permutation(len(wrong)).tolist()
        out.update(wrong[place] for place in order[: len(right)])
        out.update(set(teachers) - set(right[: len(wrong)]))
    return leave_out(rows, out)


class MakeRoom(Curator):
    """A right trace of a teacher replaces a wrong rollout of the policy, drawn at random (AMPO 2510.02227).

    A wrong trace is left out itself. Either way the group keeps its size.

        curate=(MakeRoom(),)
        --mechanism.curate make-room
    """

    does = make_room
    needs_verdict = True
