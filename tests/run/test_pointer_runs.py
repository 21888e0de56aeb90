"""A pointer policy through the command line: trained, killed, resumed, examined, reported, exported; and what it cannot
do, refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from small_runs import Shell, calm_and_killed, make_model, sizes

from assay.known import RECIPES
from assay.policy import fingerprint, load_policy
from assay.policy.kinds import KINDS
from assay.record.folder import RunFolder
from assay.run.bases import base_for
from assay.run.fresh_models import made
from assay.run.kind_needs import serving, unserved
from assay.run.memory_plan import choose_profile
from assay.source import Pool, Share

STEPS = 4
OTHERS = ("reinforce", "rloo", "sft")


def line_of(run: Path, recipe: str = "grpo", *more: str) -> list[str]:
    about = ["train", recipe, "--task", "tsp:6", "--model", "pointer:16x1", "--steps", str(STEPS), "--run", str(run)]
    return [*about, *sizes(scale_max_new=12), *more]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.parametrize("recipe", ["grpo", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_a_run_that_is_killed_ends_with_the_bits_of_a_calm_one(recipe: str, tmp_path: Path, shell: Shell) -> None:
    calm, killed = calm_and_killed(lambda run: line_of(run, recipe), tmp_path, shell)
    assert calm == killed


def test_it_is_examined_reported_and_exported(tmp_path: Path, shell: Shell) -> None:
    run = tmp_path / "run"
    assert shell(*line_of(run)).code == 0
    exam = ("--task", "tsp:6", "--problems", "4", "--n", "2", "--json")
    of_run = shell("eval", run, *exam).document
    assert 0 < of_run["scores"]["cost-gap"]["mean"] < 2 and of_run["scores"]["cost"]["mean"] > 100
    assert shell("export", run, tmp_path / "out").code == 0
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"config.json", "model.safetensors"} <= names
    assert not {"tokenizer.json", "generation_config.json"} & names
    of_export = shell("eval", tmp_path / "out", *exam, "--max-new", "12").document
    assert of_export["scores"] == of_run["scores"]
    assert shell("report", run).code == 0 and "cost-gap" in (run / "report.html").read_text()
    written = shell("sample", run, "r 1,1 90,90 1,90 90,1", "--n", "2", "--json").document
    assert sorted(written["answers"][0]["text"].split()) == ["1", "2", "3", "4"]


@pytest.mark.deep
@pytest.mark.parametrize(("recipe", "prompts", "samples"), [("reinforce", 256, 1), ("rloo", 32, 8), ("grpo", 32, 8)])
def test_it_learns(recipe: str, prompts: int, samples: int, tmp_path: Path, shell: Shell) -> None:
    """The mean gap to the reference halves in a hundred steps of a small policy."""
    scale = ("--scale.num-prompts", prompts, "--scale.group-size", samples, "--scale.learning-rate", "2e-3")
    asked = ("--evaluation.every", 0, "--evaluation.final-problems", 64, "--evaluation.final-samples", 4)
    about = ("--task", "tsp:8", "--model", "pointer:32x1", "--steps", 100, "--run", tmp_path / "run")
    assert shell("train", recipe, *about, *scale, *asked, "--machine.threads", 1).code == 0
    exams = [json.loads(line) for line in (tmp_path / "run" / "evals.jsonl").read_text().splitlines()]
    before, after = (exam["scores"]["cost-gap"]["mean"] for exam in exams if exam["set"] == "test")
    assert after < before / 2


def test_what_is_saved_is_what_was_trained(tmp_path: Path, shell: Shell) -> None:
    run = tmp_path / "run"
    assert shell(*line_of(run)).code == 0
    checkpoint = RunFolder.read_only(run).load()
    assert checkpoint is not None
    trained, begun = load_policy(checkpoint.path / "policy"), load_policy(made("pointer:16x1"))
    assert trained.config == begun.config
    moved = [not torch.equal(a, b) for a, b in zip(trained.weights().values(), begun.weights().values(), strict=True)]
    assert all(moved)


def test_a_name_stands_for_the_same_weights_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint(load_policy(made("pointer:16x2")))
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "other"))
    assert fingerprint(load_policy(made("pointer:16x2"))) == first
    assert fingerprint(load_policy(made("pointer:32x2"))) != first
    told = json.loads((made("pointer:16x2") / "config.json").read_text())
    (made("pointer:16x2") / "config.json").write_text(json.dumps(told | {"clip": 5.0}))
    assert fingerprint(load_policy(made("pointer:16x2"))) != first, "the same weights with other logits"


def test_the_base_of_the_kind_is_taken_where_no_model_is_named() -> None:
    assert base_for(Pool((Share("tsp", (20,)),))) == "pointer"
    profile, reason = choose_profile("pointer")
    assert profile == "laptop" and "million parameters" in reason


def test_a_language_model_is_asked_the_same_problems(tmp_path: Path, shell: Shell) -> None:
    """One that knows nothing writes no trip: its reward is that of a gap of nine."""
    about = ["train", "grpo", "--task", "tsp:6", "--model", make_model(tmp_path / "model"), "--steps", 2]
    more = ("--run", tmp_path / "run", "--machine.engine", "torch")  # the cache of this test has no compiled core
    assert shell(*about, *more, *sizes(scale_max_new=12)).code == 0
    steps = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [step["reward/mean"] for step in steps] == [-8.0, -8.0]


# What a kind cannot serve


def refused_by(slot: str) -> str:
    """The first recipe that a part of this slot keeps from pointer policies."""
    return next(name for name in RECIPES if f"({slot}) needs" in (unserved(RECIPES[name], KINDS["pointer"]) or ""))


@pytest.mark.parametrize(
    ("recipe", "why"),
    [("ppo", "its critic needs"), (refused_by("ask"), "(ask) needs"), (refused_by("reward"), "(reward) needs")],
)
def test_a_recipe_that_the_kind_cannot_serve_is_refused_before_anything_is_loaded(
    recipe: str, why: str, tmp_path: Path, shell: Shell
) -> None:
    answer = shell("train", recipe, "--task", "tsp:6", "--run", tmp_path / "run")
    assert answer.code == 78 and why in answer.err and "such as reinforce, rloo, grpo" in answer.err
    assert not (tmp_path / "run").exists()


def test_a_part_of_the_user_is_refused_likewise(tmp_path: Path, shell: Shell) -> None:
    answer = shell(*line_of(tmp_path / "run", "grpo", "--mechanism.ask", "templated"))
    assert answer.code == 78 and "`templated` (ask) needs a policy that reads and writes texts" in answer.err


def test_plain_recipes_serve_the_kind_and_language_models_serve_all() -> None:
    served = list(serving(KINDS["pointer"]))
    assert {"reinforce", "rloo", "grpo", "dr-grpo", "gspo", "dapo", "sft"} <= set(served)
    assert len(RECIPES) / 3 < len(served) < len(RECIPES)
    assert all(unserved(RECIPES[name], KINDS["transformer"]) is None for name in RECIPES)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--lora", "4"), "--lora 4 needs a policy that is trained by a low-rank adapter"),
        (("--machine.samplers", "1"), "has its answers written by servers"),
        (("--machine.learners", "2"), "trained by several learners"),
        (("--evaluation.shots", "2"), "reads and writes texts"),
        (("--system", "Be brief."), "reads no words"),
        (("--wording", "natural"), "compact wording"),
        (("--machine.engine", "native"), "runs language models"),
        (("--machine.precision", "bf16"), "fp32 or fp64"),
    ],
)
def test_settings_that_the_kind_cannot_follow_are_refused(
    more: tuple[str, ...], why: str, tmp_path: Path, shell: Shell
) -> None:
    answer = shell(*line_of(tmp_path / "run", "grpo", *more))
    assert answer.code in (64, 65, 78) and why in answer.err and not (tmp_path / "run").exists(), answer.err


@pytest.mark.parametrize(
    ("verb", "why"),
    [
        (("chat", "pointer:16x1"), "reads and writes texts"),
        (("transfer", "pointer:16x1", "pointer:16x1", "pointer:16x1", "--task", "tsp:6"), "shifted"),
        (("train", "grpo", "--task", "countdown:3", "--model", "pointer:16x1"), "routing problem"),
        (("eval", "pointer:16x1", "--task", "countdown:3"), "routing problem"),
        (("train", "grpo", "--task", "tsp:6", "--model", "pointer:17x1"), "multiple of 16"),
        (("train", "grpo", "--task", "tsp:6", "--model", "pointer:wide"), "WIDTHxLAYERS"),
    ],
)
def test_verbs_that_need_words_refuse_a_policy_without(verb: tuple[str, ...], why: str, shell: Shell) -> None:
    answer = shell(*verb)
    assert answer.code not in (0, 70) and why in answer.err, answer.err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"hidden": "64"}, "must be a number"),
        ({"hidden": 32}, "do not fit its config.json"),
        ({"layers": 0}, "at least 1"),
        ({"places": True}, "must be a number"),
    ],
)
def test_a_folder_that_says_something_else_than_it_holds_is_refused(
    change: dict[str, object], why: str, tmp_path: Path, shell: Shell
) -> None:
    folder = made("pointer:16x1")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    answer = shell("eval", str(folder), "--task", "tsp:6", "--problems", "2")
    assert answer.code in (64, 65, 74, 78) and why in answer.err, answer.err
