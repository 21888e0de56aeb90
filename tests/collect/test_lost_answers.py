"""Answers that the sampler lost: they have a verdict of ours, no reward, and no part in what the policy learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from tiny import LETTERS, Letters, models_of, policy, recipe_of, register, run, with_rounds

from assay.ask import Sampling, first_requests
from assay.collect import played
from assay.engine.interface import Done, Generation
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.memory import Memory
from assay.rng import Key
from assay.run.lost_verdicts import lost_by
from assay.tasks import task
from assay.types import Request, Segment, Verdict

ASKED = Sampling(max_new=6)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def flaky(engine: LocalEngine, every: int) -> LocalEngine:
    """Loses each answer whose request has such a sample number."""
    sound = engine.generate

    def generate(requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        made = [
            Generation.failed("sampler_lost", "sampler 0 was killed") if request.sample % every == 0 else one
            for request, one in zip(requests, sound(requests, key), strict=True)
        ]
        for place, one in enumerate(made):
            if done is not None:
                done(place, one)
        return made

    engine.generate = generate  # type: ignore[method-assign]
    return engine


def asked(count: int) -> list[Request]:
    problem = task("tiny").problem(Key(0), level=1)
    return first_requests([problem], Memory(0), first=0, samples=count, sampling=ASKED, codec=Letters())


def test_a_lost_answer_has_its_verdict_before_any_verifier_sees_it() -> None:
    episodes = played(models_of(flaky(policy("fp32"), 2)), asked(4), Key(1), Letters())
    for episode in episodes[::2]:
        assert episode.verdict == Verdict.invalid("sampler_lost", "sampler 0 was killed")
        assert (episode.finish, len(episode), episode.text, episode.reward) == ("error", 0, "", None)
    assert [episode.verdict for episode in episodes[1::2]] == [None, None]


@pytest.mark.parametrize("name", ["grpo", "ppo", "dapo", "rloo"])
def test_no_lost_answer_is_worth_zero_or_trains(name: str) -> None:
    recipe = recipe_of(name, num_steps=2, num_prompts=4, group_size=4)
    notes, _ = run(recipe, flaky(policy("fp32"), 3))
    lost = [episode for step in notes.episodes for episode in step if episode.request.sample % 3 == 0]
    assert lost and all(episode.reward is None for episode in lost)
    assert {episode.verdict and (episode.verdict.status, episode.verdict.kind) for episode in lost} == {
        ("invalid", "sampler_lost")
    }
    sound = [episode for step in notes.episodes for episode in step if episode.request.sample % 3]
    assert all(episode.verdict is not None and episode.verdict.status != "invalid" for episode in sound)
    for batches in notes.batches:
        for batch in batches:
            rows = {request: i for i, request in enumerate(batch.request)}
            for i in (rows[e.request.id] for e in lost if e.request.id in rows):
                assert not batch.mask[batch.at[i] : batch.at[i + 1]].any() and not batch.counted_rows[i]


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", sorted(RECIPES))
def test_every_recipe_goes_on_without_lost_answers(name: str) -> None:
    scale = {"num_prompts": 4, "group_size": min(4, RECIPES[name].scale.group_size), "num_steps": 3}
    recipe = with_rounds(recipe_of(name, max_new=3, **scale, learning_rate=0.01, warmup_steps=0), 2)
    notes, _ = run(recipe, flaky(policy("fp32"), 3))
    lost = [episode for step in notes.episodes for episode in step if episode.finish == "error"]
    assert all(episode.reward is None and lost_by(episode) == "sampler_lost" for episode in lost)


@pytest.mark.parametrize("name", ["grpo", "ppo"])
def test_a_step_that_lost_all_answers_teaches_nothing(name: str) -> None:
    engine = policy("fp32")
    before = {key: value.clone() for key, value in engine.view().items() if key.startswith("parameter/")}
    notes, _ = run(recipe_of(name, num_steps=2, num_prompts=2, group_size=2), flaky(engine, 1))
    assert all(episode.finish == "error" for step in notes.episodes for episode in step)
    assert all(torch.equal(engine.view()[key], value) for key, value in before.items())


def test_each_span_of_versions_is_a_segment_and_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = policy("fp32")
    sound = engine.generate

    def spanned(requests: Sequence[Request], key: Key, *, done: Any) -> list[Generation]:
        made = []
        for place, one in enumerate(sound(requests, key)):
            begun = dataclasses.replace(one.segment.first(1), version=3)
            rest = {name: getattr(one.segment, name)[1:] for name in ("ids", "origin", "old", "mu", "entropy")}
            spans = (begun, Segment(**rest, version=4))
            made.append(dataclasses.replace(one, spans=spans))
            done(place, made[-1])
        return made

    monkeypatch.setattr(engine, "generate", spanned)
    requests = asked(3)
    plain = played(models_of(policy("fp32")), requests, Key(1), Letters())
    for request, episode, alone in zip(requests, played(models_of(engine), requests, Key(1), Letters()), plain):
        assert [s.version for s in episode.segments] == [3, 4]
        assert [(s.node, s.parent) for s in episode.segments] == [(request.id, ""), (f"{request.id}/1", request.id)]
        assert episode.text == alone.text and set(episode.text) <= set(LETTERS)
        for name in ("ids", "old", "mu", "entropy"):
            np.testing.assert_array_equal(episode.stream(name), alone.stream(name))
