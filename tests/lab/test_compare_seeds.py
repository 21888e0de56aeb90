"""Runs with several seeds: which are runs of one method, and what is said of methods."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from assay.lab.compare import as_json, compare_runs, plot, show
from assay.record import RunFolder
from assay.scoring.bank import Bank, entry

PROBLEMS, SAMPLES = 40, 10


def run(path: Path, recipe: str, seed: int, right: np.ndarray, *, max_new: int = 32, **settings: Any) -> Path:
    """A finished run of this recipe and seed whose final evaluation has so many right answers to each problem."""
    experiment = {"recipe": {"name": recipe}, "seed": seed, "model": "base", "machine": {"threads": seed}, **settings}
    zero = np.zeros(len(right), dtype=np.int64)
    ids = tuple(f"p{i}" for i in range(len(right)))
    bank = Bank(ids, ("toy",) * len(right), zero, zero + SAMPLES, right, zero, zero, zero + 10, max_new=max_new)
    with RunFolder.create(path, identity={}, document={"recipe": recipe, "experiment": experiment}) as folder:
        folder.append("metrics", {"step": 1, "reward/mean": 0.5, "time/step": 2.0, "budget/generated_tokens": 1000.0})
        folder.append("evals", entry(bank, step=1, set="test", ks=[1, 2]))
    return path


def runs(folder: Path, recipe: str, seeds: range, gain: int, **more: Any) -> list[Path]:
    """Right answers differ by problem, and by one or none by seed; the method adds its gain."""
    ease = np.arange(PROBLEMS) % 5
    return [run(folder / f"{recipe}-{seed}", recipe, seed, ease + seed % 2 + gain, **more) for seed in seeds]


@pytest.mark.slow
def test_runs_that_differ_in_their_seed_are_one_method(tmp_path: Path) -> None:
    paths = runs(tmp_path, "grpo", range(5), 0) + runs(tmp_path, "dapo", range(5), 2)
    grpo, dapo = compare_runs(paths).methods
    assert (grpo.label, grpo.seeds, grpo.verdict, grpo.word) == ("grpo", (0, 1, 2, 3, 4), "first", None)
    assert (dapo.label, dapo.seeds) == ("dapo", (0, 1, 2, 3, 4))
    # the same on all 40 problems with every seed: at 95 % fewer than 1 - 0.05^(1/40) are otherwise
    unseen = 1 - 0.05 ** (1 / PROBLEMS)
    assert dapo.difference == pytest.approx({"mean": 0.2, "low": 0.2 - 1.2 * unseen, "high": 0.2 + 0.8 * unseen})
    assert dapo.word == dapo.verdict == "BETTER" and dapo.p == pytest.approx((1 - 0.2 / 1.2) ** PROBLEMS)
    assert dapo.family == "1 differences from the first method of a task"
    assert grpo.final is not None and grpo.final["mean"] == pytest.approx(0.2 + 0.1 * 2 / 5)


@pytest.mark.slow
def test_of_fewer_than_five_seeds_no_word_is_said(tmp_path: Path) -> None:
    for seeds in (2, 4):
        folder = tmp_path / str(seeds)
        found = compare_runs(runs(folder, "grpo", range(seeds), 0) + runs(folder, "dapo", range(seeds), 2))
        dapo = found.methods[1]
        assert dapo.word == "NOT ENOUGH SEEDS" and dapo.p is None
        assert dapo.verdict == f"NOT ENOUGH SEEDS: {seeds} of 5 at least"


@pytest.mark.slow
def test_methods_are_compared_on_the_task_that_they_share(tmp_path: Path) -> None:
    """GRPO and DAPO on two tasks: the first on each is the one beside which the other is held."""
    paths = []
    for task, gain in (("countdown", 2), ("kk", 1)):
        pool = {"shares": [{"task": task, "levels": [3, 4], "weight": 1.0}]}
        for recipe, own in (("grpo", 0), ("dapo", gain)):
            paths += runs(tmp_path / task, recipe, range(5), own, pool=pool)
    found = compare_runs(paths)
    assert [(m.label, m.task) for m in found.methods] == [
        (recipe, f"{task}:3,4") for task in ("countdown", "kk") for recipe in ("grpo", "dapo")
    ]
    assert [method.verdict for method in found.methods] == ["first", "BETTER", "first", "BETTER"]
    assert found.methods[1].family == "2 differences from the first method of a task"
    differences = [method.difference["mean"] for method in found.methods if method.difference]
    assert differences == pytest.approx([0.2, 0.1])
    assert [arm.verdict for arm in found.arms if arm.run.endswith("grpo-0")] == ["first", "first"]
    shown = io.StringIO()
    show(found, stream=shown)
    assert "countdown:3,4" in shown.getvalue() and "kk:3,4" in shown.getvalue()
    (_, svg) = plot(found, tmp_path / "curves")
    text = svg.read_text()
    assert text.count('<g id="axes_') == 4 * 5, "reward and score on each task, over each of five costs"


@pytest.mark.slow
def test_a_difference_that_seeds_do_not_agree_on_is_undecided(tmp_path: Path) -> None:
    """Alike on all problems: the seeds alone decide, by Student's t."""
    flat = np.full(PROBLEMS, 5)
    gains = [3, -2, 2, -1, 2]
    paths = [run(tmp_path / f"a{seed}", "grpo", seed, flat) for seed in range(5)]
    paths += [run(tmp_path / f"b{seed}", "dapo", seed, flat + gain) for seed, gain in enumerate(gains)]
    _, dapo = compare_runs(paths).methods
    of_seeds = np.array(gains) / SAMPLES
    low, high = stats.t.interval(0.95, 4, of_seeds.mean(), stats.sem(of_seeds))
    assert dapo.difference == pytest.approx({"mean": 0.08, "low": low, "high": high})
    assert dapo.p == pytest.approx(stats.ttest_1samp(of_seeds, 0)[1])
    assert dapo.word == "UNDECIDED" and dapo.verdict.startswith("UNDECIDED; no number of seeds and problems would show")


