"""Answers in turns: replies of an environment stand in the answer, carry no gradient, and change nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from talking import REPLY, TALKING
from tiny import END, LETTERS, TINY, Letters, batch_of, models_of, policy, recipe_of, register, run

from assay.ask import Sampling, first_requests
from assay.collect import played
from assay.engine.interface import Span
from assay.memory import Memory
from assay.rng import Key
from assay.types import Origin, Request

SAMPLING = Sampling(max_new=9)


@pytest.fixture(autouse=True)
def talking(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TALKING)


def requests(count: int = 40) -> list[Request]:
    problem = TALKING.problem(Key(0), level=1)
    return first_requests([problem], Memory(0), first=0, samples=count, sampling=SAMPLING, codec=Letters())


def engine():
    return policy("fp32", decode=Letters().decode)


def test_an_environment_replies_where_it_was_asked_and_nowhere_else() -> None:
    asked = requests()
    episodes = played(models_of(engine()), asked, Key(1), Letters())
    assert [e.request for e in episodes] == asked and {e.finish for e in episodes} <= {"stop", "length"}
    turns = [sum(s.origin[0] == Origin.ENV for s in e.segments if len(s)) for e in episodes]
    assert {0, 1, 2} <= set(turns)
    for episode in episodes:
        assert len(episode) <= SAMPLING.max_new
        assert episode.text == Letters().decode([i for i in episode.stream("ids").tolist() if i != END])
        for before, after in zip(episode.segments, episode.segments[1:]):
            assert before.origin[0] != after.origin[0]
            if after.origin[0] == Origin.ENV:
                assert LETTERS[before.ids[-1] - 1] == "b" and after.ids.tolist() == Letters().encode(REPLY).tolist()
        known = ~np.isnan(episode.stream("old"))
        assert (known == (episode.stream("origin") == Origin.POLICY)).all()


def test_what_the_policy_wrote_is_as_likely_as_it_says() -> None:
    """`old` of every turn is the log-prob of its tokens after everything before them, replies included."""
    talker = engine()
    for episode in played(models_of(talker), requests(), Key(1), Letters()):
        (scores,) = talker.score([Span(episode.request.context, episode.stream("ids").astype(np.int32))])
        mine = episode.stream("origin") == Origin.POLICY
        np.testing.assert_allclose(scores.logp[mine], episode.stream("old")[mine], atol=1e-5)


def test_a_row_in_company_is_the_row_alone() -> None:
    asked, talker = requests(), engine()
    together = played(models_of(talker), asked, Key(1), Letters())
    for place in (0, 7, 23):
        (alone,) = played(models_of(talker), [asked[place]], Key(1), Letters())
        assert alone.stream("ids").tolist() == together[place].stream("ids").tolist()


def test_replies_are_not_trained_and_not_counted_as_generated() -> None:
    recipe = recipe_of("grpo", max_new=9, num_prompts=4, group_size=8, num_steps=2, warmup_steps=0)
    notes, memory = run(recipe, engine())
    for rows in notes.rows:
        batch = batch_of(recipe, rows)
        assert (batch.mask == (batch.origin == Origin.POLICY)).all() and (batch.origin == Origin.ENV).any()
    written = sum(np.count_nonzero(e.stream("origin") == Origin.POLICY) for s in notes.episodes for e in s)
    assert memory.budget.generated_tokens == written


def test_without_an_environment_nothing_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TINY)
    asked = requests()
    assert not asked[0].stop
    episodes = played(models_of(engine()), asked, Key(1), Letters())
    assert all(len(e.segments) == 1 for e in episodes)
