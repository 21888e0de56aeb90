"""Comparison of runs: what is claimed, what is refused, and what is drawn."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from assay.errors import UsageError
from assay.lab.compare import as_json, compare_runs, plot, render, show
from assay.record import RunFolder
from assay.scoring.bank import Bank, entry


def bank(correct, *, prefix: str = "p", n: int = 8, max_new: int = 32) -> Bank:
    correct = np.asarray(correct)
    M, zero = len(correct), np.zeros(len(correct), dtype=np.int64)
    ids = tuple(f"{prefix}{i}" for i in range(M))
    return Bank(ids, ("toy",) * M, zero, zero + n, correct, zero, zero, zero + 10, max_new=max_new)


def run(path: Path, correct=None, *, recipe: str = "grpo", steps: int = 4, valid: bool = True, **options) -> Path:
    """A run whose last test bank has these right answers, and whose validation score rises and falls."""
    with RunFolder.create(path, identity={}, document={"recipe": recipe}) as folder:
        for step in range(1, steps + 1):
            record = {
                "step": step,
                "reward/mean": 0.1 * step,
                "time/step": 2.0,
                "budget/generated_tokens": 1000.0 * step,
                "budget/verified_answers": 10.0 * step,
            }
            folder.append(
                "metrics", record | {"budget/update_tokens": 900.0 * step, "budget/optimiser_steps": 2.0 * step}
            )
        for step, rate in ((0, 2), (2, 6), (4, 4)) if valid else ():
            folder.append("evals", entry(bank([rate, rate + 1] * 10), step=step, set="valid", ks=[1, 2]))
        if correct is not None:
            folder.append("evals", entry(bank(correct, **options), step=steps, set="test", ks=[1, 2]))
    return path


@pytest.mark.slow
def test_table_of_what_was_reached_and_spent(tmp_path):
    low, high = [1, 2, 3, 4] * 20, [3, 4, 5, 5] * 20
    first, second = compare_runs([run(tmp_path / "a", low), run(tmp_path / "b", high, recipe="rloo")]).arms
    assert first.final is not None
    assert first.final["mean"] == pytest.approx(10 / 32)
    assert first.verdict == "first"
    spent = {"generated_tokens": 4000, "verified_answers": 40, "update_tokens": 3600, "optimiser_steps": 8}
    assert first.spent == spent | {"steps": 4, "seconds": 8.0}
    assert first.best is not None
    assert first.best["step"] == 2
    assert first.best["mean"] == pytest.approx(6.5 / 8)
    assert second.difference is not None
    assert second.difference["mean"] == pytest.approx(7 / 32)
    assert second.word == second.verdict == "BETTER"
    assert second.shared_problems == 80
    assert [arm.label for arm in (first, second)] == ["grpo", "rloo"]


@pytest.mark.slow
def test_the_other_way_round_is_worse_and_noise_is_undecided(tmp_path):
    paths = [run(tmp_path / "a", [3, 4] * 20), run(tmp_path / "b", [1, 2] * 20), run(tmp_path / "c", [4, 3] * 20)]
    found = compare_runs(paths)
    assert [arm.word for arm in found.arms] == [None, "WORSE", "UNDECIDED"]
    assert found.arms[0].verdict == "first" and "problems would show 0.02" in found.arms[2].verdict
    assert found.family == "2 differences between runs"


def test_labels_tell_equal_recipes_apart(tmp_path):
    comparison = compare_runs([run(tmp_path / "a", [1]), run(tmp_path / "b", [1])])
    assert [arm.label for arm in comparison.arms] == ["grpo a", "grpo b"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"prefix": "q"}, "no shared problems"), ({"max_new": 64}, "evaluated with other lengths or temperatures")],
)
def test_no_claim_without_the_same_questions(tmp_path, options, reason):
    first = run(tmp_path / "a", [0] * 50)
    second = compare_runs([first, run(tmp_path / "b", [8] * 50, **options)]).arms[1]
    assert second.difference is None
    assert second.verdict == reason


def test_claim_rests_on_the_shared_problems(tmp_path):
    second = compare_runs([run(tmp_path / "a", [0] * 60), run(tmp_path / "b", [4] * 40)]).arms[1]
    assert second.shared_problems == 40


def test_runs_without_evaluation_or_steps(tmp_path):
    empty = run(tmp_path / "a", None, steps=0, valid=False)
    comparison = compare_runs([empty, run(tmp_path / "b", [1, 2])])
    first, second = comparison.arms
    assert (first.steps, first.final, first.best) == (0, None, None)
    assert second.verdict == "not evaluated"
    json.dumps(as_json(comparison), allow_nan=False)


def test_nothing_and_twice_the_same_are_refused(tmp_path):
    path = run(tmp_path / "a", [1])
    with pytest.raises(UsageError, match="at least one"):
        compare_runs([])
    with pytest.raises(UsageError, match="twice"):
        compare_runs([path, tmp_path / "." / "a"])


def test_json_and_table(tmp_path):
    comparison = compare_runs([run(tmp_path / "a", [1, 2] * 20), run(tmp_path / "b", [5, 6] * 20, recipe="[red]x")])
    found = json.loads(json.dumps(as_json(comparison), allow_nan=False))
    assert found["runs"][1]["word"] == "BETTER"
    assert "scores" not in found["runs"][0]
    assert render(comparison).row_count == 2
    stream = io.StringIO()
    show(comparison, stream=stream)
    text = stream.getvalue()
    for part in ["[red]x", "BETTER", "0.188 [", "+0.500 [", "not methods"]:
        assert part in text


@pytest.mark.slow
def test_plot_is_written_twice_and_repeats(tmp_path):
    runs = [run(tmp_path / "a", [1, 2] * 20), run(tmp_path / "b", [5, 6] * 20, recipe="rloo")]
    comparison = compare_runs([*runs, run(tmp_path / "empty", None, steps=0, valid=False)])
    files = plot(comparison, tmp_path / "out" / "curves.png")
    assert [file.name for file in files] == ["curves.png", "curves.svg"]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    drawing = files[1].read_bytes()
    for word in (
        b"<svg",
        b"generated tokens",
        b"verified answers",
        b"trained tokens",
        b"optimiser steps",
        b"held-out pass@1",
        b"rloo",
    ):
        assert word in drawing
    again = plot(comparison, tmp_path / "again")
    assert drawing == again[1].read_bytes()
