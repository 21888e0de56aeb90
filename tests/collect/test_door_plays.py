"""Agents at the door: what they ask is read, what is answered is what was sampled, and their faults are never zeros."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents import agent
from crashes import small_policy
from scripted import BOS, CODEC, EOS, SEP, Scripted, letters

from assay.ask import Sampling, first_requests
from assay.collect import AtEnd, Collector, Worth, played
from assay.collect.hosts import Hosting, hosting
from assay.engine.choose import frozen_engine
from assay.engine.interface import Span
from assay.memory import Memory
from assay.models import Models
from assay.policy import load_policy
from assay.rng import Key
from assay.tasks import TASKS
from assay.types import Episode, Origin, Request
from assay.worlds.door import DoorSettings

NAME = "countdown"
CALL = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Lets an agent of `tests/agents.py` answer the problems, and returns the prompt of the one that is asked."""
    plain = TASKS[NAME]

    def lets(ends: str, *, seconds: float = 30.0, apart: bool = False, **settings: Any) -> str:
        world = DoorSettings(agent(tmp_path, ends), seconds=seconds, **settings).world()
        task = dataclasses.replace(plain, world=dataclasses.replace(world, apart=apart))
        monkeypatch.setitem(TASKS, NAME, task)
        return str(task.problem(Key(0), level=3).prompt)

    return lets


def requests(count: int, **sampling: Any) -> list[Request]:
    problem = TASKS[NAME].problem(Key(0), level=3)
    how = Sampling(**{"max_new": 200, **sampling})
    return first_requests([problem], Memory(0), first=0, samples=count, sampling=how, codec=CODEC)


def answers(engine: Scripted, *, count: int = 1, how: Hosting | None = None, **sampling: Any) -> list[Episode]:
    models: Any = Models({"policy": engine}, {"policy": "policy"})  # type: ignore[dict-item]
    with hosting(how or Hosting()):
        return played(models, requests(count, **sampling), Key(1), CODEC)


def sampled(episode: Episode) -> list[int]:
    return [int(one) for segment in episode.segments for one in segment.ids[segment.origin == Origin.POLICY]]


def own(engine: Scripted) -> list[int]:
    return [one for ids in engine.sampled.values() for one in ids]


def test_what_an_agent_asks_is_read_and_what_is_answered_was_sampled(command: Callable[..., str]) -> None:
    prompt = command("once")
    engine = Scripted(lambda read: "1+2")
    (episode,) = answers(engine)
    (path,) = (path for path in episode.paths() if path.stop > path.start)
    assert path.context.tolist() == [BOS, *letters(prompt), SEP]
    assert sampled(episode) == own(engine) == [*letters("1+2"), EOS]
    assert (episode.text, episode.finish, episode.verdict) == ("1+2", "stop", None)


@pytest.mark.parametrize("ends", [True, False])
def test_a_request_that_goes_on_is_appended(command: Callable[..., str], ends: bool) -> None:
    prompt = command("twice")
    engine = Scripted(lambda read: "2#" if "#" in read else "1#", ends=ends)
    (episode,) = answers(engine, max_new=60, stop=() if ends else ("#",))
    reply = [*([] if ends else [EOS]), *letters("1"), SEP]  # the token that ends a turn is there once
    end = [EOS] * ends
    assert episode.stream("ids").tolist() == [*letters("1#"), *end, *reply, *letters("2#"), *end]
    assert (episode.stream("origin") == Origin.ENV).sum() == len(reply)
    (path,) = (path for path in episode.paths() if path.stop > path.start)
    assert path.context.tolist() == [BOS, *letters(prompt), SEP]
    assert sampled(episode) == own(engine)
    assert episode.text.rstrip("#") == "2", "the verifier reads the last text"


def test_any_other_request_replaces_what_was_read(command: Callable[..., str]) -> None:
    prompt = command("anew")
    engine = Scripted(lambda read: "5" if read == "23" else "4")
    (episode,) = answers(engine)
    first, second = (path for path in episode.paths() if path.stop > path.start)
    assert first.context.tolist() == [BOS, *letters(prompt), SEP]
    assert second.context.tolist() == [BOS, *letters("2"), SEP, *letters("3"), SEP]
    assert sampled(episode) == own(engine) == [*letters("4"), EOS, *letters("5"), EOS]


def test_a_tool_is_called_and_its_result_appended(command: Callable[..., str]) -> None:
    command("tool")
    engine = Scripted(lambda read: "done" if read.endswith("{}") else CALL)
    (episode,) = answers(engine)
    assert episode.text == "done" and sampled(episode) == own(engine)
    assert episode.stream("ids").tolist() == [*letters(CALL), EOS, *letters("{}"), SEP, *letters("done"), EOS]


def test_the_texts_that_end_a_turn_are_those_of_the_request(command: Callable[..., str]) -> None:
    command("stops", rewarded="agent")
    (episode,) = answers(Scripted(lambda read: "123"))
    assert sampled(episode) == letters("12")
    assert episode.verdict is not None and episode.verdict.scores == {"agent": 1.0} and episode.right


