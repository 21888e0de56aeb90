"""Plays in processes of their own: the same replies, faults, kills, logs, and a schedule in which nobody waits."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import below, gone
from tiny import Letters, policy, recipe_of, register, run
from waiting_world import WAITING, slow

from assay.ask import Sampling, first_requests
from assay.collect import AtEnd, Collector, Worth, played
from assay.collect.hosts import HostedPlay, Hosting, Hosts, ReplyLog, hosting, place_of
from assay.errors import ConfigError
from assay.memory import Memory
from assay.models import Models
from assay.rng import Key
from assay.tasks import TASKS
from assay.types import Episode, Origin, Request
from assay.worlds import COMPACT, Act, Call

CODEC = Letters()


@pytest.fixture(autouse=True)
def waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, WAITING)
    place_of.cache_clear()


def requests(count: int = 24) -> list[Request]:
    problem = WAITING.problem(Key(0), level=1)
    sampling = Sampling(max_new=9)
    return first_requests([problem], Memory(0), first=0, samples=count, sampling=sampling, codec=CODEC)


def engine(seed: int = 0):
    return policy("fp32", decode=CODEC.decode, seed=seed)


def answers(how: Hosting, *, count: int = 24) -> list[Episode]:
    with hosting(how):
        return played(Models({"policy": engine()}, {"policy": "policy"}), requests(count), Key(1), CODEC)


def told(episodes: list[Episode]) -> list[tuple[str, str, list[int]]]:
    return [(e.text, e.finish, e.stream("ids").tolist()) for e in episodes]


def here(monkeypatch: pytest.MonkeyPatch) -> list[Episode]:
    """The same plays in this process."""
    assert WAITING.world is not None
    with monkeypatch.context() as patch:
        register(patch, dataclasses.replace(WAITING, world=dataclasses.replace(WAITING.world, apart=False)))
        return answers(Hosting())


def test_a_play_apart_is_the_play_here(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = answers(Hosting(count=2))
    assert told(apart) == told(here(monkeypatch))
    assert any((e.stream("origin") == Origin.ENV).any() for e in apart)
    assert [e.verdict for e in apart if e.finish == "stop"] and all(e.verdict for e in apart if e.finish == "stop")


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["die", "hang", "raise"])
def test_a_process_that_hangs_or_dies_costs_its_play_alone(monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    plain = here(monkeypatch)
    monkeypatch.setenv("WAITING_TROUBLE", trouble)
    how = Hosting(count=2, seconds=1.0)
    troubled = answers(how, count=8)
    assert any("d" in e.text for e in plain[:8])
    for one, other in zip(plain, troubled, strict=False):
        if other.finish == "error":
            assert other.verdict is not None and other.verdict.status == "invalid" and "d" in other.text
            why = {"die": "ended with 3", "hang": "longer than 1 s", "raise": "ValueError: no such page"}[trouble]
            assert why in other.verdict.detail
        else:
            assert told([one]) == told([other])


def test_what_a_world_prints_is_no_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAITING_TROUBLE", "print")
    assert told(answers(Hosting(count=1), count=8)) == told(here(monkeypatch))[:8]


def test_replies_come_from_the_log_where_it_has_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = answers(Hosting(count=1, folder=tmp_path))
    assert any("c" in e.text for e in first) and len(list(tmp_path.iterdir())) == 1
    monkeypatch.setenv("WAITING_SAYS", "a")  # today the tool would answer otherwise
    assert told(answers(Hosting(count=1, folder=tmp_path))) == told(first)
    assert told(answers(Hosting(count=1))) != told(first)


def test_half_a_log_is_gone_on_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a kill left: whole lines, and half of the last one."""
    first = answers(Hosting(count=1, folder=tmp_path))
    (path,) = tmp_path.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:7])
    assert told(answers(Hosting(count=1, folder=tmp_path))) == told(first)


def steps(schedule: str, folder: Path | None = None) -> list[tuple[str, str, list[int]]]:
    recipe = recipe_of("grpo", max_new=9, num_prompts=4, group_size=8, num_steps=2, warmup_steps=0)
    with hosting(Hosting(schedule=schedule, count=2, folder=folder)):  # type: ignore[arg-type]
        notes, _ = run(recipe, engine())
    return [each for step in notes.episodes for each in told(list(step))]


@pytest.mark.slow
def test_a_free_run_has_the_bits_of_one_in_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAITING_SECONDS", "0.01")
    assert steps("free") == steps("rounds")


