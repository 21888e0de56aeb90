"""`rlvr-boundary` on banks whose curves, squares and derivations are known."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from answered import of_banks, posed, written
from hypothesis import given
from hypothesis import strategies as st

from assay.lab.analyses import measure
from assay.lab.analyses.boundary import derived, histogram, quadrants, reach
from assay.lab.analyses.measure import Lacking, Reading
from assay.scoring.boundary import Counts
from assay.scoring.samples import SampleBank
from assay.tasks import task
from assay.types import Problem

POOL, PROBLEMS = posed("countdown", 4, 30)
N = 16


def counts(n: int, *c: int) -> Counts:
    return Counts(np.full(len(c), n), np.array(c))


def bank(chances: np.ndarray, seed: int) -> SampleBank:
    """Answers that are right with these chances, and else a sum that is none."""
    right = np.random.default_rng(seed).random((len(PROBLEMS), N)) < chances[:, None]
    number = {problem.id: i for i, problem in enumerate(PROBLEMS)}

    def write(problem: Problem, sample: int) -> str:
        return (problem.solution or "") if right[number[problem.id], sample] else "1+1"

    return written(POOL, PROBLEMS, N, write)


def taken(base: np.ndarray, child: np.ndarray) -> Reading:
    return measure("rlvr-boundary").take(of_banks(bank(base, 1), bank(child, 2)))


def test_reach_by_hand() -> None:
    """n = 3: one and two right miss two samples with C(2, 2) / C(3, 2) = 1/3 and 0."""
    ks, found = reach(counts(3, 1, 2), counts(3, 3, 0))
    assert ks == [1, 2, 3]
    assert [one.mean for one in found["base"]] == pytest.approx([1 / 2, (2 / 3 + 1) / 2, 1.0])
    assert [one.mean for one in found["child"]] == pytest.approx([1 / 2] * 3)
    assert [one.mean for one in found["difference"]] == pytest.approx([0.0, 1 / 2 - 5 / 6, -1 / 2])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_squares_and_bars_hold_every_problem_once(pairs: list[tuple[int, int]]) -> None:
    base, child = (counts(5, *column) for column in zip(*pairs, strict=True))
    found = quadrants(base, child)
    assert sum(found.values()) == len(pairs)
    assert found["both"] + found["base alone"] == sum(a > 0 for a, _ in pairs)
    assert found["child alone"] == sum(b > 0 and a == 0 for a, b in pairs)
    assert sum(histogram(base).values()) == len(pairs)


def test_bars_by_hand() -> None:
    found = histogram(counts(10, 0, 0, 1, 5, 9, 10))
    assert {name: n for name, n in found.items() if n} == {"0": 2, "0.1-0.2": 1, "0.5-0.6": 1, "0.9-1.0": 1, "1": 1}


@pytest.mark.slow
def test_a_child_that_is_sure_of_less_is_crossed_by_its_base() -> None:
    """The base solves every problem at times; the child solves half of them always and the others never."""
    base, child = np.full(30, 0.25), np.repeat([1.0, 0.0], 15)
    reading = taken(base, child)
    figures = reading.figures
    # 1 - 0.75^k = 1/2 at k = log(1/2) / log(0.75) = 2.41
    assert figures["crossover"] == pytest.approx(2.41, abs=0.6) and figures["crossover_interval"][1] < 8
    cells = figures["quadrants"]  # 16 samples of the base miss one problem of a hundred
    assert cells["both"] >= 13 and cells["base alone"] >= 13 and cells["child alone"] + cells["neither"] <= 3
    assert figures["pass"]["1"]["difference"]["low"] > 0 > figures["pass"]["16"]["difference"]["high"]
    assert "the base catches up" in reading.says


@pytest.mark.slow
def test_two_banks_of_one_model_are_not_told_apart() -> None:
    chances = np.random.default_rng(0).beta(0.5, 1.5, 30)
    figures = taken(chances, chances).figures
    apart = figures["pass"]["1"]["difference"]
    assert apart["low"] <= 0 <= apart["high"]
    changed = figures["quadrants"]["child alone"] + figures["quadrants"]["base alone"]
    assert changed <= 2 * figures["changed_by_luck"] + 4, "no more than chance explains"
    assert "derived" not in figures, "no step of these answers can be verified"


def chained(problem: Problem, sample: int) -> str:
    """A right answer by right steps, the same answer by a wrong first step, and one without any step."""
    traces = [trace for trace in task(problem.task).traces(problem) if "#" in trace and "~" not in trace]
    steps, _, answer = min(traces, key=len).rpartition("#")  # the one without a step that is not needed
    wrong = re.sub(r"=(\d+)", lambda found: f"={int(found[1]) + 1}", steps, count=1)
    assert wrong != steps
    return [f"{steps}#{answer}", f"{wrong}#{answer}", answer][sample]


def test_an_answer_that_is_right_by_a_wrong_step_is_not_derived() -> None:
    pool, problems = posed("quantities", 4, 8)
    right = written(pool, problems, 3, chained)
    assert right.counts().correct.tolist() == [3] * 8
    found = derived(right, {problem.id: problem for problem in problems})
    assert found is not None and found.n.tolist() == [3] * 8 and found.c.tolist() == [1] * 8
    assert derived(bank(np.ones(30), 0), {problem.id: problem for problem in PROBLEMS}) is None


def test_problems_that_are_no_longer_posed_are_named() -> None:
    one = bank(np.full(30, 0.5), 0)
    strange = {f"{i:016x}": told for i, told in enumerate(one.asked.problems.values())}
    table = one.table.set_column(0, one.table.schema.field(0), [np.repeat(list(strange), N)])
    other = SampleBank(dataclasses.replace(one.asked, problems=strange, version="0.0.1"), table)
    with pytest.raises(Lacking, match=r"30 problems .* another version \(0\.0\.1\)"):
        measure("rlvr-boundary").take(of_banks(other, other))
