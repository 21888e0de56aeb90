"""Runs whose problems a foreign program answers: from a command to a run folder, on resume, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents import agent
from crashes import small_policy
from small_runs import sizes

import assay
from assay.cli.main import main
from assay.errors import ConfigError
from assay.known import RECIPES
from assay.part import parts_of
from assay.reward import Outcome, Scored
from assay.run import session
from assay.run.agents import answering
from assay.run.setup import Setup
from assay.tasks import TASKS, task

SMALL: dict[str, Any] = {
    "task": "countdown:3",
    "scale": {"num_prompts": 1, "group_size": 2, "max_new": 12, "temperature": 0.7},
    "machine": {"hosts": 1, "probe": 0, "threads": 1},
    "evaluation": {"every": 0, "num_problems": 1, "num_samples": 1, "final_problems": 1, "final_samples": 1},
    "quiet": True,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    small_policy(tmp_path / "model")
    return tmp_path / "model"


def planned(command: str, **settings: Any) -> Any:
    given = {"agent.command": command, **settings}
    return session.planned(Setup("grpo", model="countdown", task=("countdown:3",), settings=given))[0]


@pytest.mark.slow
def test_a_run_is_answered_by_an_agent_and_goes_on_with_it(tmp_path: Path, model: Path) -> None:
    command = agent(tmp_path, "rewarded")
    place = tmp_path / "run"
    how = {"agent": {"command": command, "reward": "agent"}, **SMALL}
    run = assay.train("grpo", model=model, steps=1, run=place, **how)
    document = json.loads((place / "run.json").read_text())
    assert document["experiment"]["agent"] == {"command": command, "reward": "agent"}
    assert (place / "run.toml").read_text().count(json.dumps(command)) == 1
    rows = run.rollouts(step=1)
    assert len(rows) == 2
    assert task("countdown").world is None, "behind the run the task is what it was"
    assert run.resume(steps=2).steps == 2
    metrics = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    assert [one["world/faults"] for one in metrics] == [0.0, 0.0]
    Path(command.split()[-1]).write_text("print(1)")
    with pytest.raises(ConfigError, match=r"agent\.command starts the program"):
        run.resume(steps=3)


@pytest.mark.slow
def test_an_agent_that_fails_teaches_nothing(tmp_path: Path, model: Path) -> None:
    place = tmp_path / "run"
    assay.train("grpo", model=model, steps=1, run=place, agent=agent(tmp_path, "wrong-key-in-training"), **SMALL)
    (metrics,) = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    assert metrics["world/faults"] == metrics["rollouts"] == 2.0
    assert metrics["budget/update_tokens"] == metrics["budget/optimiser_steps"] == 0.0


def test_a_program_that_only_a_file_names_is_not_started(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'recipe = "grpo"\nmodel = "{model}"\nagent = {json.dumps(agent(tmp_path, "once"))}\n')
    line = ["train", "--config", str(file), "--run", str(tmp_path / "run"), "--steps", "1", *sizes()]
    assert main(line) == ConfigError.exit_code
    assert "agent.command starts the program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-program --x", "there is no program 'no-such-program'"),
        ("python 'agent.py", "which no shell reads: No closing quotation"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused(command: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        planned(command)


def test_a_task_with_a_world_of_its_own_is_refused() -> None:
    setup = Setup("grpo", model="calculator", task=("calculator:2",), settings={"agent.command": "python3 agent.py"})
    with pytest.raises(ConfigError, match="'calculator' has a world of its own"):
        session.planned(setup)


def test_recipes_that_go_on_from_within_an_answer_are_refused() -> None:
    method = next(recipe for recipe in RECIPES.values() if any(part.continues for part in recipe.mechanism.expand))
    setup = Setup(method.name, model="countdown", task=("countdown:3",), settings={"agent.command": "python3 agent.py"})
    with pytest.raises(ConfigError, match="no second play of 'countdown'"):
        session.planned(setup)


def test_the_reward_is_that_of_the_verifier_or_of_the_agent() -> None:
    def rewards(reward: str) -> list[type]:
        experiment = planned("python3 agent.py", **{"agent.reward": reward})
        return [type(part) for part in parts_of(experiment.recipe.mechanism.reward)]

    assert Outcome in rewards("verifier") and Scored not in rewards("verifier")
    assert Scored in rewards("agent") and Outcome not in rewards("agent")


def test_tasks_are_answered_by_the_agent_inside_the_block_alone() -> None:
    experiment = planned("python3 agent.py")
    before = dict(TASKS)
    with answering(experiment):
        world = task("countdown").world
        assert world is not None and world.apart and world.fork == "no" and json.loads(world.door)["seconds"] == 60.0
    assert dict(TASKS) == before
