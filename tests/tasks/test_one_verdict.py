"""A verdict is a function of the problem and the answer, for every task that judges.

It does not depend on what is judged beside the answer, in which order, how often, or by which process, nor on what
happened to that process before. Judges behind an endpoint and functions of a user are left out: they are not ours.
Answers that take half of their budget or more are left out and counted; those that never end are judged in between, and
must come to the same verdict too.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Sequence

import pytest
from judged_answers import ENDLESS, Case, budget, each, elsewhere, externals_of, hostile, judged, ordinary, wrapped
from near_budget import NAME, SHARE

from assay.host import workers
from assay.sandbox import pool

Verdicts = list[tuple[str, str, str | None]]


def cases_of(name: str, *, count: int, every: int) -> list[Case]:
    odd = [Case(name, 0, wording, whole) for text in hostile(name, every) for wording, whole in wrapped(name, text)]
    return [*ordinary(name, count), *odd]


def restarted() -> None:
    """From now on all foreign programs are asked in new processes."""
    workers.close_all()
    pool.close_all()


def killed() -> None:
    """The worker processes are there and dead, as the machine may leave them."""
    for one in list(workers._OPEN):
        for worker in one._workers:
            os.kill(worker.process.pid, signal.SIGKILL)


def in_order(cases: Sequence[Case], order: Sequence[int]) -> Verdicts:
    found = dict(zip(order, judged([cases[i] for i in order]), strict=True))
    return [found[i] for i in range(len(cases))]


def near_budget(cases: Sequence[Case]) -> list[bool]:
    """Of each answer, judged alone by processes that are there, whether it takes half of what it may, or more."""
    judged(cases)
    return [_takes(case) > budget(case) / 2 > 0 for case in cases]


def _takes(case: Case) -> float:
    """By the clock, since processor time is spent in several processes."""
    begun = time.monotonic()
    judged([case])
    return time.monotonic() - begun


def checked(name: str, cases: Sequence[Case], record: Callable[[str, object], None]) -> None:
    near = near_budget(cases)
    record(NAME, (sum(near), len(cases)))
    assert sum(near) <= SHARE * len(cases), [
        case.text[:80] for case, is_near in zip(cases, near, strict=True) if is_near
    ][:3]
    cases = [case for case, is_near in zip(cases, near, strict=True) if not is_near]
    draw = random.Random(f"order {name}")
    places = list(range(len(cases)))
    together = judged(cases)
    assert {status for status, _, _ in together} >= {"ok", "fail"}, "right and wrong answers are among them"

    def shuffled() -> Verdicts:
        return in_order(cases, draw.sample(places, len(places)))

    def after(deed: Callable[[], object]) -> Verdicts:
        deed()
        return shuffled()

    late = [Case(name, number, "natural", ENDLESS[name]) for number in range(3)] if name in ENDLESS else []

    def out_of_time() -> Verdicts:
        found = judged(late)
        assert len(set(found)) <= 1, found
        return found

    ways: dict[str, Callable[[], Verdicts]] = {
        "a second time": lambda: judged(cases),
        "in another order": shuffled,
        "one by one, in another order": lambda: _alone(cases, draw.sample(places, len(places))),
        "in new processes": lambda: after(restarted),
        "after answers that take all of their time": lambda: after(out_of_time),
        "after the processes were killed": lambda: after(killed),
    }
    for way, found in ways.items():
        came = found()
        different = [(cases[i].text[:80], together[i], came[i]) for i in places if came[i] != together[i]]
        assert not different, f"{way}: {different[:3]}"


def _alone(cases: Sequence[Case], order: Sequence[int]) -> Verdicts:
    found = {i: judged([cases[i]])[0] for i in order}
    return [found[i] for i in range(len(cases))]


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", each())
def test_a_verdict_depends_on_the_answer_alone(name: str, record_property: Callable[[str, object], None]) -> None:
    checked(name, cases_of(name, count=2, every=120), record_property)


@pytest.mark.deep
@pytest.mark.parametrize("name", each())
def test_a_verdict_depends_on_the_answer_alone_for_many_answers(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    checked(name, cases_of(name, count=8, every=9), record_property)


def same_elsewhere(chosen: Sequence[str]) -> None:
    cases = [one for name in chosen for one in cases_of(name, count=1, every=200) if one.text.isprintable()]
    assert elsewhere(cases) == judged(cases)


@pytest.mark.slow
def test_another_process_comes_to_the_same_verdicts() -> None:
    same_elsewhere([name for name, needed in externals_of().items() if not needed])


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", each(foreign=True))
def test_another_process_comes_to_the_same_verdicts_by_foreign_programs(name: str) -> None:
    same_elsewhere([name])
