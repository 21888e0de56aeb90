"""Answers on which a computer algebra system hangs: they share a budget, whatever came before and in whatever order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.host.workers import Outcome
from assay.verifiers.mathematics import shares
from assay.verifiers.mathematics.shares import BUDGET, FIRST, Known, shared
from assay.verifiers.mathematics.verdicts import explain

MOST = 5.0


class Machine:
    """Judges items that need as many seconds as they say, and keeps account."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, float]] = []  # (item, seconds that it was given)
        self.known: dict[float, Known] = {}

    def __call__(self, items: Sequence[float], seconds: float) -> list[Outcome]:
        self.asked += [(item, seconds) for item in items]
        return [Outcome("done", item, seconds=item) if item <= seconds else Outcome("time") for item in items]

    def judge(self, items: Sequence[float]) -> list[str]:
        return [outcome.status for outcome in shared(items, self, self.known, MOST)]


def test_what_is_quick_is_judged_once_with_little_time() -> None:
    machine = Machine()
    assert machine.judge([0.1, 0.2, 0.1, 0.1]) == ["done"] * 4
    assert machine.asked == [(0.1, FIRST), (0.2, FIRST)]
    assert machine.judge([0.2, 0.1]) == ["done"] * 2 and len(machine.asked) == 2


def test_a_few_that_are_slow_have_the_time_that_one_may_have() -> None:
    machine = Machine()
    assert machine.judge([0.1, 4.0, 5.5]) == ["done", "done", "time"]
    assert machine.asked[3:] == [(4.0, MOST), (5.5, MOST)]


def test_many_that_are_slow_share_the_budget() -> None:
    """Of 20, each has 30 / 20 = 1.5 seconds; of 60 none has more than the first half second."""
    slow = [1.0 + i / 16 for i in range(20)]
    assert Machine().judge(slow) == ["done" if item <= BUDGET / 20 else "time" for item in slow]
    machine = Machine()
    assert machine.judge([9.0 + i for i in range(60)]) == ["time"] * 60
    assert all(seconds == FIRST for _, seconds in machine.asked)


SECONDS = st.lists(st.sampled_from([0.1, 0.4, *(0.6 + i / 8 for i in range(40))]), max_size=50)


@given(before=st.lists(SECONDS, max_size=3), items=SECONDS, data=st.data())
def test_a_verdict_depends_on_the_company_and_not_on_order_or_memory(
    before: list[list[float]], items: list[float], data: st.DataObject
) -> None:
    """So that a run that was killed and resumed, which remembers nothing, comes to what it would have come to."""
    fresh, old = Machine(), Machine()
    for earlier in before:
        old.judge(earlier)
    expected = dict(zip(items, fresh.judge(items), strict=True))
    mixed = data.draw(st.permutations(items))
    assert dict(zip(mixed, old.judge(mixed), strict=True)) == expected
    slow = [item for item in set(items) if item > FIRST]
    share = max(FIRST, min(MOST, BUDGET / max(1, len(slow))))
    assert expected == {item: "done" if item <= share else "time" for item in items}


def test_no_call_takes_more_than_a_little_for_each_and_the_budget() -> None:
    machine = Machine()
    machine.judge([100.0 + i for i in range(50)])
    assert sum(seconds for _, seconds in machine.asked) == pytest.approx(50 * FIRST + BUDGET)


# --- golds --------------------------------------------------------------------------------------------------

ENDLESS = [r"\sum_{k=1}^{10^9} \frac{1}{k}", r"\prod_{k=1}^{100000} (1+\frac1{k^2})"]
SOUND = r"\int_0^1 x^2 dx"  # what only the library reads


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "BUDGET", 0.0)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_gold_that_hangs_is_invalid_whatever_was_answered() -> None:
    found = explain([(gold, rf"\boxed{{{answer}}}") for gold in ENDLESS for answer in (r"\sqrt{5}", "7")])
    assert [(one.verdict.status, one.verdict.kind) for one in found] == [("invalid", "bad_gold")] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_an_answer_that_hangs_on_a_sound_gold_is_wrong() -> None:
    found = explain([(SOUND, rf"\boxed{{{answer}}}") for answer in (ENDLESS[0], r"\frac{1}{3}")])
    assert [(one.verdict.status, one.verdict.kind) for one in found] == [("fail", "time"), ("ok", "")]
