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


def test_runs_that_differ_in_their_seed_are_one_method(tmp_path: Path) -> None:
    paths = runs(tmp_path, "grpo", range(3), 0) + runs(tmp_path, "dapo", range(3), 2)
    grpo, dapo = compare_runs(paths).methods
    assert (grpo.label, grpo.seeds, grpo.verdict) == ("grpo", (0, 1, 2), "first")
    assert (dapo.label, dapo.seeds) == ("dapo", (0, 1, 2))
    assert dapo.difference is not None and dapo.difference["mean"] == pytest.approx(0.2)
    assert (dapo.verdict, dapo.p) == ("higher", 0.0), "the same on every problem with every seed"
    assert grpo.final is not None and grpo.final["mean"] == pytest.approx(0.2 + 0.1 / 3)


@pytest.mark.slow
def test_methods_are_compared_on_the_task_that_they_share(tmp_path: Path) -> None:
    """GRPO and DAPO on two tasks: the first on each is the one beside which the other is held."""
    paths = []
    for task, gain in (("countdown", 2), ("kk", 1)):
        pool = {"shares": [{"task": task, "levels": [3, 4], "weight": 1.0}]}
        for recipe, own in (("grpo", 0), ("dapo", gain)):
            paths += runs(tmp_path / task, recipe, range(3), own, pool=pool)
    found = compare_runs(paths)
    assert [(m.label, m.task) for m in found.methods] == [
        (recipe, f"{task}:3,4") for task in ("countdown", "kk") for recipe in ("grpo", "dapo")
    ]
    assert [method.verdict for method in found.methods] == ["first", "higher", "first", "higher"]
    differences = [method.difference["mean"] for method in found.methods if method.difference]
    assert differences == pytest.approx([0.2, 0.1])
    assert [arm.verdict for arm in found.arms if arm.run.endswith("grpo-0")] == ["first", "first"]
    shown = io.StringIO()
    show(found, stream=shown)
    assert "countdown:3,4" in shown.getvalue() and "kk:3,4" in shown.getvalue()
    (_, svg) = plot(found, tmp_path / "curves")
    text = svg.read_text()
    assert text.count('<g id="axes_') == 4 * 5, "reward and score on each task, over each of five costs"


def test_a_difference_that_seeds_do_not_agree_on_is_undecided(tmp_path: Path) -> None:
    """Alike on all problems: the seeds alone decide, by Student's t."""
    flat = np.full(PROBLEMS, 5)
    gains = [3, -2, 2, -1]
    paths = [run(tmp_path / f"a{seed}", "grpo", seed, flat) for seed in range(4)]
    paths += [run(tmp_path / f"b{seed}", "dapo", seed, flat + gain) for seed, gain in enumerate(gains)]
    _, dapo = compare_runs(paths).methods
    of_seeds = np.array(gains) / SAMPLES
    low, high = stats.t.interval(0.95, 3, of_seeds.mean(), stats.sem(of_seeds))
    assert dapo.difference == pytest.approx({"mean": 0.05, "low": low, "high": high})
    assert dapo.p == pytest.approx(stats.ttest_1samp(of_seeds, 0)[1])
    needed = int(np.ceil((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * of_seeds.var(ddof=1) / 0.02**2 + 2))
    assert (dapo.seeds_needed, dapo.verdict) == (needed, f"undecided; {needed} seeds would show 0.02")


def test_methods_that_hardly_differ_are_equal(tmp_path: Path) -> None:
    flat = np.full(PROBLEMS, 5)
    paths = [run(tmp_path / f"a{seed}", "grpo", seed, flat) for seed in range(4)]
    one = np.eye(PROBLEMS, dtype=int)
    paths += [run(tmp_path / f"b{seed}", "dapo", seed, flat + (-1) ** seed * one[seed]) for seed in range(4)]
    _, dapo = compare_runs(paths).methods
    assert dapo.difference is not None and dapo.difference["mean"] == pytest.approx(0.0)
    assert dapo.verdict == "equal within 0.02" and dapo.p_equal is not None and dapo.p_equal < 0.01


def test_two_methods_beside_the_first_are_corrected(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = []
    for recipe in ("grpo", "dapo", "gspo"):
        paths += [run(tmp_path / f"{recipe}{s}", recipe, s, rng.integers(2, 7, PROBLEMS)) for s in range(3)]
    _, dapo, gspo = compare_runs(paths).methods
    alone = [compare_runs(paths[:3] + paths[a : a + 3]).methods[1].p for a in (3, 6)]
    assert all(p is not None for p in alone)
    least, most = sorted(p for p in alone if p is not None)
    assert sorted([dapo.p, gspo.p]) == pytest.approx([min(1.0, 2 * least), max(min(1.0, 2 * least), most)])  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("more", "seeds", "reason"),
    [
        ({"max_new": 64}, range(3), "evaluated with other sets, lengths or temperatures"),
        ({}, range(5, 8), "shared seeds: 0; at least two are needed"),
        ({}, range(2, 3), "shared seeds: 1; at least two are needed"),
    ],
)
def test_no_claim_without_pairs(tmp_path: Path, more: dict, seeds: range, reason: str) -> None:
    paths = runs(tmp_path, "grpo", range(3), 0) + runs(tmp_path, "dapo", seeds, 2, **more)
    method = compare_runs(paths).methods[1]
    assert (method.verdict, method.difference, method.p) == (reason, None, None)


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
    comparison = compare_runs(runs(tmp_path, "grpo", range(3), 0) + runs(tmp_path, "dapo", range(3), 2))
    text = io.StringIO()
    show(comparison, stream=text)
    (line,) = [line for line in text.getvalue().splitlines() if "dapo" in line]
    assert "+0.200 [+0.200, +0.200] higher" in line and "<0.001" in line
    assert "3000" in line and "0:06" in line
    assert "over seeds and problems" in text.getvalue().replace("\n", " ")
    document = as_json(comparison)
    assert [method["label"] for method in document["methods"]] == ["grpo", "dapo"] and len(document["runs"]) == 6
    svg = plot(comparison, tmp_path / "figure")[1].read_text()
    assert svg.count("<!-- dapo -->") == 1, "one name in the legend for three runs"
