"""The comparison with TRL, as far as it is ours alone: the shared reward, the keys, the formulas, the tests."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hub_cache import any_text_model
from hypothesis import given
from hypothesis import strategies as st
from of_methods import named
from scipy import stats
from trl_rows import rows

from assay.cli.main import main
from assay.credit import Constant
from assay.known import recipe
from assay.rng import Key
from assay.tasks import task
from bench import trl_gradient, trl_learning, trl_ours, trl_preferences, trl_rollouts
from bench.countdown_reward import right, score
from bench.equivalence import equivalence
from bench.trl_ours import Taught
from bench.trl_preferences import Paired
from bench.trl_rollouts import Rollout
from bench.trl_setup import arguments

SETTINGS = trl_learning.SETTINGS | {"steps": 2, "prompts": 3, "problems": 5}


@given(st.integers(0, 200), st.text("0123456789+-*/() ", max_size=14), st.integers(0, 14), st.booleans())
def test_the_shared_reward_is_the_checker_of_the_task(number: int, other: str, cut: int, whole: bool) -> None:
    problem = task("countdown").problem(Key(0)("reward", number), level=3 + number % 2)
    witness = problem.solution or ""
    text = witness if whole else witness[:cut] + other
    verdict = task("countdown").verify(problem, text)
    assert right(text, problem.spec["numbers"], problem.spec["target"]) == (verdict.status == "ok")


def test_the_reward_has_the_form_that_both_sides_call() -> None:
    answers = [[{"role": "assistant", "content": text}] for text in ("3*7+5-2", "3*7", "24", "(7-3)*(5+2)//1")]
    assert score(completions=answers, numbers=[[3, 7, 5, 2]] * 4, target=[24] * 4, task=["x"] * 4) == [1, 0, 0, 0]


def test_equality_is_two_one_sided_welch_tests() -> None:
    a, b = [0.21, 0.23, 0.22, 0.26], [0.2, 0.24, 0.225]
    found = equivalence(a, b, margin=0.03)
    sides: tuple[tuple[float, Literal["greater", "less"]], ...] = ((0.03, "greater"), (-0.03, "less"))
    tests: list[Any] = [stats.ttest_ind(np.array(a) + by, b, equal_var=False, alternative=side) for by, side in sides]
    assert found is not None and found.p == pytest.approx(max(test.pvalue for test in tests))
    assert found.gap == pytest.approx(np.mean(a) - np.mean(b))


def test_a_gap_of_the_margin_is_not_equal_and_one_run_shows_nothing() -> None:
    found = equivalence([0.20, 0.21, 0.22], [0.23, 0.24, 0.25], margin=0.03)
    assert found is not None and found.p >= 0.5
    assert equivalence([0.2], [0.2, 0.2]) is None
    alike = equivalence([0.2, 0.2], [0.2, 0.2])
    assert alike is not None and alike.p == 0


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_runs_of_other_settings_or_weights_have_another_key(name: str) -> None:
    key = trl_learning.key_of(SETTINGS, "base", "weights")
    assert key == trl_learning.key_of(dict(reversed(SETTINGS.items())), "base", "weights")
    others = [trl_learning.key_of(SETTINGS | {name: "other"}, "base", "weights")]
    others += [trl_learning.key_of(SETTINGS, "base", "trained again"), trl_learning.key_of(SETTINGS, "b", "weights")]
    assert key not in others


def test_only_what_is_missing_runs_and_the_sides_take_turns(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = [("k", "trl", 0, 0.1), ("other", "ours", 0, 0.1), ("k", "base", 0, 0.1), ("k", "trl", 0, 0.2)]
    names = ("key", "side", "seed", "after")
    path.write_text("".join(json.dumps(dict(zip(names, line, strict=True))) + "\n" for line in lines))
    known = trl_learning.read(path, "k")
    assert {pair: record["after"] for pair, record in known.items()} == {("trl", 0): 0.2, ("base", 0): 0.1}
    assert trl_learning.missing(known, ["trl", "ours"], range(2)) == [("ours", 0), ("trl", 1), ("ours", 1)]
    assert trl_learning.missing({}, ["ours"], [3]) == [("base", 0), ("ours", 3)]
    assert trl_learning.read(tmp_path / "none.jsonl", "k") == {}


@pytest.mark.parametrize(("shift", "words"), [(0.0, "equal within"), (0.05, "not shown to be equal within")])
def test_the_paragraph_says_what_the_tests_found(shift: float, words: str) -> None:
    values = [0.220, 0.225, 0.230]
    known = {("ours", i): {"after": value + shift} for i, value in enumerate(values)}
    known |= {("trl", i): {"after": value} for i, value in enumerate(values)}
    text = trl_learning.paragraph(known, SETTINGS)
    assert f": {words} 0.03" in text and f"difference {shift:+.4f}" in text
    assert "two seeds" in trl_learning.paragraph({("ours", 0): {"after": 0.2}}, SETTINGS)


def test_both_sides_read_one_file_of_different_problems(tmp_path: Path) -> None:
    train, held_out = (path.read_text().splitlines() for path in trl_learning.write_data(SETTINGS, tmp_path))
    assert (len(train), len(held_out)) == (6, 5)
    assert len({*train, *held_out}) == 11
    row = json.loads(train[0])
    numbers = " ".join(map(str, row["numbers"]))
    assert row["prompt"] == [{"role": "user", "content": f"C {numbers}={row['target']}"}]


def test_our_command_line_says_every_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = trl_learning.write_data(SETTINGS, tmp_path)
    model = str(any_text_model(tmp_path / "model"))
    words = trl_learning.our_command(SETTINGS, model=model, data=data, seed=4, run=tmp_path / "run")
    assert main([*words[words.index("train") :], "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    scale, mechanism = found["recipe"]["scale"], found["recipe"]["mechanism"]
    same = ("max_new", "learning_rate", "schedule", "temperature", "weight_decay", "beta1", "beta2", "clip_norm")
    assert {name: scale[name] for name in same} == {name: SETTINGS[name] for name in same}
    assert [scale[n] for n in ("num_prompts", "group_size", "num_steps", "warmup_steps", "num_epochs")] == [
        3,
        8,
        2,
        0,
        1,
    ]
    assert mechanism["objective"]["gate"] | {"part": ""} == {"part": "", "low": 0.2, "high": 0.2, "dual": None}
    assert (mechanism["credit"]["scale"], mechanism["objective"]["aggregate"]["part"]) == ("none", "fixed-length")
    assert mechanism["objective"]["regularise"] == [] and found["seed"] == 4


def test_trls_epsilon_and_its_spread_of_the_batch() -> None:
    rewards = [1.0, 0.0, 0.0, 0.0]
    centred, spread = np.array([0.75, -0.25, -0.25, -0.25]), 0.5  # the variance with ddof 1 is (9 + 3) / 16 / 3
    for kind, theirs, divisor in (
        ("group", True, spread + 1e-4),
        ("group", False, spread + 1e-6),
        ("batch", True, spread + 1e-4),
        ("none", True, 1.0),
    ):
        batch = trl_rollouts.batch_of(Rollout("grpo", kind), rows(rewards), theirs=theirs)  # pyright: ignore
        np.testing.assert_allclose(batch.advantage, np.repeat(centred / divisor, 2), rtol=1e-6)


def test_what_trl_does_with_a_cut_answer_and_what_we_do() -> None:
    made = rows([1.0, 0.0, 0.0, 0.0], cut=(3,))
    kept = {
        kind: trl_rollouts.batch_of(Rollout(kind, "none", mask_truncated=True), made, theirs=True)
        for kind in ("grpo", "dapo")
    }
    ours = trl_rollouts.batch_of(Rollout("grpo", "none", mask_truncated=True), made, theirs=False)
    assert [len(kept["grpo"]), len(kept["dapo"]), len(ours)] == [4, 3, 3]
    assert kept["grpo"].mask.sum() == 6
    np.testing.assert_allclose(kept["dapo"].advantage[:2], 0.75)
    np.testing.assert_allclose(ours.advantage[:2], 2 / 3, rtol=1e-6)


def test_rows_are_found_in_trls_micro_batches_equal_ones_once_each() -> None:
    batch = trl_rollouts.batch_of(Rollout("dapo", "none"), rows([1.0, 0.0, 0.0, 0.0]), theirs=False)
    places = trl_rollouts.places_of(batch, [[[1, 5, 2], [1, 6, 2]], [[1, 6, 2], [1, 5, 2]]])
    assert sorted(place for part in places for place in part) == [0, 1, 2, 3]
    assert [{place % 2 for place in part} for part in places] == [{0, 1}, {0, 1}]


def test_the_loss_of_ratios_of_one_is_the_weighted_mean_advantage() -> None:
    case = Rollout("dr_grpo", "none")
    batch = trl_rollouts.batch_of(case, rows([1.0, 0.0, 0.0, 0.0]), theirs=True)
    goal = trl_rollouts.objective_of(case)
    assert trl_ours.loss_of(Taught(batch, goal)) == pytest.approx(0.0, abs=1e-9)
    longer = dataclasses.replace(batch, advantage=np.ones_like(batch.advantage))
    assert trl_ours.loss_of(Taught(longer, goal, 0.5)) == pytest.approx(-0.5 * 8 / (4 * trl_ours.MAX_NEW))


def test_the_loss_of_a_likelihood_and_of_whole_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    logp = np.array([-1.0, -2.0, -0.5, -0.5], np.float32)
    monkeypatch.setattr(trl_ours, "fresh", lambda folder: None)
    monkeypatch.setattr(trl_ours, "policy_folder", lambda: "")
    monkeypatch.setattr(trl_ours, "scores_of", lambda engine, batch: logp)
    made = trl_ours.curated(rows([1.0, 0.0]), recipe("dpo").mechanism)
    batch = trl_ours.packed([row.mark(ref=np.zeros(2, np.float32)) for row in made], Constant(1.0))
    mean = Taught(batch, recipe("sft").mechanism.objective, 2.0)
    assert trl_ours.loss_of(mean) == pytest.approx(2 * 4 / 4)
    assert trl_ours.loss_of(Taught(batch, recipe("dpo").mechanism.objective)) == pytest.approx(np.log1p(np.exp(0.2)))


def test_trl_gets_the_pairs_that_are_marked() -> None:
    made = [*rows([0.0, 1.0, 0.0], cut=(0,)), *rows([0.0, 0.0], question=2), *rows([1.0, 0.0], question=3)]
    data = Paired("dpo").data(made)
    ids = [[pair[name][0]["content"] for name in ("prompt", "chosen", "rejected")] for pair in data]
    assert ids == [["1", "6 2", "5 2"], ["3", "5 2", "6 2"]]
    assert [pair["chosen"][0]["role"] for pair in data] == ["assistant"] * 2
    marked = trl_ours.curated(made, recipe("dpo").mechanism)
    assert trl_preferences.couples(marked) == [(1, 2), (5, 6)]


def test_what_was_measured_is_of_these_cases_and_within_the_goal() -> None:
    found = json.loads(trl_gradient.RESULTS.read_text())["cases"]
    names = [case.name for case in trl_gradient.CASES]
    assert [case["case"] for case in found] == names and len(set(names)) == len(names)
    assert [case["formulas"] for case in found] == [case.formulas for case in trl_gradient.CASES]
    assert max(case["with_formulas"]["distance"] for case in found) <= trl_gradient.GOAL
    assert {"rloo", "dpo"} | named("TRL") <= {case["recipe"] for case in found}


def test_the_last_word_on_a_trainers_arguments() -> None:
    assert arguments("x", optim="adamw_torch") == arguments("x") | {"optim": "adamw_torch"}
    assert arguments("x")["output_dir"] == "x"


def test_gradients_are_compared_over_all_parameters() -> None:
    a = {"w": np.array([3.0, 0.0]), "b": np.array([4.0])}
    assert trl_ours.compared(a, a)["distance"] == 0
    found = trl_ours.compared({"w": np.array([3.0, 1.0]), "b": np.array([4.0])}, a)
    assert found["distance"] == pytest.approx(0.2)
    assert found["cosine"] == pytest.approx(25 / (5 * 26**0.5))
    with pytest.raises(ValueError, match="different parameters"):
        trl_ours.compared({"w": a["w"]}, a)
