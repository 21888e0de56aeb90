"""The problems that were hardest in the stage before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.memory import Memory
from assay.part import Count, Proportion, Remembering, Source, scales_with
from assay.rng import Key
from assay.source.epochs import in_epochs, set_of
from assay.types import Episode, Problem

if TYPE_CHECKING:
    from assay.source import Pool

STORE = "stage-rates"


def stage_rates(memory: Memory, *, episodes: Sequence[Episode], place: str = STORE) -> Memory:
    """Problem -> (right, tried, pass rate of its first visit), of the present stage and of the one before.

    Answers to hinted questions, and verdicts that failed for a reason of ours, do not count.
    """
    store = memory.store(place)
    now: dict[str, list[float]] = dict(store.get("now", {}))
    if store and store["stage"] != memory.stage:
        store, now = {"before": now}, {}
    seen: dict[str, list[bool]] = {}
    for episode in episodes:
        if episode.verified and not episode.request.helped:
            seen.setdefault(episode.request.problem.id, []).append(episode.right)
    for problem, rights in seen.items():
        right, tried, first = now.get(problem, (0, 0, sum(rights) / len(rights)))
        now[problem] = [right + sum(rights), tried + len(rights), first]
    return memory.keep(place, {"stage": memory.stage, "now": now, "before": store.get("before", {})})


class StageRates(Remembering):
    """Counts the right answers to each problem in the present stage, and keeps the counts of the stage before."""

    keeps = STORE
    does = stage_rates
    needs_verdict = True


def before(memory: Memory, place: str) -> Mapping[str, Sequence[float]]:
    """The counts of the stage before the present one; {} if it counted nothing."""
    store: dict[str, Any] = memory.store(place)
    if not store:
        return {}
    return store["before"] if store["stage"] == memory.stage else store["now"]


def hardest(
    memory: Memory, first: int, count: int, *, pool: Pool, drawn: int, size: int, share: float, place: str = STORE
) -> list[Problem]:
    """Of the problems that the stage before tried, the round(share n) with the lowest pass rate, at least one.

    Ties go to the lower pass rate of the first visit, then to the order of the set. No problem is drawn twice before
    all were drawn, and a round has no problem twice: it is shorter if there are fewer problems. If the stage before
    tried none, all problems of the set are drawn.
    """
    counts_of = before(memory, place)
    problems = set_of(pool, memory.seed, size)
    tried = [problem for problem in problems if problem.id in counts_of]

    def ease(problem: Problem) -> tuple[float, float]:
        right, attempts, visit = counts_of[problem.id]
        return right / attempts, visit

    chosen = sorted(tried, key=ease)[: max(1, round(share * len(tried)))] or problems
    key, begin = Key(memory.seed)("hardest", memory.stage), memory.step * min(drawn, len(chosen)) + first
    return in_epochs(chosen, key, begin, min(count, len(chosen)))


class Hardest(Source):
    """Draws the hardest problems among those that the stage before tried (DRIVE 2511.06307).

    The set of `size` problems is the one from which `examine`, `epochs` and `unsolved` draw.
    """

    reads = (StageRates,)

    size: Count = scales_with("num_prompts", 175, at=72)  # problems of the set
    share: Proportion = 0.5  # of the problems that were tried in the stage before, the hardest
    does = hardest
