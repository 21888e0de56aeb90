"""Environments of gymnasium: as gymnasium itself plays them. The extra `control` has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.errors import ConfigError, UnknownName
from assay.rng import Key
from assay.tasks import task
from assay.worlds import Act, Numbers
from assay.worlds.gymnasium_worlds import environment

gymnasium: Any = pytest.importorskip("gymnasium")


def test_a_play_is_the_episode_of_the_environment() -> None:
    """Of these actions, from this seed, as gymnasium plays it: what it shows, what it pays and how it ends."""
    made, world = gymnasium.make("CartPole-v1"), environment("CartPole-v1")
    assert world.numbers == Numbers(4, 2)
    seen, _ = made.reset(seed=7)
    play = world.start({"seed": 7}, Key(0))
    reply, total, ended = play.open(), 0.0, False
    for action in np.random.default_rng(0).integers(0, 2, 500).tolist():
        assert reply.ask is not None and reply.ask.seen is not None
        np.testing.assert_array_equal(reply.ask.seen, seen.astype(np.float32))
        seen, reward, ended, _, _ = made.step(action)
        reply, total = play.step(Act("policy", action=action)), total + reward
        assert reply.rewards == {"policy": reward}
        if ended:
            break
    assert ended and reply.ask is None and reply.end == "ended"
    verdict = play.judge()["policy"]
    assert verdict.scores == {"return": total} and verdict.status == "fail"
    play.close()


def test_a_limit_shows_what_would_have_come_next() -> None:
    """Balanced by a rule, a pole stands for 500 steps: then gymnasium cuts it off, and it counts as solved."""
    play = environment("CartPole-v1").start({"seed": 1}, Key(0))
    reply, steps = play.open(), 0
    while not reply.end:
        assert reply.ask is not None and reply.ask.seen is not None
        _, _, angle, turning = reply.ask.seen.tolist()
        reply, steps = play.step(Act("policy", action=int(angle + 0.3 * turning > 0))), steps + 1
    assert steps == 500 and reply.end == "limit" and reply.ask is not None and reply.ask.seen is not None
    assert play.judge()["policy"].status == "ok"


def test_a_state_of_a_few_is_a_one_among_zeros() -> None:
    world = environment("FrozenLake-v1")
    assert world.numbers == Numbers(16, 4)
    reply = world.start({"seed": 0}, Key(0)).open()
    assert reply.ask is not None and reply.ask.seen is not None
    assert reply.ask.seen.tolist() == [1.0] + [0.0] * 15


def test_a_verdict_on_written_actions_is_that_of_the_world() -> None:
    known = task("env:CartPole-v1")
    problem = known.problem(Key(0), level=1)
    assert known.verify(problem, "0 1 0 1").scores == {"return": 4.0}
    assert known.verify(problem, "2 1").kind == "format" and known.verify(problem, "left").kind == "format"
    assert "behind the end" in known.verify(problem, " ".join(["1"] * 30)).detail


def test_what_no_policy_here_can_play_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"takes actions from Box.*Discrete"):
        environment("Pendulum-v1")
    with pytest.raises(UnknownName, match=r"Did you mean 'CartPole-v1'"):
        environment("CartPole-v7")
    with pytest.raises(ConfigError, match="shows"):
        environment("Blackjack-v1")
