"""Runs whose learner is several processes: they train, survive the loss of one, and go on with any other number."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from of_methods import named
from small_runs import GRADED, Shell, came_to, make_model, steps_of, train_line

from assay.engine.sharded.engine import ShardedLearner
from assay.host import space
from assay.run.experiment import Machine, check_learners

pytestmark = [pytest.mark.slow, pytest.mark.turns(3)]
TWO = ("--machine.learners", "2", "--machine.precision", "fp32", "--machine.deadline", "60")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"))


def killing(patch: pytest.MonkeyPatch, *, at: int, times: int = 1) -> None:
    """A rank is killed in the middle of the optimiser step that follows version `at`, so many times."""
    plain, left = ShardedLearner.step, [times]

    def step(self: ShardedLearner, **settings: Any) -> Mapping[str, float]:
        if self.version == at and left[0] and self.name == "policy":
            left[0] -= 1
            os.kill(self.ranks.facts[1]["pid"], signal.SIGKILL)
        return plain(self, **settings)

    patch.setattr(ShardedLearner, "step", step)


@pytest.mark.parametrize("recipe", ["ppo", *sorted(named("SHARDED"))])
def test_a_run_that_loses_a_rank_goes_on_and_ends_with_the_bits_of_one_that_did_not(
    shell: Shell, model: Path, tmp_path: Path, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a critic and a reference, and with followers that sample."""
    (tmp_path / "graded.py").write_text(GRADED)
    told = (*TWO, "--reward", f"{tmp_path / 'graded.py'}:graded")
    calm = shell(*train_line(model, tmp_path / "calm", *told, recipe=recipe, scale_num_prompts=8, scale_group_size=4))
    assert calm.code == 0, calm.err
    killing(monkeypatch, at=1)
    hurt = shell(*train_line(model, tmp_path / "hurt", *told, recipe=recipe, scale_num_prompts=8, scale_group_size=4))
    assert hurt.code == 0, hurt.err
    assert "rank 1 of 2 was ended by SIGKILL. All processes are started again from step" in hurt.err
    step, files, metrics, exams = came_to(tmp_path / "calm")
    again, found, measured, examined = came_to(tmp_path / "hurt")
    assert (step, metrics, exams) == (again, measured, examined) and steps_of(tmp_path / "hurt") == [1, 2, 3, 4]
    assert files.keys() == found.keys() and all(found[name] == content for name, content in files.items())


def test_a_run_that_loses_ranks_again_and_again_stops_and_can_be_resumed_with_another_number(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        killing(patch, at=0, times=2)
        stopped = shell(*train_line(model, tmp_path / "run", *TWO, "--machine.restarts", "1"))
    assert stopped.code == 75
    assert "after 1 restarts from one checkpoint (machine.restarts)" in stopped.err and "assay resume" in stopped.err
    resumed = shell("resume", tmp_path / "run", "--learners", 3)
    assert resumed.code == 0, resumed.err
    assert "'cpu fsdp, 2 ranks, 1 x 2, gloo' -> 'cpu fsdp, 3 ranks, 1 x 3, gloo'" in resumed.err
    assert steps_of(tmp_path / "run") == [1, 2, 3, 4]
    alone = shell("resume", tmp_path / "run", "--learners", 1, "--steps", 5)
    assert alone.code == 0 and steps_of(tmp_path / "run") == [1, 2, 3, 4, 5], alone.err


def test_several_learners_learn_what_one_learns(shell: Shell, model: Path, tmp_path: Path) -> None:
    """The same answers, in the first step, from the same weights; weights a rounding apart afterwards."""
    (tmp_path / "graded.py").write_text(GRADED)
    graded = ("--reward", f"{tmp_path / 'graded.py'}:graded")
    for name, more in (("one", ("--machine.engine", "torch", "--machine.precision", "fp32")), ("two", TWO)):
        assert shell(*train_line(model, tmp_path / name, *more, *graded)).code == 0
    one, two = (came_to(tmp_path / name)[2][0] for name in ("one", "two"))
    for name in ("reward/mean", "policy/entropy", "policy/grad_norm", "length/mean"):
        assert two[name] == pytest.approx(one[name], rel=1e-4), name


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"learners": 0}, "machine.learners must be at least 1, not 0."),
        ({"learners": 3, "replicate": 2}, "machine.replicate is 2, which does not divide the 3 learners"),
        ({"replicate": 2}, "machine.replicate is 2, and there is one learner"),
        ({"learners": 2, "engine": "native"}, "machine.engine is native, which trains in one process"),
        ({"learners": 2, "optimiser_bits": 8}, "machine.optimiser_bits is 8, which one learner alone can have"),
        ({"learners": 64}, "machine.learners is 64, and this machine has 2 cores: take at most 4."),
    ],
)
def test_learners_that_cannot_be_are_refused_before_anything_starts(
    shell: Shell, model: Path, tmp_path: Path, settings: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.run.experiment.cores", lambda: 2)
    line = [part for name, value in settings.items() for part in (f"--machine.{name.replace('_', '-')}", str(value))]
    refused = shell(*train_line(model, tmp_path / "run", "--machine.device", "cpu", *line))
    assert refused.code == 78 and said in refused.err, refused.err
    assert not (tmp_path / "run").exists()


def test_cores_are_those_that_the_process_may_use() -> None:
    assert 1 <= space.cores() <= (os.cpu_count() or 1)
    check_learners(Machine(device="cpu", learners=2 * space.cores()))