@pytest.mark.slow
def test_methods_that_hardly_differ_are_equal(tmp_path: Path) -> None:
    flat = np.full(PROBLEMS, 5)
    paths = [run(tmp_path / f"a{seed}", "grpo", seed, flat) for seed in range(5)]
    one = np.eye(PROBLEMS, dtype=int)
    paths += [run(tmp_path / f"b{seed}", "dapo", seed, flat + (-1) ** seed * one[seed]) for seed in range(5)]
    _, dapo = compare_runs(paths).methods
    assert dapo.difference is not None and dapo.difference["mean"] == pytest.approx(0.1 / PROBLEMS / 5)
    assert dapo.verdict == "EQUAL within 0.02" and dapo.p is not None and dapo.p < 0.01


@pytest.mark.slow
def test_two_methods_beside_the_first_share_their_error(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = []
    for recipe in ("grpo", "dapo", "gspo"):
        paths += [run(tmp_path / f"{recipe}{s}", recipe, s, rng.integers(2, 7, PROBLEMS)) for s in range(5)]
    both = compare_runs(paths).methods[1:]
    alone = [compare_runs(paths[:5] + paths[a : a + 5]).methods[1] for a in (5, 10)]
    for one, other in zip(both, alone, strict=True):
        assert one.p is not None and other.p is not None and one.p == pytest.approx(min(1.0, 2 * other.p))
        assert one.difference and other.difference and one.difference["low"] < other.difference["low"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "seeds", "reason"),
    [
        ({"max_new": 64}, range(3), "evaluated with other sets, lengths, temperatures or judges"),
        ({}, range(5, 8), "NOT ENOUGH SEEDS: 0 of 5 at least"),
    ],
)
def test_no_claim_without_pairs(tmp_path: Path, more: dict, seeds: range, reason: str) -> None:
    paths = runs(tmp_path, "grpo", range(3), 0) + runs(tmp_path, "dapo", seeds, 2, **more)
    method = compare_runs(paths).methods[1]
    assert (method.verdict, method.difference, method.p) == (reason, None, None)


def test_of_one_seed_that_both_have_the_difference_stands_alone(tmp_path: Path) -> None:
    paths = runs(tmp_path, "grpo", range(3), 0) + runs(tmp_path, "dapo", range(2, 3), 2)
    method = compare_runs(paths).methods[1]
    assert method.verdict == "NOT ENOUGH SEEDS: 1 of 5 at least" and method.difference == pytest.approx({"mean": 0.2})


def test_another_setting_is_another_method_and_another_machine_is_not(tmp_path: Path) -> None:
    paths = runs(tmp_path, "grpo", range(2), 0)
    other = [run(tmp_path / f"long-{s}", "grpo", s, np.full(PROBLEMS, 5), model="other") for s in range(2)]
    assert [method.label for method in compare_runs(paths + other).methods] == ["grpo grpo-0", "grpo long-0"]


def test_one_seed_each_or_the_same_seed_twice_is_a_comparison_of_checkpoints(tmp_path: Path) -> None:
    one = [run(tmp_path / recipe, recipe, 0, np.full(PROBLEMS, 5)) for recipe in ("grpo", "dapo")]
    again = run(tmp_path / "again", "grpo", 0, np.full(PROBLEMS, 6))
    assert compare_runs(one).methods == () and compare_runs([one[0], again]).methods == ()
    assert "One run is one seed" in as_json(compare_runs(one))["note"]


@pytest.mark.slow
def test_the_table_and_the_plot_show_methods(tmp_path: Path) -> None:
    comparison = compare_runs(runs(tmp_path, "grpo", range(5), 0) + runs(tmp_path, "dapo", range(5), 2))
    text = io.StringIO()
    show(comparison, stream=text)
    (line,) = [line for line in text.getvalue().splitlines() if "dapo" in line]
    assert "+0.200 [+0.113, +0.258] BETTER" in line and "<0.001" in line
    assert "5000" in line and "0:10" in line
    assert "One family of 1 differences from the first method" in " ".join(text.getvalue().split())
    document = as_json(comparison)
    assert [method["label"] for method in document["methods"]] == ["grpo", "dapo"] and len(document["runs"]) == 10
    svg = plot(comparison, tmp_path / "figure")[1].read_text()
    assert svg.count("<!-- dapo -->") == 1, "one name in the legend for five runs"
