"""The problems that a policy fails to learn, by the accuracy of each visit to a problem, and its trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from assay.part import Remembering
from assay.types import Episode

if TYPE_CHECKING:
    from assay.memory import Memory

STORE = "curves"


def keep_curves(memory: Memory, *, episodes: Sequence[Episode], place: str = STORE) -> Memory:
    """Appends the accuracy of this step to the curve of each of its problems.

    Answers to hinted questions, and verdicts that failed for a reason of ours, do not count.
    """
    rights: dict[str, list[bool]] = {}
    for episode in episodes:
        if episode.verified and not episode.request.helped:
            rights.setdefault(episode.request.problem.id, []).append(episode.right)
    store = memory.store(place)
    for problem, seen in rights.items():
        store[problem] = [*store.get(problem, ()), sum(seen) / len(seen)]
    return memory.keep(place, store)


class KeepCurves(Remembering):
    """Keeps for each problem the accuracy of all its visits, which says whether the policy learns it (SwS 2506.08989).

    remember=(KeepCurves(),)
    --stages.0.mechanism.remember keep-curves
    """

    keeps = STORE
    does = keep_curves
    needs_verdict = True


def slope(values: Sequence[float]) -> float:
    """The least-squares slope of the values over 0, 1, 2, ...; 0 of a single value, which shows no trend."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    spread = sum((t - middle) ** 2 for t in range(len(values)))
    return sum((t - middle) * (value - mean) for t, value in enumerate(values)) / spread if spread else 0.0


def weak(curve: Sequence[float], *, below: float) -> bool:
    """max_t a_t < below, and a slope of at most 0: never good, and not getting better."""
    return max(curve) < below and slope(curve) <= 0


def allotted(weak_of: Mapping[str, tuple[int, int]], count: int) -> dict[str, int]:
    """N_c = count F_c / sum F for each category c, where F_c is the share of its problems that are weak. {} if no
    problem is weak. The N_c are whole numbers that add up to `count`: the largest remainders are rounded up.

    weak_of: category -> (weak problems, problems that were tried)
    """
    rates = {name: found / tried for name, (found, tried) in weak_of.items() if found}
    total = sum(rates.values())
    exact = {name: count * rate / total for name, rate in rates.items()}
    whole = {name: int(value) for name, value in exact.items()}
    left = count - sum(whole.values())
    for name in sorted(exact, key=lambda name: (whole[name] - exact[name], name))[:left]:
        whole[name] += 1
    return whole
