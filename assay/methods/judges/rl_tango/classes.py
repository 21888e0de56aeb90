"""Verdicts on right and on wrong answers weigh as much as each other, whichever are more frequent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.memory import Memory
from assay.part import Proportion, Remembering, Shape
from assay.tasks.judging import JUDGE
from assay.types import Row

STORE = "classes"


def judges_right(row: Row) -> bool | None:
    """Whether the row judges a right answer; None if it is no judgement of one answer."""
    problem = row.episode.request.problem
    return problem.spec["score"] == problem.spec["most"] if problem.task.startswith(JUDGE) else None


def counted(rows: Sequence[Row], before: float | None, keep: float) -> float | None:
    """The share of judgements that are about right answers, as a moving mean; None if there were none yet."""
    known = [found for row in rows if (found := judges_right(row)) is not None and row.in_group]
    if not known:
        return before
    now = sum(known) / len(known)
    return now if before is None else keep * before + (1 - keep) * now


def count_classes(memory: Memory, *, rows: Sequence[Row], keep: float, place: str = STORE) -> Memory:
    """share <- keep share + (1 - keep) share of the step; the first value is that of the step."""
    share = counted(rows, memory.store(place).get("share"), keep)
    return memory if share is None else memory.keep(place, {"share": share})


class CountClasses(Remembering):
    """How many of the judged answers are right, as a moving mean (RL Tango 2505.15034).

    remember=(CountClasses(keep=0.9),)
    --mechanism.remember count-classes --mechanism.remember.0.keep 0.9
    """

    keeps = STORE

    keep: Proportion = 0.9  # the share of the mean that stays in a step
    does = count_classes


def by_class(rows: Sequence[Row], memory: Memory, *, keep: float, place: str = STORE) -> list[Row]:
    """A <- s A, with s+ = c / sqrt(p) of judgements of right answers and s- = c / sqrt(1 - p) of wrong ones.

    p is the moving share of right answers, this step included; c = 1 / (sqrt(p) + sqrt(1 - p)), so that s is 1 on
    average.
    """
    share = counted(rows, memory.store(place).get("share"), keep)
    if share is None:
        return list(rows)
    total = math.sqrt(share) + math.sqrt(1 - share)
    result = []
    for row in rows:
        right = judges_right(row)
        own = share if right else 1 - share
        if right is None or row.advantage is None or own == 0:
            result.append(row)
        else:
            result.append(row.mark(advantage=row.advantage / (math.sqrt(own) * total)))
    return result


class ByClass(Shape):
    """Advantages of judgements, in inverse proportion to the root of how frequent right, or wrong, answers are (RL
    Tango 2505.15034). Without this a verifier soon gives every answer the verdict that fits most.

    Rule("verifier", shape=(ByClass(),))
    --mechanism.rules.0.shape by-class --mechanism.rules.0.shape.0.keep 0.9
    """

    reads = (CountClasses,)

    keep: Proportion = 0.9  # of the moving mean; the same as of `count-classes`
    does = by_class
