"""Processes that run plays and answer otherwise than they were asked: the play is lost and tried again, and no reply
comes to another play.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lying_host import NOISE
from processes import gone
from test_hosts import answers, here, told, waiting

from assay.collect import hosts as hosts_module
from assay.collect.hosts import HostedPlay, Hosting, Hosts, PlayLost, ReplyLog, _Host, _Order, _Wrong, log_of
from assay.errors import StorageError
from assay.rng import Key
from assay.worlds import Act, Reply

__all__ = ["waiting"]  # a fixture for each test of this file, too
LIES = {
    "twice": "answered an order that does not wait for it",
    "later ticket": "answered an order that does not wait for it",
    "ticket of another": "answered an order that does not wait for it",
    "play of another": "answered an order that does not wait for it",
    "noise": "wrote what is no answer: b'xxxx",
    "no UTF-8": "wrote what is no answer",
    "nested": "wrote what is no answer: b'[[[[",
    "no list": "wrote what is no answer: b'7",
    "words": "answered an order that does not wait for it",
    "no reply": "answered what is none: 7",
    "no ask": "answered what is none",
    "no field": "answered what is none",
    "half": "longer than 1 s",
    "half and end": "wrote what is no answer",
}


@pytest.mark.slow
@pytest.mark.turns(7)
@pytest.mark.parametrize("lie", list(LIES))
def test_a_process_that_answers_wrongly_costs_its_plays_and_tells_none_of_them_anything_wrong(
    monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    plain = here(monkeypatch)[:6]
    monkeypatch.setattr(hosts_module, "PROGRAM", "lying_host")
    monkeypatch.setenv("LYING_HOST", lie)
    lied = answers(Hosting(count=1, seconds=1.0), count=6)
    assert [e.request.id for e in lied] == [e.request.id for e in plain]
    for one, other in zip(plain, lied, strict=True):
        if other.finish != "error":
            assert told([one]) == told([other])
            continue
        assert other.verdict is not None and (other.verdict.status, other.verdict.kind) == ("invalid", "world")
        assert LIES[lie] in other.verdict.detail
        ids = other.stream("ids")
        assert ids.tolist() == one.stream("ids")[: len(ids)].tolist()
    assert sum(e.finish == "error" for e in lied) >= 2


ORDERS = ((3, 7), (4, 8), (5, 7))  # (ticket, play), in the order in which they were given


@pytest.fixture
def host() -> _Host:
    host = _Host(SimpleNamespace())  # type: ignore[arg-type]
    host.tickets = {ticket: _Order(play, 0.0, 1.0, heard=True) for ticket, play in ORDERS}
    return host


def line(*data: Any) -> bytes:
    return json.dumps(list(data)).encode() + b"\n"


@pytest.mark.parametrize(
    "wrong",
    [
        *(line(3, 8, {}), line(4, 7, {}), line(5, 7, {}), line(6, 7, {}), line(3, 9, {}), line("3", 7, {})),
        *(line(3, 7), line(3, 7, {}, {}), b"\n", b"7\n", b"{}\n", line(3, 7, {})[:-1], line(3, 7, {})[:9]),
        *(b"\xff\n", b"[3, 7, \xff]\n", NOISE, NOISE + b"\n", b"[" * 10**6 + b"\n", b"null\n", line(None, 7, {})),
        *(line([3], 7, {}), line(3, [7], {}), line(3.5, 7, {}), line(-1, -1, "ready")),
    ],
    ids=lambda wrong: repr(wrong[:16]),
)
def test_what_is_no_answer_to_the_first_order_of_a_play_is_wrong(host: _Host, wrong: bytes) -> None:
    with pytest.raises(_Wrong, match=r"its process (wrote what is no answer|answered an order that does not wait)"):
        host.answered(wrong)


def test_plays_answer_beside_each_other_and_each_in_turn(host: _Host) -> None:
    for ticket, play in ((4, 8), (3, 7), (5, 7)):
        assert host.answered(line(ticket, play, {"ask": None})) == (ticket, {"ask": None})
        host.tickets.pop(ticket)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    hosts = Hosts(1, seconds=2.0)
    yield hosts
    hosts.close()


def play_in(hosts: Hosts, **about: Any) -> HostedPlay:
    return HostedPlay(hosts, ReplyLog(None), "tiny", {"letter": "a"}, Key(0), **about)


@pytest.mark.slow
def test_a_page_of_a_megabyte_is_a_reply_and_an_act_of_a_megabyte_holds_nobody(
    monkeypatch: pytest.MonkeyPatch, hosts: Hosts
) -> None:
    page = "c" * 1_000_000
    monkeypatch.setenv("WAITING_TIMES", str(len(page)))
    play = play_in(hosts)
    play.open()
    reply = play.step(Act("policy", NOISE.decode() + "b"))
    assert reply.ask is not None and reply.ask.say[0].text == page
    (host,) = hosts._hosts.values()
    os.kill(host.process.pid, signal.SIGSTOP)  # it reads no more
    began = time.monotonic()
    ticket = play.submit(Act("policy", NOISE.decode() + "b"))
    assert time.monotonic() - began < 2.0
    with pytest.raises(PlayLost, match="a reply took longer than 2 s"):
        play.take(ticket)


@pytest.mark.slow
def test_what_a_world_starts_reads_no_orders_and_ends_with_its_process(
    monkeypatch: pytest.MonkeyPatch, hosts: Hosts, tmp_path: Path
) -> None:
    """A program that the world waits for reads its input to the end; another one would stay for ten minutes."""
    monkeypatch.setenv("WAITING_TROUBLE", "start")
    monkeypatch.setenv("WAITING_PIDS", str(tmp_path / "pids"))
    play, other = play_in(hosts), play_in(hosts)
    for each in (play, other):
        each.open()
    tickets = [each.submit(Act("policy", "dddb")) for each in (play, other)]
    assert [each.take(ticket).ask for each, ticket in zip((play, other), tickets, strict=True)] != [None, None]
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2 and not any(gone(pid, within=0.0) for pid in pids)
    hosts.close()
    assert all(gone(pid, within=10.0) for pid in pids)


@pytest.mark.slow
def test_numbers_of_any_library_are_rewards_and_answers_that_nobody_takes_are_not_kept(
    monkeypatch: pytest.MonkeyPatch, hosts: Hosts
) -> None:
    monkeypatch.setenv("WAITING_TROUBLE", "reward")
    for _ in range(3):
        play = play_in(hosts)
        play.open()
        assert play.step(Act("policy", "db")).rewards == {"policy": 0.5}
        assert play.save() and play.judge()
        play.close()
    last = play_in(hosts)
    last.open()
    assert not hosts._answers and not hosts._of


@pytest.mark.slow
def test_a_play_that_cannot_begin_says_why_at_each_order(monkeypatch: pytest.MonkeyPatch, hosts: Hosts) -> None:
    monkeypatch.setenv("WAITING_TROUBLE", "begin")
    play = play_in(hosts)
    for order in (play.open, lambda: play.step(Act("policy", "b")), play.judge, play.save):
        with pytest.raises(PlayLost, match="OSError: nobody listens"):
            order()


def test_half_a_line_is_taken_away_before_the_next_one_is_written(tmp_path: Path) -> None:
    """A run that is killed twice has both halves of what it was told."""
    path, moments = tmp_path / "log", [Key(number) for number in range(4)]
    ReplyLog(path).note(moments[0], Reply(end="ended"))
    for moment in moments[1:]:
        whole = path.read_bytes()
        ReplyLog(path).note(moment, Reply(end="limit"))
        path.write_bytes(path.read_bytes()[: len(whole) + 9])  # the kill comes while a line is written
        log = ReplyLog(path)
        assert log.get(moment) is None and path.read_bytes() == whole
        log.note(moment, Reply(end="limit"))
    log = ReplyLog(path)
    assert [log.get(moment) for moment in moments] == [Reply(end="ended"), *[Reply(end="limit")] * 3]


def test_a_log_that_is_damaged_is_named(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"garbage\n")
    with pytest.raises(StorageError, match=r"line 1 of .*log is no reply of a world. Delete the file"):
        ReplyLog(tmp_path / "log")


def test_plays_of_an_exam_are_logged_with_the_step_before_it_also_where_a_run_goes_on(tmp_path: Path) -> None:
    def name(how: Hosting, step: int | None) -> str:
        log = log_of(how, step)
        log.note(Key(step or 0), Reply(end="ended"))
        assert log.path is not None and log.path.exists()
        return log.path.name

    how = Hosting(folder=tmp_path)
    opened = [name(how, step) for step in (None, 0, 1, None, 2, 3, None)]
    assert opened == [f"step-{number:08d}.jsonl" for number in (0, 0, 1, 1, 2, 3, 3)]
    again = Hosting(folder=tmp_path, oldest=lambda: 4)  # a run that has done all its steps, and is examined
    assert name(again, None) == "step-00000003.jsonl" == name(again, None)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000003.jsonl"]


@pytest.mark.slow
def test_a_play_apart_that_cannot_begin_is_an_answer_without_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAITING_TROUBLE", "begin")
    for answer in answers(Hosting(count=1), count=2):
        assert answer.finish == "error" and answer.verdict is not None and answer.verdict.status == "invalid"
        assert answer.verdict.detail == "OSError: nobody listens"