def test_an_agent_may_say_what_its_answer_is_worth(command: Callable[..., str]) -> None:
    command("rewarded", rewarded="agent")
    (episode,) = answers(Scripted(lambda read: "1"))
    assert episode.verdict is not None
    assert (episode.verdict.status, episode.verdict.scores) == ("fail", {"agent": 0.25})


def test_an_answer_that_its_limit_cuts_ends_the_play(command: Callable[..., str]) -> None:
    command("rewarded", rewarded="agent")
    (episode,) = answers(Scripted(lambda read: "1" * 50), max_new=8)
    assert (episode.finish, len(sampled(episode))) == ("length", 8)
    assert episode.verdict is not None
    assert (episode.verdict.kind, episode.verdict.scores) == ("truncated", {"agent": 0.0})


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ("silent", "ended before it asked"),
        ("dies", "the agent ended with 1: out of paper"),
        ("wrong-key", "the agent sent a wrong key"),
        ("two-sessions", "one play is one conversation: X-Session-ID is 'b'"),
        ("asks-for-more", "what no play of a run has"),
        ("unspellable", "is not in this tokenizer's alphabet"),
    ],
)
def test_a_fault_of_an_agent_is_an_error_of_the_world(command: Callable[..., str], ends: str, told: str) -> None:
    command(ends)
    (episode,) = answers(Scripted(lambda read: "1"))
    assert episode.finish == "error" and episode.reward is None
    assert episode.verdict is not None and episode.verdict.status == "invalid" and episode.verdict.kind == "world"
    assert told in episode.verdict.detail


def test_an_agent_that_says_no_reward_is_a_fault(command: Callable[..., str]) -> None:
    command("unrewarded", rewarded="agent")
    (episode,) = answers(Scripted(lambda read: "1"))
    assert episode.verdict is not None and '{"reward": NUMBER}' in episode.verdict.detail


@pytest.mark.slow
@pytest.mark.parametrize(("ends", "told"), [("hangs", "did not ask or end within"), ("at-once", "another came")])
def test_an_agent_that_hangs_or_asks_twice_is_a_fault(command: Callable[..., str], ends: str, told: str) -> None:
    command(ends, seconds=1.0)
    (episode,) = answers(Scripted(lambda read: "1", late=1.5 if ends == "at-once" else 0.0))
    assert episode.verdict is not None and told in episode.verdict.detail


@pytest.mark.slow
def test_a_client_that_left_may_ask_again(command: Callable[..., str]) -> None:
    command("leaves")
    engine = Scripted(lambda read: "1", late=1.0)
    (episode,) = answers(engine)
    assert episode.text == "1" and len(engine.calls) == 1


@pytest.mark.slow
def test_plays_apart_are_sampled_together_and_begin_beside_each_other(command: Callable[..., str]) -> None:
    command("twice", apart=True)
    engine = Scripted(lambda read: "2" if read.endswith("1") else "1")
    episodes = answers(engine, count=6, how=Hosting(count=2))
    assert [len(call) for call in engine.calls] == [6, 6]
    assert all(episode.text == "2" for episode in episodes)
    assert sorted(map(sampled, episodes)) == [[*letters("1"), EOS, *letters("2"), EOS]] * 6


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["rounds", "free"])
def test_what_is_lost_is_lost_alone_in_either_schedule(command: Callable[..., str], schedule: Any) -> None:
    command("twice", apart=True)
    engine = Scripted(lambda read: "2" if read.endswith("1") else "1")
    models: Any = Models({"policy": engine}, {"policy": "policy"})  # type: ignore[dict-item]
    collector = Collector(AtEnd(lambda e: [None] * len(e)), lambda role: Worth(False, ()), (), lambda *_: [], CODEC)  # type: ignore[arg-type]
    with hosting(Hosting(count=2, schedule=schedule)):
        episodes, _ = collector(models, requests(4), Memory(0))
    assert [episode.text for episode in episodes] == ["2"] * 4
    assert np.concatenate([episode.stream("ids") for episode in episodes]).size == 4 * 6


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["twice", "anew"])
def test_what_was_sampled_is_scored_in_the_context_in_which_it_was_written(
    command: Callable[..., str], ends: str, tmp_path: Path
) -> None:
    """The log-probabilities of the sampler are those of a forward over each path: nothing was encoded again."""
    command(ends)
    small_policy(tmp_path / "model")
    engine = frozen_engine(load_policy(tmp_path / "model"), device="cpu", precision="fp32")
    models: Any = Models({"policy": engine}, {"policy": "policy"})
    episodes = played(models, requests(4, max_new=30), Key(1), CODEC)
    assert len(episodes) == 4 and any(len(episode.segments) > 2 for episode in episodes)
    for episode in episodes:
        ids, own = episode.stream("ids"), episode.stream("origin") == Origin.POLICY
        for path in episode.paths(sampled=True):
            here = slice(path.start, path.stop)
            (scores,) = engine.score([Span(path.context, ids[here])])
            np.testing.assert_allclose(episode.stream("old")[here][own[here]], scores.logp[own[here]], atol=1e-4)