def test_a_slow_reply_holds_its_own_play_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Some replies come when all other plays are over: freely they come, and in rounds, which wait for them, never."""
    asked, memory = requests(24), Memory(0)
    key = memory.key("sample", 0)
    waits = [slow(key("play", request.id)) for request in asked]
    monkeypatch.setenv("WAITING_FOLDER", str(tmp_path))
    monkeypatch.setenv("WAITING_FOR", str(waits.count(False)))
    assert 0 < waits.count(True) < 24

    def collected(schedule: str, seconds: float) -> list[Episode]:
        collector = Collector(AtEnd(lambda episodes: []), lambda role: Worth(False, ()), (), lambda *_: [], CODEC)
        with hosting(Hosting(schedule=schedule, count=2, seconds=seconds)):  # type: ignore[arg-type]
            models = Models({"policy": engine()}, {"policy": "policy"})
            return collector.finish(models, asked, memory, None)

    assert {e.finish for e in collected("free", 60)} <= {"stop", "length"}


def held(pid: int) -> tuple[set[str], int]:
    """What a process has open beside files of the program, and how many threads it has."""
    targets = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            targets.append(f"{link.name} {link.readlink()}")
    return {target for target in targets if "/proc/" not in target}, len(list(Path(f"/proc/{pid}/task").iterdir()))


def soon(so: Callable[[], bool]) -> bool:
    """Whether something comes true before long; the limit only keeps a failing test from hanging."""
    end = time.monotonic() + 20.0
    while not so() and time.monotonic() < end:
        time.sleep(0.01)
    return so()


@pytest.mark.slow
@pytest.mark.parametrize("count", [90, pytest.param(2000, marks=pytest.mark.deep)])
@pytest.mark.turns(2)
@pytest.mark.parametrize("schedule", ["rounds", "free"])
def test_many_plays_leave_no_process_thread_socket_or_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, count: int, schedule: str
) -> None:
    """In this process, in those in which they ran while these live, in the folder of the run, and where passing files
    are. Some plays are lost, and tried again in processes of their own.
    """
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("WAITING_TROUBLE", "die-once")
    monkeypatch.setenv("WAITING_FOLDER", str(tmp_path / "over"))
    monkeypatch.setenv("WAITING_FOR", "0")
    for name in ("over", "run"):
        (tmp_path / name).mkdir()
    how = Hosting(schedule=schedule, count=3, folder=tmp_path / "run")  # type: ignore[arg-type]
    models, number = Models({"policy": engine()}, {"policy": "policy"}), 0
    models["policy"].generate(requests(8), Key(0))  # starts the threads that compute
    before, ours = held(os.getpid()), set(below(os.getpid()))
    collector = Collector(AtEnd(lambda episodes: []), lambda role: Worth(False, ()), (), lambda *_: [], CODEC)
    with hosting(how):
        for step, plays in enumerate((10, (count - 10) // 2, (count - 10) // 2)):
            memory = dataclasses.replace(Memory(0), step=step)
            number += len(collector.finish(models, requests(plays), memory, None))
        hosts = [host.process.pid for host in how.hosts._hosts.values()]
        assert soon(lambda: {held(pid)[1] for pid in hosts} == {1}), "a play that is over has a thread"
        processes = [pid for pid in below(os.getpid()) if pid not in ours]
        assert number == count and len(processes) <= 3 and not how.hosts._answers and not how.hosts._of
    assert all(gone(pid) for pid in processes) and set(below(os.getpid())) == ours
    assert soon(lambda: held(os.getpid()) == before), (held(os.getpid()), before)
    assert (tmp_path / "over" / "died").exists()
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.parent != tmp_path / "over"}
    assert left == {"over", "run", *(f"run/step-{step:08d}.jsonl" for step in range(3))}


def test_a_play_goes_on_from_what_it_saved_and_from_its_acts() -> None:
    hosts, spec = Hosts(1, seconds=30), {"letter": "a"}
    play = HostedPlay(hosts, ReplyLog(None), "tiny", spec, Key(0))
    play.open()
    act = Act("policy", "ab", (Call("", {}),))
    first = [play.step(act), play.step(act)]
    saved = play.save()
    last = play.step(act)
    for again in (
        HostedPlay(hosts, ReplyLog(None), "tiny", spec, Key(0), [act, act], saved),
        HostedPlay(hosts, ReplyLog(None), "tiny", spec, Key(0), [act, act]),
    ):
        assert again.step(act) == last and again.judge() == play.judge()
        again.close()
        again.close()
    assert first[0].ask is not None
    hosts.close()


def test_a_world_that_no_process_can_import_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, dataclasses.replace(WAITING, summary="made here"))
    with pytest.raises(ConfigError, match="stands in no module that they could import"):
        answers(Hosting(count=1), count=2)


def test_controls_run_apart_as_the_world_that_they_control() -> None:
    spec, act = {"letter": "a"}, Act("policy", "ab", (Call("", {}),))
    hosts = Hosts(1, seconds=30)
    said = {}
    for kind in ("", "silent:"):
        play = HostedPlay(hosts, ReplyLog(None), f"{kind}{WAITING.name}", spec, Key(0))
        play.open()
        reply = play.step(act)
        assert reply.ask is not None
        said[kind] = [line.text for line in reply.ask.say]
        play.close()
    hosts.close()
    assert any(said[""]) and said["silent:"] == [""] * len(said[""])


def test_built_in_worlds_run_apart_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TASKS["calculator"]
    assert plain.world is not None
    hosts, problem = Hosts(1, seconds=30), plain.problem(Key(0), level=2)
    play = HostedPlay(hosts, ReplyLog(None), "calculator", problem.spec, Key(0))
    play.open()
    reply = play.step(plain.world.act("policy", "[2+3]", waits=True))
    assert reply.ask is not None and COMPACT.write(reply.ask.say) == "5"
    hosts.close()
