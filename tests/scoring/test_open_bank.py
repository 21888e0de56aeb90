"""Evaluations with open problems: a pass rate of the others alone, and means of rewards for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tiny import episode

from assay.errors import DataError
from assay.scoring.bank import Bank, bank, difference, entry, scores
from assay.types import Episode, Problem, Reward, Verdict, changed


def asked(name: str, gold: str | None) -> Problem:
    return Problem("data:x", name, {"row": 1, "gold": gold, "columns": {}}, name, provenance="data", wording="natural")


def answers(name: str, gold: str | None, *said: float | bool | None) -> list[Episode]:
    """Answers to a problem: with a reference answer right or wrong, without one with these rewards."""
    made = []
    for i, worth in enumerate(said):
        one = episode([1, 0], sample=i)
        verdict = None if gold is None else Verdict.ok("1") if worth else Verdict.fail("wrong")
        rewards = () if gold is not None or worth is None else (Reward("judge", float(worth)), Reward("length", -0.1))
        request = changed(one.request, problem=asked(name, gold), sample=i)
        made.append(changed(one, request=request, verdict=verdict, rewards=rewards))
    return made


def mixed(first: Sequence[float]) -> Bank:
    """Of the closed problem 1 of 2 is right; the open ones have rewards with means .5 and .2, and a lost judgement."""
    lost = answers("c", None, 0.2, None)
    return bank([*answers("a", "1", True, False), *answers("b", None, *first), *lost])


def test_open_problems_have_no_pass_rate_and_their_rewards_have_means() -> None:
    found = entry(mixed([0.4, 0.6]), step=0, set="test", ks=[1])
    assert found["open"] == 2 and found["problems"] == 3
    assert found["pass"]["1"]["mean"] == 0.5, "of the closed problem alone"
    assert found["scores"]["judge"]["mean"] == pytest.approx((0.5 + 0.2) / 2)
    assert found["scores"]["reward"]["mean"] == pytest.approx((0.4 + 0.1) / 2)
    assert scores(found)["eval/test/reward/judge"] == pytest.approx(0.35)
    again = Bank.from_json(found["bank"])
    assert again.open is not None and again.open.tolist() == [False, True, True] and len(again.closed()) == 1


def test_where_all_problems_are_open_nothing_passes_and_nothing_fails() -> None:
    before, after = (bank([*answers("b", None, x, x), *answers("c", None, 0.2, 0.2)]) for x in (0.4, 0.8))
    found = entry(before, step=0, set="test")
    assert found["pass"] == {} and not any("pass@" in name for name in scores(found))
    moved = difference(before, after, [1])
    assert moved["pass"] == {} and moved["scores"]["judge"]["mean"] == pytest.approx(0.2)
    plain = entry(bank(answers("a", "1", True, False)), step=0, set="test")
    assert "open" not in plain and "open" not in plain["bank"], "records of closed problems are as they were"


def test_an_answer_to_a_closed_problem_needs_a_verdict() -> None:
    (one,) = answers("a", "1", True)
    with pytest.raises(DataError, match="was never verified"):
        bank([changed(one, verdict=None)])
    assert np.isnan(bank(answers("b", None, None)).scores.get("judge", np.array([np.nan]))).all()
