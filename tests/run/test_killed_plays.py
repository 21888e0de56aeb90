"""Runs whose plays have a state are killed anywhere while they collect, and end with the bits of a calm run."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kills import KILLED, Server
from small_runs import came_to, sizes, steps_of

from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key

WITHIN = ["collect/plays.py", "collect/hosts.py"]
STEPS = 3
MOMENTS = 20


@dataclass(frozen=True)
class Case:
    """A run that is killed, in the schedule of its name."""

    name: str
    task: str
    more: tuple[str, ...] = ()
    core: bool = False

    def line(self, place: Path, run: Path) -> list[str]:
        line = ["train", "grpo", "--model", str(place / "model"), "--task", self.task, "--run", str(run)]
        few = sizes(scale_num_prompts=2, scale_group_size=4, scale_max_new=20, evaluation_every=2, saving_keep=9)
        return [*line, "--steps", str(STEPS), *few, "--saving.rollouts-every", "1", *self.more]


FREE = ("--machine.engine", "native", "--machine.replies", "free", "--machine.hosts", "2")
HERE = Case("here", "trade:1")
APART = Case("apart", "trade-apart:1", ("--machine.hosts", "2"))
FREELY = Case("free", "trade-apart:1", FREE, core=True)
CASES = (HERE, APART, FREELY)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that writes four letters."""
    folder = tmp_path_factory.mktemp("killed")
    tokenizer = character_tokenizer("abcd")
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 96, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("letters")), folder / "model")
    return folder


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[Server]:
    started = Server(place / "cache", place / "log", str(Path(__file__).parents[1] / "kills_of_plays.py"))
    yield started
    started.close()


Count = Callable[[Case], int]


@pytest.fixture(scope="module")
def calm(place: Path, server: Server) -> Count:
    """The lines of an undisturbed run, which stands in the folder of its name, as they are counted."""

    @functools.cache
    def counted(case: Case) -> int:
        ((code, lines),) = server.run(case.line(place, place / case.name), within=WITHIN)
        assert code == 0, server.log.read_text()
        return lines

    return counted


EARLY = 0.45  # in so much of its lines a run may not have logged a reply yet


def drawn(*cases: Case, usual: Case) -> list[Any]:
    """Of each case a moment in each of twenty equal parts of its lines. One of them is killed in every run of tests."""
    moments = []
    for case in cases:
        draw = random.Random(case.name)
        for part in range(MOMENTS):
            share = 0.9 * (part + draw.random()) / MOMENTS  # while it waits for replies its lines vary in number
            marks = [] if case is usual and part == MOMENTS // 2 else [pytest.mark.deep]
            marks += [pytest.mark.core] if case.core else []
            moments.append(pytest.param(case, share, marks=marks, id=f"{case.name}-{part}"))
    return moments


@pytest.mark.slow
@pytest.mark.parametrize(("case", "share"), drawn(*CASES, usual=HERE))
def test_a_run_that_is_killed_in_a_play_ends_with_the_bits_of_one_that_is_not(
    server: Server, place: Path, tmp_path: Path, calm: Count, case: Case, share: float
) -> None:
    run = tmp_path / "run"
    killed(server, case.line(place, run), at=1 + int(share * calm(case)))
    resume(server, case, place, run)
    require_the_same(place / case.name, run)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "share"), drawn(APART, FREELY, usual=FREELY))
def test_a_world_that_replies_otherwise_today_does_so_only_where_it_had_not_replied_before(
    server: Server, place: Path, tmp_path: Path, calm: Count, case: Case, share: float
) -> None:
    """The run ends with the bits of an undisturbed one, in which the world replies otherwise at just these moments."""
    run, wanted = tmp_path / "run", tmp_path / "wanted"
    first, asked, changed = tmp_path / "first", tmp_path / "asked", tmp_path / "changed"
    first.touch()
    at = 1 + int(share * calm(case))
    killed(server, case.line(place, run), at=at, environment={"TRADE_ASKED": str(first)})
    before = logs_of(run)
    resume(server, case, place, run, environment={"TRADE_SAYS": "a", "TRADE_ASKED": str(asked)})
    for name, lines in logs_of(run).items():
        old, moments = before.get(name, []), [json.loads(line)[0] for line in lines]
        assert lines[: len(old)] == old and len(moments) == len(set(moments))
    logged = {json.loads(line)[0] for lines in before.values() for line in lines}
    assert logged & {*first.read_text().split()} or share < EARLY
    changed.write_text("\n".join({*asked.read_text().split()} - logged))
    assert changed.read_text()
    today = {"TRADE_SAYS": "a", "TRADE_CHANGED": str(changed)}
    ((code, _),) = server.run(case.line(place, wanted), environment=today)
    assert code == 0, server.log.read_text()
    require_the_same(wanted, run)


def logs_of(run: Path) -> dict[str, list[str]]:
    """The whole lines of the logs of replies."""
    return {path.name: path.read_text().splitlines() for path in sorted((run / "replies").glob("*"))}


def killed(server: Server, line: list[str], at: int, **job: Any) -> None:
    """Runs a command until it comes to this line of those that collect."""
    ((code, _),) = server.run(line, within=WITHIN, at=at, **job)
    assert code == KILLED, server.log.read_text()


def resume(server: Server, case: Case, place: Path, run: Path, **job: Any) -> None:
    line = ["resume", str(run)] if (run / "run.json").exists() else case.line(place, run)
    ((code, _),) = server.run(line, **job)
    assert code == 0, server.log.read_text()


def require_the_same(calm: Path, hurt: Path) -> None:
    (last, files, metrics, exams), (again, others, measured, examined) = came_to(calm), came_to(hurt)
    assert (last, metrics, exams) == (again, measured, examined) and steps_of(hurt) == [*range(1, STEPS + 1)]
    assert files.keys() == others.keys() and all(others[name] == content for name, content in files.items())
    for step in range(1, STEPS + 1):
        assert answers_of(calm, step) == answers_of(hurt, step) != []


def answers_of(run: Path, step: int) -> list[Any]:
    table = pq.read_table(run / "rollouts" / f"step-{step:08d}.parquet")
    return [{name: str(value) for name, value in row.items()} for row in table.to_pylist()]
