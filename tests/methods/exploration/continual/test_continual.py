"""One task a stage, the scores after each, and what was forgotten, by hand and in runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell

from assay.errors import DataError
from assay.lab.forgetting import after_stages, forgotten, measured
from assay.lab.trial import SIZES, small_model
from assay.memory import Memory
from assay.methods.exploration.continual.source import InTurn, in_turn
from assay.source import Pool, Share

POOL = Pool((Share("countdown", (3,)), Share("mod-chain", (3,), 5.0), Share("knights", (5,))))


@given(stage=st.integers(0, 9), step=st.integers(0, 30), count=st.integers(1, 6))
def test_each_stage_draws_one_task_and_the_turn_comes_round(stage: int, step: int, count: int) -> None:
    drawn = in_turn(Memory(0, stage=stage, step=step), 0, count, pool=POOL)
    assert {problem.task for problem in drawn} == {("countdown", "mod-chain", "knights")[stage % 3]}
    assert len(drawn) == count and InTurn().unfit(POOL) is None


def test_what_was_forgotten_by_hand() -> None:
    """a: best 0.6, last 0.35; b: best before the last 0.2, last 0.5."""
    after = [{"a": 0.4, "b": 0.1}, {"a": 0.6, "b": 0.2}, {"a": 0.35, "b": 0.5}]
    assert forgotten(after) == {"a": pytest.approx(0.25), "b": pytest.approx(-0.3)}
    with pytest.raises(DataError, match="after 2 stages or more, not 1"):
        forgotten(after[:1])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_a_score_that_never_falls_is_not_forgotten(scores: list[float]) -> None:
    rising = [{"a": score} for score in sorted(scores)]
    assert forgotten(rising)["a"] <= 0
    assert forgotten([{"a": score} for score in scores])["a"] == pytest.approx(max(scores[:-1]) - scores[-1])


def evaluation(step: int, score: float, which: str = "valid") -> dict[str, Any]:
    return {"step": step, "set": which, "tasks": {"a": {"pass": {"1": {"mean": score}}}}}


def test_the_last_evaluation_of_each_stage_counts() -> None:
    evals = [
        evaluation(0, 0.9),
        evaluation(2, 0.1),
        evaluation(4, 0.2),
        evaluation(5, 0.3),
        evaluation(8, 0.4),
        evaluation(8, 0.8, "test"),
    ]
    assert after_stages(evals, [4, 8]) == [{"a": 0.2}, {"a": 0.4}]
    with pytest.raises(DataError, match=r"no evaluation fell into stage 2 \(steps 5 to 7\)"):
        after_stages(evals[:3], [4, 7])


@pytest.mark.slow
def test_a_run_through_two_tasks_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {**SIZES, "evaluation.every": 2, "evaluation.num_problems": 16}
    flags = [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    tasks = ("--task", "countdown:3", "--task", "mod-chain:2")
    where = ("--model", small_model(tmp_path / "model"), "--run", tmp_path / "run", "--steps", "8", "--quiet")
    reply = Shell(capsys)("train", "continual", *tasks, *where, *flags)
    assert reply.code == 0, reply.err
    found = measured(tmp_path / "run")
    assert found["stages"] == ["task 1", "task 2", "task 3", "task 4"] and len(found["after"]) == 4
    assert set(found["forgotten"]) == {"countdown", "mod-chain"}
