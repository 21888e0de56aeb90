"""Answers and golds on which a computer algebra system hangs: each has its own seconds, whatever is beside it."""

from __future__ import annotations

from typing import Any

import pytest

from assay.host.workers import Outcome
from assay.verifiers.mathematics import against_gold
from assay.verifiers.mathematics.against_gold import explain
from assay.verifiers.mathematics.symbolic import GOLD_ASKED, GOLD_READ

ENDLESS = [r"\sum_{k=1}^{10^9} \frac{1}{k}", r"\prod_{k=1}^{100000} (1+\frac1{k^2})"]
SOUND = r"\int_0^1 x^2 dx"  # what only the library reads


@pytest.mark.slow
def test_a_gold_that_hangs_is_invalid_whatever_was_answered() -> None:
    found = explain([(gold, rf"\boxed{{{answer}}}") for gold in ENDLESS for answer in (r"\sqrt{5}", "7")])
    assert [(one.verdict.status, one.verdict.kind) for one in found] == [("invalid", "bad_gold")] * 4


@pytest.mark.slow
def test_an_answer_that_hangs_on_a_sound_gold_is_wrong() -> None:
    found = explain([(SOUND, rf"\boxed{{{answer}}}") for answer in (ENDLESS[0], r"\frac{1}{3}")])
    assert [(one.verdict.status, one.verdict.kind) for one in found] == [("fail", "time"), ("ok", "")]


@pytest.mark.turns(3)
@pytest.mark.slow
def test_the_seconds_of_an_answer_do_not_depend_on_its_company(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that needs most of them has the same verdict alone and among many that hang."""
    monkeypatch.setattr(against_gold, "_known", type(against_gold._known)())
    hanging = [rf"\boxed{{\sum_{{k=1}}^{{10^9}} \frac{{{number}}}{{k}}}}" for number in range(2, 14)]
    slow = r"\boxed{\frac{2}{6}}"
    (alone,) = explain([(SOUND, slow)])
    against_gold._known.clear()
    found = explain([(SOUND, text) for text in [*hanging[:6], slow, *hanging[6:]]])
    assert [one.verdict.kind for one in found] == ["time"] * 6 + [alone.verdict.kind] + ["time"] * 6
    assert alone.verdict.status == "ok"


@pytest.mark.parametrize("answer", [r"\int_0^1 9^{9^{9}} dx", r"\int_0^1 2^{10^{9}} dx", r"\int_0^1 10^{9}! dx"])
def test_numbers_too_big_to_be_worked_out_are_not_left_to_the_library(answer: str) -> None:
    (one,) = explain([(SOUND, rf"\boxed{{{answer}}}")])
    assert (one.verdict.status, one.verdict.kind) == ("fail", "undecided")


@pytest.mark.parametrize(
    ("reached", "status", "kind"),
    [("", "fail", "time"), (GOLD_ASKED, "invalid", "bad_gold"), (GOLD_READ, "fail", "time")],
)
def test_only_what_the_library_does_with_the_gold_alone_is_blamed_on_the_gold(
    monkeypatch: pytest.MonkeyPatch, reached: str, status: str, kind: str
) -> None:
    """Our comparison of an answer may be slow, before the library is asked and after."""

    class Late:
        def map(self, jobs: list[Any]) -> list[Outcome]:
            return [Outcome("time", reached=reached) for _ in jobs]

    monkeypatch.setattr(against_gold, "_pool", [Late()])
    monkeypatch.setattr(against_gold, "_known", type(against_gold._known)())
    (one,) = explain([(SOUND, r"\boxed{\sqrt{5}}")])
    assert (one.verdict.status, one.verdict.kind) == (status, kind)
