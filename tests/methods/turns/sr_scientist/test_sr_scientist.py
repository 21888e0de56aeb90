"""SR-Scientist: the reward by hand, the formula that is paid, and letters that are learnt by their errors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_turns import worded
from tiny import TINY, Letters, policy, recipe_of, register, require_resumable, run

import assay
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.methods.turns.sr_scientist.log_error import LogError, on_scale
from assay.part import bind
from assay.rng import Key
from assay.tasks import task
from assay.tasks.task import Checker
from assay.types import Verdict

RECIPE = RECIPES["sr-scientist"]


def worth(verdict: Verdict, **about: float) -> float:
    made = dataclasses.replace(worded("[c0]", name="equation"), verdict=verdict)
    (reward,) = bind(LogError(**about))([made])
    return reward.value


def of(error: float) -> Verdict:
    return Verdict("ok" if error <= 0.001 else "fail", "" if error <= 0.001 else "wrong", scores={"error": error})


def test_each_power_of_ten_is_a_third() -> None:
    assert [round(worth(of(error)), 9) for error in (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 50.0)] == [
        *(1.0, 1.0, 1.0, round(2 / 3, 9), round(1 / 3, 9), 0.0, 0.0)
    ]
    assert worth(of(0.03)) == pytest.approx(-math.log10(0.03) / 3)
    assert worth(of(0.1), worst=10.0, goal=0.001) == pytest.approx(2 / 4)


def test_an_answer_without_a_formula_earns_nothing_and_one_of_another_kind_by_whether_it_is_right() -> None:
    assert worth(Verdict("fail", "format", scores={"accuracy": 0.0})) == 0.0 == worth(Verdict.fail("wrong"))
    assert worth(Verdict.ok("a")) == 1.0


errors = st.floats(1e-9, 1e9)


@given(first=errors, second=errors)
def test_a_smaller_error_is_never_worth_less_and_factors_count_alike(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert 1 >= on_scale(low, worst=1.0, goal=1e-3) >= on_scale(high, worst=1.0, goal=1e-3) >= 0
    if low > 1e-3 and high < 1:
        gap = on_scale(low, worst=1.0, goal=1e-3) - on_scale(high, worst=1.0, goal=1e-3)
        assert gap == pytest.approx(math.log(high / low) / math.log(1000))


@given(scale=st.floats(0.01, 100), errors=st.lists(st.floats(0.01, 0.1), min_size=2, max_size=5))
def test_the_unit_of_errors_does_not_matter(scale: float, errors: list[float]) -> None:
    bare = [on_scale(error, worst=1.0, goal=1e-3) for error in errors]
    assert [on_scale(scale * e, worst=scale, goal=scale * 1e-3) for e in errors] == pytest.approx(bare)


def test_a_scale_without_room_is_refused() -> None:
    assert LogError().refusal() is None
    assert all(LogError(worst=w, goal=g).refusal() for w, g in [(1.0, 1.0), (1.0, 0.0), (0.1, 1.0)])


@pytest.mark.slow
@pytest.mark.external("scipy")
def test_the_formula_of_least_error_at_the_points_shown_is_paid_and_no_later_or_luckier_one() -> None:
    """The shown points lie on 2x + 1, the held ones on the constant 9, which `c0` would hit better."""
    spec = {"formula": "c0*x+c1", "shown": [3.0, 7.0, 11.0, 15.0, 19.0], "held": [9.0] * 4}
    problem = dataclasses.replace(task("equation").problem(Key(0), level=1), spec=spec)

    def paid(text: str) -> float:
        made = dataclasses.replace(worded(text, name="equation"), verdict=task("equation").verify(problem, text))
        (reward,) = bind(RECIPE.mechanism.reward[0])([made])
        return reward.value

    line = sum(abs(2 * x + 1 - 9) / 9 for x in (2, 4, 6, 8)) / 4
    assert paid("[c0*x+c1]") == pytest.approx(-math.log10(line) / 3, rel=1e-5)
    assert paid("[c0]") != pytest.approx(paid("[c0*x+c1]"))
    assert paid("[c0][c0*x+c1]") == pytest.approx(paid("[c0*x+c1][c0]")) == pytest.approx(paid("[c0*x+c1]"))


# Runs


def test_a_task_whose_world_fits_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs a world with the tool 'fit', and that of 'countdown' has none"):
        assay.train("sr-scientist", task="countdown", model="countdown", run=tmp_path / "run", quiet=True)


LETTERS = "abcd"


def _near(spec: Any, text: str) -> Verdict:
    """The error of a letter falls tenfold with each place that it is nearer to the one asked for."""
    if text[:1] not in LETTERS[:-1] or not text:
        return Verdict.fail("format")
    away = abs(LETTERS.index(text[0]) - LETTERS.index(spec["letter"]))
    error = 10.0 ** (away - 3)
    return Verdict("ok" if away == 0 else "fail", "" if away == 0 else "wrong", answer=text, scores={"error": error})


def small(**scale: object) -> Any:
    sizes = {"num_prompts": 8, "group_size": 8, "num_steps": 4, "warmup_steps": 0, "learning_rate": 0.01, **scale}
    return recipe_of("sr-scientist", max_new=3, **sizes)


def engine() -> Any:
    return policy("fp32", decode=Letters().decode, vocab=4, init_std=0.1)


@pytest.fixture
def nearness(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, dataclasses.replace(TINY, checker=Checker(check=_near)))


@pytest.mark.slow
@pytest.mark.usefixtures("nearness")
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(), engine, after=2)


@pytest.mark.deep
@pytest.mark.usefixtures("nearness")
def test_it_learns_by_the_error() -> None:
    notes, _ = run(small(num_steps=40, learning_rate=0.014), engine())
    rewards: Sequence[float] = [float(np.mean([e.reward or 0.0 for e in step])) for step in notes.episodes]
    assert np.mean(rewards[-6:]) > rewards[0] + 0.3
