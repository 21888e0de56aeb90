"""How often a world replies, and how much of earlier replies is read when the next one has come."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from talking import TALKING, StopsAt, replying
from test_plays import CODEC, Writer, told, words, world
from tiny import TINY, Letters, batch_of, models_of, policy, recipe_of, register, run

from assay.ask import ForgetReplies, LimitCalls, Sampling, first_requests
from assay.collect import generate, played
from assay.collect.plays import Plays
from assay.collect.spoken import remembered, replies_heard
from assay.credit import pack
from assay.engine.interface import Span
from assay.memory import Memory
from assay.models import Models
from assay.part import bind
from assay.rng import Key
from assay.source import Pool, Share
from assay.types import Episode, Request, Row
from assay.worlds import Reply

MORE = replying(lambda spec, text: "cc" if text.endswith("b") else None, "b")


def asked(count: int = 1, **settings: Any) -> list[Request]:
    problem = TINY.problem(Key(0), level=1)
    sampling = Sampling(**{"max_new": 20, **settings})
    return first_requests([problem], Memory(0), first=0, samples=count, sampling=sampling, codec=CODEC)


def written(monkeypatch: pytest.MonkeyPatch, given: Any, *texts: str, **limits: Any) -> tuple[Episode, Writer]:
    """The answer that these turns make, within these limits."""
    register(monkeypatch, dataclasses.replace(TINY, world=given))
    (request,) = (dataclasses.replace(request, **limits) for request in asked())
    writer, complete = Writer(*texts), list[Episode]()
    models = Models({"policy": writer}, {"policy": "policy"})  # type: ignore[dict-item]
    with Plays(CODEC, Key(0), models) as plays:
        turns = plays.begin([request])
        while turns:
            made = zip(turns, generate(models, [turn.now for turn in turns], Key(1), CODEC), strict=True)
            results = [plays.acted(turn, answer) for turn, answer in made]
            complete += [answer for result in results for answer in result.complete]
            turns = [result.further for result in results if result.further]
    return complete[0], writer


def spoken(answer: Episode) -> list[str]:
    return [text for text, _ in words(answer)]


def test_the_call_behind_the_last_reply_ends_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = written(monkeypatch, MORE, "ab", "b", "aab", max_calls=2)
    assert spoken(answer) == ["ab", "cc", "b", "cc", "aab"] and answer.finish == "length"
    assert replies_heard(answer) == 2
    ends, _ = written(monkeypatch, MORE, "ab", "b", "aa.", max_calls=2)
    assert spoken(ends)[-1] == "aa." and ends.finish == "stop"
    none, _ = written(monkeypatch, MORE, "ab", max_calls=0)
    assert spoken(none) == ["ab"] and none.finish == "length" and none.segments[0].ids.tolist() == [1, 2]


def test_without_a_limit_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = written(monkeypatch, MORE, "b", "b", "b", "b", ".")
    assert replies_heard(answer) == 4 and answer.finish == "stop"


def test_of_earlier_replies_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies of four letters, of which one is remembered, with d for what is cut. The last one is whole."""
    monkeypatch.setattr("assay.collect.plays.CUT", "d")
    talk = replying(lambda spec, text: "cacc" if text.endswith("b") else None, "b")
    answer, writer = written(monkeypatch, talk, "ab", "aab", "b", "a.", recalled=1)
    prompt = CODEC.decode(answer.request.context.tolist())
    assert writer.read == [
        prompt,
        f"{prompt}abcacc",
        f"{prompt}abcdaabcacc",
        f"{prompt}abcdaabcdbcacc",
    ]
    assert spoken(answer) == ["ab", "cacc", "aab", "cacc", "b", "cacc", "a."] and replies_heard(answer) == 3
    paths = answer.paths()
    assert [(path.start, path.stop) for path in paths] == [(0, 9), (9, 14), (14, 20)]
    batch = pack([Row(answer, advantage=np.arange(20.0))])
    assert len(batch) == 3 and batch.mask.sum() == 2 + 3 + 1 + 2
    assert batch.ids.tolist() == answer.stream("ids").tolist(), "each token stands in one row"


def test_short_replies_are_read_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, first = written(monkeypatch, MORE, "ab", "b", "a.")
    whole, second = written(monkeypatch, MORE, "ab", "b", "a.", recalled=2)
    assert first.read == second.read and spoken(plain) == spoken(whole) and len(whole.paths()) == 1
    assert remembered(whole, 2, CODEC.encode("d")) is None


def test_where_a_world_replaces_what_is_read_that_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.collect.plays.CUT", "d")
    replies = [told("aaa"), told("cc", context="replace"), told("aaa"), told("aa"), Reply(end="ended")]
    talk = world(lambda play, act: replies[len(play.acts) - 1], speech=StopsAt(("b",)))
    _, writer = written(monkeypatch, talk, "b", "b", "ab", "b", "a.", recalled=1)
    anew = CODEC.decode(CODEC.render("cc").tolist())
    assert writer.read[2:] == [anew, f"{anew}abaaa", f"{anew}abadbaa"]


def test_what_was_written_is_as_likely_as_it_says_under_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all paths of sampled answers, and no token is in two of them."""
    monkeypatch.setattr("assay.collect.plays.CUT", "")
    register(monkeypatch, TALKING)
    talker = policy("fp32", decode=Letters().decode)
    requests = bind(ForgetReplies(keep=1))(asked(40))
    answers = played(models_of(talker), requests, Key(1), Letters())
    assert sum(len(answer.paths()) > 1 for answer in answers) > 5
    for answer in answers:
        ids, old = answer.stream("ids").astype(np.int32), answer.stream("old")
        assert sum(path.stop - path.start for path in answer.paths()) == len(answer)
        for path in answer.paths():
            (scores,) = talker.score([Span(path.context, ids[path.start : path.stop])])
            known = ~np.isnan(old[path.start : path.stop])
            np.testing.assert_allclose(scores.logp[known], old[path.start : path.stop][known], atol=1e-5)


def test_parts_write_the_limits_into_requests_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    before = asked(3)
    after = bind(ForgetReplies(keep=5))(bind(LimitCalls(most=2))(before))
    assert [(request.max_calls, request.recalled) for request in after] == [(2, 5)] * 3
    assert [dataclasses.replace(request, max_calls=None, recalled=None).id for request in after] == [
        request.id for request in before
    ]


def test_a_recipe_that_needs_a_tool_is_refused_where_there_is_none() -> None:
    needs = LimitCalls(tools=("python",))
    assert (
        LimitCalls().unfit(Pool((Share("countdown"),))) is None and needs.unfit(Pool((Share("interpreter"),))) is None
    )
    refused = needs.unfit(Pool((Share("interpreter"), Share("search-small"))))
    assert refused is not None and "'python'" in refused and "that of 'search-small' has s, o" in refused
    assert "has none" in str(needs.unfit(Pool((Share("countdown"),))))


@pytest.mark.slow
def test_a_run_within_both_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, TALKING)
    recipe = recipe_of("grpo", max_new=12, num_prompts=4, group_size=4, num_steps=2, learning_rate=0.01)
    parts = (LimitCalls(most=1), ForgetReplies(keep=1))
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, ask=parts))
    notes, _ = run(recipe, policy("fp32", decode=Letters().decode))
    heard = [replies_heard(episode) for step in notes.episodes for episode in step]
    assert set(heard) == {0, 1}
    assert batch_of(recipe, notes.rows[0]).mask.any()
