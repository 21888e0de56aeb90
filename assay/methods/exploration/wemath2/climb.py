"""A walk of each problem through its variants: to harder ones when it was solved, aside or out when it was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.memory import Memory
from assay.methods.exploration.wemath2.variants import at_level, basic, family_of, levels_of
from assay.part import Count, Remembering, Source, scales_with
from assay.rng import Key
from assay.source.epochs import in_epochs, set_of
from assay.types import Episode, Problem

if TYPE_CHECKING:
    from assay.source import Pool

STORE = "climb"
X, Y, Z = 1, 2, 4  # a variant is harder in its context, in what it shows, in its steps
ARROWS: Mapping[int, tuple[int | None, int | None]] = {  # variant -> the next after a right answer, and after none
    0: (X, None),
    X: (X + Y, Y),
    Y: (X + Y, None),
    X + Y: (X + Z, Z),
    Z: (X + Z, None),
    X + Z: (X + Y + Z, Y + Z),
    Y + Z: (X + Y + Z, None),
    X + Y + Z: (None, None),
}


def climb(memory: Memory, *, episodes: Sequence[Episode], pool: Pool, place: str = STORE) -> Memory:
    """Each problem of the step goes along its arrow: that of `right` if any of its answers was right.

    Problem -> the level that comes next, and whether it was solved. A walk that ends is forgotten. Answers to hinted
    questions, and verdicts that failed for a reason of ours, do not count.
    """
    store, solved = memory.store(place), {}
    for episode in episodes:
        if episode.verified and not episode.request.helped:
            problem = episode.request.problem
            _, right = solved.get(family_of(problem), (problem, False))
            solved[family_of(problem)] = problem, right or episode.right
    for name, (problem, right) in solved.items():
        store.pop(name, None)
        levels = levels_of(pool, problem)
        arrow = ARROWS.get(problem.level - levels[0], (None, None))[0 if right else 1]
        if arrow is not None and levels[0] + arrow in levels:
            store[name] = [levels[0] + arrow, right]
    return memory.keep(place, store)


class Climb(Remembering):
    """Keeps for each problem of the set which of its variants comes next (We-Math 2.0, 2508.10433)."""

    keeps = STORE
    does = climb
    needs_verdict = True


def difficulty_graph(
    memory: Memory, first: int, count: int, *, pool: Pool, drawn: int, size: int, place: str = STORE
) -> list[Problem]:
    """First the variants that follow a failure, then variants that follow a success, then problems at their base."""
    walks: dict[str, Any] = memory.store(place)
    bases = set_of(basic(pool), memory.seed, size)
    under_way = sorted((base for base in bases if base.id in walks), key=lambda base: walks[base.id][1])
    due = [at_level(base, walks[base.id][0]) for base in under_way]
    if (missing := first + count - len(due)) > 0:
        others = [base for base in bases if base.id not in walks] or list(bases)
        key = Key(memory.seed)("difficulty-graph", memory.stage)
        due += in_epochs(others, key, memory.step * drawn, missing)
    return due[first : first + count]


class DifficultyGraph(Source):
    """Leads each problem of a set from its base to harder variants, as far as the policy can follow (We-Math 2.0,
    2508.10433).

    A variant that was solved leads to a harder one, another one to an easier one or out. A problem that is out comes
    again at its base. The first level of a share is the base, and level base + x + 2y + 4z the variant with x, y and z.

        source=DifficultyGraph(size=512), remember=(Climb(),)
        --mechanism.source difficulty-graph --mechanism.remember climb
    """

    reads = (Climb,)

    size: Count = scales_with("num_prompts", 512)  # problems of the set
    does = difficulty_graph
