"""A world with a state, a tool, rewards by turn, two trained seats and replaced contexts, where servers write answers,
where they are asked for ahead, and where several ranks learn: it comes to what it comes to in one process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small_runs import Shell, came_to, sizes
from trading_world import SAME_APART, TRADE

from assay.collect.hosts import place_of
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import TASKS

pytestmark = [pytest.mark.slow, pytest.mark.turns(5)]
PLAIN = ("--machine.engine", "torch", "--machine.precision", "fp32")
CORE = ("--machine.engine", "native")
AHEAD = ("--mechanism.collect", "ahead", "--mechanism.collect.0.lag", "1")
SERVERS = ("--machine.samplers", "2", "--machine.deadline", "60")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TASKS, "trade", TRADE)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that writes four letters."""
    folder = tmp_path_factory.mktemp("letters") / "model"
    tokenizer = character_tokenizer("abcd")
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 96, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("letters")), folder)
    return folder


def came(shell: Shell, model: Path, run: Path, *more: str) -> tuple[Any, ...]:
    """What a run came to, with the answers of its steps."""
    line = ["train", "grpo", "--model", str(model), "--task", "trade:1", "--steps", "3", "--run", str(run), *more]
    few = sizes(scale_num_prompts=2, scale_group_size=4, scale_max_new=20, evaluation_every=2)
    ended = shell(*line, *few, "--saving.rollouts-every", "1")
    assert ended.code == 0, ended.err
    return (*came_to(run), [answers_of(run, step) for step in (1, 2, 3)])


def answers_of(run: Path, step: int) -> list[dict[str, str]]:
    table = pq.read_table(run / "rollouts" / f"step-{step:08d}.parquet")
    return [{name: str(value) for name, value in row.items()} for row in table.to_pylist()]


def require_talk(answers: list[list[dict[str, str]]]) -> None:
    """Both seats speak, the tool replies, turns are paid, and a context is replaced."""
    everyone = [answer for step in answers for answer in step]
    assert any("2" in answer["origin"] for answer in everyone)
    assert {answer["group"].partition("/")[2] for answer in everyone} == {"", "other"}
    assert any(float(answer["reward/turns"] or 0) for answer in everyone if answer["reward/turns"] != "None")


@pytest.mark.core
@pytest.mark.parametrize("more", [(), AHEAD], ids=["at once", "ahead"])
def test_servers_write_in_a_world_what_the_run_itself_writes(
    shell: Shell, model: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    here = came(shell, model, tmp_path / "here", *CORE, *more)
    there = came(shell, model, tmp_path / "there", *CORE, *more, *SERVERS)
    assert here == there
    require_talk(here[-1])


@pytest.mark.core
@pytest.mark.parametrize("replies", ["rounds", "free"])
def test_plays_apart_that_are_asked_for_ahead_are_those_of_this_process(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replies: str
) -> None:
    here = came(shell, model, tmp_path / "here", *CORE, *AHEAD)
    monkeypatch.setitem(TASKS, "trade", SAME_APART)
    place_of.cache_clear()
    freely = ("--machine.hosts", "2", "--machine.replies", replies)
    assert here == came(shell, model, tmp_path / "apart", *CORE, *AHEAD, *freely)


def test_two_ranks_learn_from_plays_what_one_learns(shell: Shell, model: Path, tmp_path: Path) -> None:
    """The same answers in the first step, and in the others weights that are a rounding apart."""
    two = ("--machine.learners", "2", "--machine.precision", "fp32", "--machine.deadline", "60")
    one = came(shell, model, tmp_path / "one", *PLAIN)
    ranks = came(shell, model, tmp_path / "ranks", *two)
    again = came(shell, model, tmp_path / "again", *two)
    assert ranks == again, "a run of several ranks is a function of its seed too"
    for first, second in zip(one[-1][0], ranks[-1][0], strict=True):
        assert first["tokens"] == second["tokens"] and first["earned"] == second["earned"]
    for name in ("reward/mean", "reward/turns", "replies/mean", "policy/entropy", "policy/grad_norm", "length/mean"):
        assert ranks[2][0][name] == pytest.approx(one[2][0][name], rel=1e-4), name
    require_talk(one[-1])
