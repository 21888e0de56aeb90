"""The time of work that may not end: it is interrupted, for the same reason whatever was done before it."""

from __future__ import annotations

import pytest

from assay.verifiers.mathematics.clocked import OutOfTime, within
from assay.verifiers.mathematics.verdicts import explain


def endless() -> None:
    while True:
        pass


def stubborn() -> None:
    """Swallows the interruption, as a library with a bare `except` does."""
    for _ in range(3):
        try:
            endless()
        except BaseException:
            continue
    endless()


@pytest.mark.parametrize("work", [endless, stubborn])
def test_endless_work_is_interrupted(work: object) -> None:
    for _ in range(2):
        with pytest.raises(OutOfTime):
            within(0.02, work)  # pyright: ignore[reportArgumentType]
    assert within(0.5, lambda: 7) == 7


def test_what_fails_within_its_time_fails_as_it_would_without() -> None:
    def broken() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        within(0.5, broken)
    for _ in range(1_000_000):  # longer than the timer: it does not ring any more
        pass


# --- golds and answers that only the library reads ----------------------------------------------------------

ENDLESS = [r"\sum_{k=1}^{10^9} \frac{1}{k}", r"\prod_{k=1}^{100000} (1+\frac1{k^2})"]
SOUND = r"\int_0^1 x^2 dx"


@pytest.mark.slow
def test_a_gold_that_hangs_is_invalid_whatever_was_answered() -> None:
    found = explain([(gold, rf"\boxed{{{answer}}}") for gold in ENDLESS for answer in (r"\sqrt{5}", "7")])
    assert [(one.verdict.status, one.verdict.kind) for one in found] == [("invalid", "bad_gold")] * 4


@pytest.mark.slow
def test_the_verdict_on_an_answer_does_not_depend_on_those_beside_it() -> None:
    """Alone, after endless ones, among them, and in another order."""
    answers = [*(rf"\sum_{{k=1}}^{{10^9}} \frac{{1}}{{k+{i}}}" for i in range(3)), r"\frac{1}{3}", r"\frac{1}{4}"]
    expected = [("fail", "time")] * 3 + [("ok", ""), ("fail", "wrong")]
    for order in ([3, 4, 0, 1, 2], [4, 2, 1, 0, 3]):
        found = explain([(SOUND, rf"\boxed{{{answers[at]}}}") for at in order])
        assert [(one.verdict.status, one.verdict.kind) for one in found] == [expected[at] for at in order]


@pytest.mark.parametrize("answer", [r"\int_0^1 9^{9^{9}} dx", r"\int_0^1 2^{10^{9}} dx", r"\int_0^1 10^{9}! dx"])
def test_numbers_too_big_to_be_worked_out_are_not_left_to_the_library(answer: str) -> None:
    (one,) = explain([(SOUND, rf"\boxed{{{answer}}}")])
    assert (one.verdict.status, one.verdict.kind) == ("fail", "undecided")


@pytest.mark.slow
def test_an_answer_that_takes_all_the_time_is_not_blamed_on_its_gold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our comparison of an answer may be slow while the gold is looked at; only the library's work is the gold's."""
    from assay.verifiers.mathematics import symbolic, symbolic_worker

    def slow(gold: str, answer: str, *, symbolic: object) -> None:
        endless()

    def slow_gold(gold: str, answer: str, *, symbolic: symbolic_worker._Alone) -> None:
        symbolic.asking = True
        endless()

    monkeypatch.setattr(symbolic_worker, "SECONDS", 0.02)
    monkeypatch.setattr(symbolic, "compare", slow)
    for comparison, told, reached in (
        (slow, {"time": True}, [symbolic.GOLD_READ]),
        (slow_gold, {"bad_gold": True}, []),
    ):
        monkeypatch.setattr(symbolic_worker, "compare", comparison)
        reports: list[str] = []
        assert symbolic_worker.answer({"gold": r"\int_0^1 3x dx", "answer": "1"}, reports.append) == told
        assert reports == reached
