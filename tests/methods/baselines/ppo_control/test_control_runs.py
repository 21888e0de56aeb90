"""Runs in worlds of numbers through the command line: trained, killed, resumed, examined, reported, exported; and what
cannot be, refused.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from small_runs import Shell, calm_and_killed, sizes

from assay.known import RECIPES
from assay.policy.kinds import KINDS
from assay.run.bases import base_for
from assay.run.fresh_models import fitted
from assay.run.kind_needs import unserved
from assay.source import Pool, Share
from assay.tasks.control.environments import environment_task
from assay.worlds import gymnasium_worlds

STEPS = 4


def line_of(run: Path, recipe: str = "ppo-control", task: str = "chain:5", *more: str) -> list[str]:
    about = ["train", recipe, "--task", task, "--steps", str(STEPS), "--run", str(run)]
    return [*about, *sizes(scale_max_new=30), *more]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.mark.parametrize(
    ("recipe", "more"),
    [
        ("ppo-control", ("--mechanism.collect.0.steps", "5")),
        ("ppo-control", ("--model", "mlp:8x8", "--mechanism.collect.0.steps", "5")),
        ("reinforce", ()),
    ],
    ids=["table", "mlp", "reinforce"],
)
def test_a_run_that_is_killed_ends_with_the_bits_of_a_calm_one(
    recipe: str, more: tuple[str, ...], tmp_path: Path, shell: Shell
) -> None:
    """Killed within a step, while plays are under way that the last checkpoint holds as seeds and actions."""
    calm, killed = calm_and_killed(lambda run: line_of(run, recipe, "chain:5", *more), tmp_path, shell)
    assert calm == killed


def test_it_is_examined_reported_and_exported(tmp_path: Path, shell: Shell) -> None:
    run = tmp_path / "run"
    assert shell(*line_of(run)).code == 0
    exam = ("--task", "chain:5", "--problems", "4", "--n", "2", "--json")
    of_run = shell("eval", run, *exam).document
    assert 0 <= of_run["scores"]["return"]["mean"] <= 1
    assert shell("export", run, tmp_path / "out").code == 0
    assert {"config.json", "model.safetensors"} <= {path.name for path in (tmp_path / "out").iterdir()}
    of_export = shell("eval", tmp_path / "out", *exam, "--max-new", "30").document
    assert of_export["scores"] == of_run["scores"]
    assert shell("report", run).code == 0 and "return" in (run / "report.html").read_text()


def test_the_size_of_a_model_follows_from_the_world() -> None:
    chain = Pool((Share("chain:7", (1,)),))
    assert base_for(chain) == "tabular" and fitted("tabular", chain) == "tabular:7x2"
    assert fitted("mlp:8x8", chain) == "mlp:8x8:7x2" and fitted("mlp", chain) == "mlp:64x64:7x2"
    assert fitted("countdown", chain) == "countdown" and fitted("mlp:8", Pool((Share("countdown", (3,)),))) == "mlp:8"


# What is refused


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("ppo", "--task", "chain:5"), r"`critic` .* takes a limit for an end .* such as ppo-control"),
        (("ppo-control", "--task", "chain:5", "--model", "countdown"), r"observes numbers .* Leave --model out"),
        (("grpo", "--task", "countdown:3", "--model", "mlp:8:5x2"), r"countdown is a task in words"),
        (("ppo-control", "--task", "chain:5", "--model", "mlp:8:4x2"), r"observes 4 numbers .* shows 5"),
        (
            ("ppo-control", "--task", "chain:5", "--task", "chain:6", "--model", "mlp:8"),
            r"5 numbers .* 6 numbers",
        ),
        (("ppo-control", "--task", "chain:5", "--lora", "4"), r"--lora 4 needs"),
        (("ppo-control", "--task", "chain:5", "--machine.engine", "native"), r"the core runs language models alone"),
        (("ppo-control", "--task", "chain:5", "--system", "Be brief."), r"reads no words"),
    ],
)
def test_what_cannot_be_is_refused_and_names_what_can(
    line: tuple[str, ...], said: str, tmp_path: Path, shell: Shell
) -> None:
    answer = shell("train", *line, "--run", tmp_path / "run")
    assert answer.code == 78 and re.search(said, answer.err.replace("\n", " ")), answer.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["2", "65", "x", "", "1e3"])
def test_a_chain_of_no_such_length_is_refused(name: str, shell: Shell) -> None:
    answer = shell("train", "ppo-control", "--task", f"chain:{name}")
    assert answer.code == 2 and "3 to 64 states" in answer.err


def test_without_gymnasium_an_environment_names_the_extra(monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    plain = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gymnasium" else plain(name))
    gymnasium_worlds.environment.cache_clear()
    environment_task.cache_clear()
    answer = shell("train", "ppo-control", "--task", "env:CartPole-v1", "--dry-run")
    assert answer.code == 78 and "pip install 'assay-rl[control]'" in answer.err


def test_plain_recipes_serve_policies_over_observations() -> None:
    for name in ("ppo-control", "reinforce", "rloo", "grpo"):
        assert unserved(RECIPES[name], KINDS["mlp"]) is None, name
