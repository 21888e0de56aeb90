"""What is dropped of the examined, and a run through all stages."""

from __future__ import annotations

import dataclasses

import pytest
from tiny import POOL, policy, recipe_of, register, require_resumable, run

from assay.ask import AnnealTemperature, Fewer, Shorter
from assay.known import recipe
from assay.methods.exploration.acereason import MATHS, within
from assay.recipe import Recipe


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(**scale: object) -> Recipe:
    return recipe_of("acereason", max_new=8, **{"num_prompts": 2, "group_size": 4, "num_steps": 40, **scale})


def test_a_run_goes_through_lengths_domains_and_temperatures() -> None:
    notes, memory = run(small(), policy("fp32", vocab=4), pool=POOL)
    limits = [max(e.request.max_new for e in step) for step in notes.episodes]
    heat = [step[0].request.temperature for step in notes.episodes]
    trained = [any(row.in_loss for row in rows) for rows in notes.rows]
    assert limits[:15] == [2] * 15 and limits[15:23] == [4] * 8 and set(limits[-4:]) == {8}
    assert 0.6 in heat and max(heat) == 1.0
    assert trained.count(False) <= 2 and memory.stage == 7
    assert not any(step.get("update/steps", 0) > 1 for step in notes.stats), "one update a rollout"


def test_a_stage_asks_for_its_length_its_answers_and_its_temperature() -> None:
    """8192 of 32768 tokens, half of the answers and one temperature throughout; unless told otherwise the length."""
    every = within(8192, MATHS, answers=0.5, temperature=0.6)
    assert every.ask == (Fewer(share=0.5), Shorter(share=0.25), AnnealTemperature(first=0.6, last=0.6))
    assert within(16384, MATHS).ask == (Shorter(share=0.5),)
    assert dataclasses.replace(every, ask=()) == MATHS


def test_the_stages_of_the_paper() -> None:
    stages = recipe("acereason").stages
    assert [stage.name for stage in stages if "examine" not in stage.name] == [
        "maths 8K",
        "maths 16K",
        "hard maths 24K",
        "code 24K",
        "code 32K",
        "hard maths 32K",
    ]
    assert sum(stage.share for stage in stages) == recipe("acereason").scale.num_steps


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small(num_steps=20), lambda: policy("fp32", vocab=4), after=14)
