"""Servers that answer nonsense, or not at all: each becomes the right verdict, and none a reward of zero."""

from __future__ import annotations

import contextlib
import math
import socket
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_cases import problem_of
from misbehaving import Act, Hostile, Plain, answer, misbehaving

from assay.engine.interface import Generation
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.transport import wire
from assay.engine.remote.transport.couriers import Patience
from assay.engine.remote.transport.site import Expected, Parcel
from assay.errors import EndpointError, UsageError
from assay.rng import Key
from assay.types import Request

EXPECTED = Expected(13, 64, frozenset({0}), decode=lambda ids: "".join("abcdefghijklm"[i] for i in ids))
SHORT = Patience(answer=2.0, silence=1.0, retries=2)
GOOD = Act(answer([3, 4, 5]))


def request(i: int = 0, *, max_new: int = 3, **changes: Any) -> Request:
    return Request(problem_of(i), np.array([1, 2, 3], np.int32), f"group {i}", max_new, sample=i, **changes)


@contextlib.contextmanager
def asking(*servers: Hostile, patience: Patience = SHORT, **changes: Any) -> Iterator[RemoteSampler]:
    sites = [Plain(server.address) for server in servers]
    with RemoteSampler(sites, EXPECTED, run="a run", patience=patience, **changes) as sampler:
        yield sampler


def one(*acts: Act, **changes: Any) -> Generation:
    with misbehaving(*acts) as server, asking(server) as sampler:
        return sampler.generate([request(**changes)], Key(0))[0]


NONSENSE: dict[str, tuple[Any, str]] = {
    "NaN": (answer([3, 4, 5], logp=math.nan), "no log-probability"),
    "infinite": (answer([3, 4, 5], logp=-math.inf), "no log-probability"),
    "more likely than certain": (answer([3, 4, 5], logp=0.5), "no log-probability"),
    "a word for a number": (answer([3, 4, 5], logp="-1"), "log-prob is '-1'"),
    "no log-probs": (answer([3, 4, 5], logprobs=None), "it lacks something"),
    "too few log-probs": (answer([3, 4, 5], logprobs={"content": []}), "3 tokens and log-probs of 0"),
    "log-probs of others": (
        answer([3, 4, 5], logprobs={"content": [{"token_id": 1, "logprob": -1.0}] * 3}),
        "those of other tokens",
    ),
    "a foreign id": (answer([3, 13, 5]), "token id 13"),
    "a negative id": (answer([3, -1, 5]), "token id -1"),
    "ids that are no integers": (answer([3, 4, True]), "no token ids"),
    "no ids": (answer([]), "no token ids"),
    "too many": (answer([3, 4, 5, 6]), "4 tokens, and 3 were asked for"),
    "too few": (answer([3, 4]), "cut at 2 tokens"),
    "beyond its end": (answer([3, 0, 5]), "after an end token"),
    "a stop without reason": (answer([3, 4], finish="stop"), "says stop without"),
    "an end that is none": (answer([3, 4, 0], finish="length"), "goes on after its end"),
    "an unknown finish": (answer([3, 4, 5], finish="content_filter"), "content_filter"),
    "an unknown version": (answer([3, 4, 5], version="other run/9"), "was not published"),
    "a gap between versions": (
        answer([3, 4, 5], weight_versions=[{"version": "0", "start": at, "end": at + 1} for at in (0, 2)]),
        "one after the other",
    ),
    "versions of a part": (answer([3, 4, 5], weight_versions=[{"version": "0", "start": 0, "end": 2}]), "do not cover"),
    "HTML": (b"<html>502 Bad Gateway</html>", "what is no JSON: <html>502 Bad"),
    "a list": ([], "it lacks something"),
    "nothing": (b"", "it lacks something"),
    "deep": (b"[" * 100_000, "what is no JSON"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_an_answer_that_cannot_be_believed_is_ours_to_blame(name: str) -> None:
    body, why = NONSENSE[name]
    made = one(Act(body))
    assert (made.finish, made.kind, len(made.segment)) == ("error", "sampler_answer", 0)
    assert why in made.detail and "http://127.0.0.1:" in made.detail


def test_an_answer_that_can_be_believed_is_taken() -> None:
    made = one(GOOD)
    assert made.finish == "length" and made.segment.ids.tolist() == [3, 4, 5] and made.segment.entropy is None
    assert one(Act(answer([3, 0], finish="stop"))).finish == "stop"
    assert one(Act(answer([3, 1], finish="stop")), stop=("db",)).finish == "stop"


@pytest.mark.slow
def test_what_a_log_prob_stands_for() -> None:
    """Unfiltered: `mu` and `old`. Filtered: `mu` alone. Greedy: `old`, and no other token could have come."""
    cases = {(): (-1.0, -1.0), ("temperature", 0.7): (-1.0, -1.0), ("top_k", 13): (-1.0, -1.0)}
    cases |= {("top_k", 5): (math.nan, -1.0), ("top_p", 0.9): (math.nan, -1.0), ("min_p", 0.1): (math.nan, -1.0)}
    cases |= {("temperature", 0.0): (-1.0, 0.0)}
    for setting, (old, mu) in cases.items():
        segment = one(GOOD, **({setting[0]: setting[1]} if setting else {})).segment
        assert segment.old is not None and segment.mu is not None
        np.testing.assert_array_equal(segment.old, np.full(3, old, np.float32))
        np.testing.assert_array_equal(segment.mu, np.full(3, mu, np.float32))


def test_spans_of_versions_are_segments_with_their_own_tokens() -> None:
    spans = [{"version": "0", "start": 0, "end": 2}, {"version": "step 1", "start": 2, "end": 3}]
    with misbehaving(Act(answer([3, 4, 5], weight_versions=spans))) as server, asking(server, max_age=1) as sampler:
        sampler.published(1, "step 1")
        (made,) = sampler.generate([request()], Key(0))
    assert [(s.version, s.ids.tolist()) for s in made.spans] == [(0, [3, 4]), (1, [5])]
    assert made.segment.version == 0 and server.asked[0]["cache_salt"] == "version 1"


NEWER = Act(answer([3, 4, 5], version="1"))


def test_an_answer_that_comes_while_weights_are_published_is_read_when_it_is_known_who_has_them() -> None:
    with misbehaving(NEWER) as a, misbehaving(NEWER) as b, asking(a, b) as sampler:
        both = [request(i) for i in range(8)]
        with sampler.publishing():
            ticket = sampler.submit(both, Key(0))
            while len(a.asked) + len(b.asked) < 8:
                time.sleep(0.01)
            assert not ticket.ready and ticket.left == 8
            sampler.couriers.lose(1, "it computes with an old tensor")
            sampler.published(1)
        made = ticket.wait()
        assert [one.finish for one in made] == ["length"] * 8 and sampler.version == 1
        again = {body["request_id"] for body in a.asked}
        assert again == {one.id for one in both}, "what the lost server wrote is asked of the other"


def test_an_answer_of_weights_that_are_too_old_is_refused_and_one_that_is_allowed_is_not() -> None:
    for age, why in ((0, "2 is the oldest"), (1, "1 is the oldest"), (2, "")):
        with misbehaving(GOOD) as server, asking(server, max_age=age) as sampler:
            for version in (1, 2):
                sampler.published(version)
            (made,) = sampler.generate([request()], Key(0))
            assert made.finish == ("error" if why else "length") and why in made.detail


FAULTS = (Act(status=500, body={"error": "bug"}), Act(hang_up=True), Act(b"{}", drip=5.0))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=["an error", "a hang-up", "a slow drip"])
def test_a_request_that_failed_is_asked_elsewhere_under_the_same_id_and_seed(fault: Act) -> None:
    with misbehaving(fault, GOOD) as bad, misbehaving(GOOD) as good, asking(bad, good) as sampler:
        asked = [request(i) for i in range(8)]
        made = sampler.generate(asked, Key(0))
        assert all(one.finish == "length" for one in made)
        failed = bad.asked[0]
        again = [body for body in [*bad.asked[1:], *good.asked] if body["request_id"] == failed["request_id"]]
        assert again == [failed] and sampler.resubmitted == 1
    seeds = {body["request_id"]: body["sampling_params"]["seed"] for body in [*bad.asked, *good.asked]}
    bits = Key(0).branches(r.id for r in asked).tolist()
    assert seeds == {r.id: b & (2**63 - 1) for r, b in zip(asked, bits, strict=True)}


def test_a_request_that_fails_everywhere_is_lost_and_its_servers_are_not() -> None:
    broken = Act(status=500, body={"error": {"message": "this request is too much"}})
    with misbehaving(broken) as first, misbehaving(broken) as second, asking(first, second) as sampler:
        (made,) = sampler.generate([request()], Key(0))
        assert (made.finish, made.kind) == ("error", "sampler_lost") and "asked 3 times" in made.detail
        assert "this request is too much" in made.detail and not sampler.lost
        assert len(first.asked) + len(second.asked) == 3


def test_a_server_that_refuses_everything_loses_no_request_while_another_answers() -> None:
    broken = Act(status=500, body={"error": "bug"})
    with misbehaving(GOOD) as good, misbehaving(broken) as bad, asking(bad, good) as sampler:
        made = sampler.generate([request(i) for i in range(8)], Key(0))
        assert all(one.finish == "length" for one in made) and 0 < len(bad.asked) == sampler.resubmitted


@pytest.mark.slow
def test_faults_that_are_not_in_a_row_cost_no_server() -> None:
    with misbehaving(*[Act(hang_up=True), GOOD] * 3) as server, asking(server) as sampler:
        for i in range(3):
            (made,) = sampler.generate([request(i)], Key(0))
            assert made.finish == "length"
        assert not sampler.lost and sampler.resubmitted == 3


def test_a_server_that_is_not_well_is_lost_after_two_faults_and_the_last_ends_the_run() -> None:
    broken = Act(status=500, body={"error": "dead"})
    with misbehaving(GOOD) as good, misbehaving(GOOD) as bad, asking(good, bad) as sampler:
        bad.acts, bad.well = [broken], False
        asked = [request(i) for i in range(12)]
        assert all(one.finish == "length" for one in sampler.generate(asked, Key(0)))
        assert set(sampler.lost) <= {1}
        good.acts, good.well = [broken], False
        with pytest.raises(EndpointError, match=r"no sampler is left of 2 .*http://127.*assay resume") as none:
            sampler.generate([request(i) for i in range(20, 32)], Key(0))
        assert none.value.exit_code == 69 and set(sampler.lost) == {0, 1}


@pytest.mark.slow
def test_a_group_stays_with_its_server_and_moves_only_when_that_is_gone() -> None:
    with misbehaving(GOOD) as a, misbehaving(GOOD) as b, misbehaving(GOOD) as c, asking(a, b, c) as sampler:
        groups = {i: [request(i, draw=draw) for draw in range(3)] for i in range(24)}
        for draw in range(3):
            sampler.generate([groups[i][draw] for i in groups], Key(draw))
        home = {}
        for i, members in groups.items():
            ids = {member.id for member in members}
            (home[i],) = (n for n, s in enumerate((a, b, c)) if ids & {body["request_id"] for body in s.asked})
        assert set(home.values()) == {0, 1, 2}
        sampler.couriers.lose(1, "for this test")
        a.asked.clear()
        c.asked.clear()
        sampler.generate([request(i, draw=9) for i in groups], Key(9))
        for i, at in home.items():
            ids = {n: {body["request_id"] for body in s.asked} for n, s in ((0, a), (2, c))}
            asked = [n for n, some in ids.items() if request(i, draw=9).id in some]
            assert asked == [at] if at != 1 else len(asked) == 1
        with misbehaving(GOOD) as d:
            sampler.replace(1, Plain(d.address))
            sampler.published(0)
            sampler.generate([request(i, draw=10) for i in groups], Key(10))
            assert not sampler.lost and len(d.asked) == sum(at == 1 for at in home.values())


def test_a_body_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST", 1 << 20)
    made = one(Act(answer([3, 4, 5]), endless=16 << 20))
    assert (made.finish, made.kind) == ("error", "sampler_answer")


@pytest.mark.slow
def test_a_server_that_listens_and_says_nothing_is_named_within_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        link = wire.Wire(address)
        began = time.monotonic()
        with pytest.raises(wire.Gone, match=rf"{address} did not answer within 0.3 s"):
            link.json("GET", "/health", seconds=0.3)
        assert time.monotonic() - began < 5


@pytest.mark.slow
def test_a_server_that_falls_asleep_is_named_and_its_requests_are_answered_by_others() -> None:
    """vLLM gives no sign of life while it writes an answer, so that it is asked for one beside."""
    patience = Patience(answer=60.0, silence=0.6)
    with misbehaving(GOOD) as a, misbehaving(GOOD) as b, asking(a, b, patience=patience) as sampler:
        b.asleep.set()
        began = time.monotonic()
        made = sampler.generate([request(i) for i in range(12)], Key(0))
        assert all(one.finish == "length" for one in made) and set(sampler.lost) == {1}
        assert f"the sampler at {b.address}" in sampler.lost[1] and time.monotonic() - began < 10.6
        b.asleep.clear()


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_ticket_of_a_sampler_that_was_closed_is_not_waited_for() -> None:
    with misbehaving(GOOD) as server:
        with asking(server) as sampler:
            server.asleep.set()
            ticket = sampler.submit([request()], Key(0))
        with pytest.raises(UsageError, match="was closed"):
            ticket.wait()
        server.asleep.clear()


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(wire.Gone, match=f"at http://127.0.0.1:{port} ended the exchange: ConnectionRefused"):
        next(Plain(f"127.0.0.1:{port}").answers(Parcel([request()], Key(0), "0"), "a run", seconds=1.0, silence=1.0))


@pytest.mark.parametrize("text", ["", "host", "http://host", "https://host:1", "http://host:port", "http://host:1/v1"])
def test_an_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        wire.address_of(text)
    assert wire.address_of("10.0.0.5:8000") == wire.address_of("http://10.0.0.5:8000/") == "http://10.0.0.5:8000"


def test_what_done_raises_ends_the_call() -> None:
    def stop(place: int, made: Generation) -> None:
        raise KeyboardInterrupt

    with misbehaving(GOOD) as server, asking(server) as sampler:
        ticket = sampler.submit([request(i) for i in range(4)], Key(0), done=stop)
        with pytest.raises(KeyboardInterrupt):
            ticket.wait()
        with pytest.raises(KeyboardInterrupt):
            ticket.wait()
