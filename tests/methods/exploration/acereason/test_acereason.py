"""Domains of a pool, what is examined and dropped, and a run through all stages."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import POOL, TINY, policy, recipe_of, register, require_resumable, run

import assay.tasks
from assay.ask import AnnealTemperature, Fewer, Shorter
from assay.known import recipe
from assay.memory import Memory
from assay.methods.exploration.acereason import MATHS, within
from assay.recipe import Recipe
from assay.source import Examine, Only, Pool, Share, Unsolved
from assay.source.domains import Domain, only, restricted
from assay.source.examined import examine, unsolved

MIX = Pool((Share("mod-chain", (3,), 2.0), Share("countdown", (3,)), Share("knights", (5,), 3.0)))


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def weights(tasks: Domain) -> list[float]:
    return [share.weight for share in restricted(MIX, tasks).shares]


def test_domains_by_hand() -> None:
    assert weights("all") == [2.0, 1.0, 3.0] and weights("first") == [2.0, 0.0, 0.0]
    assert weights("others") == [0.0, 1.0, 3.0]
    alone = Pool((Share("countdown", (3,)),))
    assert restricted(alone, "first") == restricted(alone, "others") == alone


@given(step=st.integers(0, 50), count=st.integers(1, 12))
def test_a_domain_draws_its_tasks_alone(step: int, count: int) -> None:
    memory = Memory(0, step=step)
    tasks = {which: {p.task for p in only(memory, 0, count, pool=MIX, tasks=which)} for which in ("first", "others")}
    assert tasks["first"] == {"mod-chain"} and tasks["others"] <= {"countdown", "knights"}


def test_rows_of_files_are_refused_beside_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(assay.tasks.TASKS, "rows", dataclasses.replace(TINY, name="rows", rows=lambda split: ()))
    mixed = Pool((Share("mod-chain", (3,)), Share("rows")))
    for source in (Only(tasks="first"), Unsolved(tasks="others"), Examine(tasks="first")):
        assert "generated tasks" in (source.unfit(mixed) or "")
        assert source.unfit(MIX) is None and source.unfit(Pool((Share("rows"),))) is None
    assert Only().unfit(mixed) is None


def test_the_set_that_is_examined_is_of_the_domain_and_the_hard_ones_are_drawn() -> None:
    values = {"pool": MIX, "size": 6, "tasks": "first"}
    every = examine(Memory(0), 0, 99, most=1.0, **values)  # type: ignore[arg-type]
    assert len(every) == 6 and {p.task for p in every} == {"mod-chain"}
    rates = dict(zip([p.id for p in every], [0.0, 6 / 16, 7 / 16, 1.0, 0.5, 0.25], strict=True))
    memory = Memory(0).keep("examined", rates)
    drawn = unsolved(memory, 0, 3, drawn=3, most=6 / 16, place="examined", **values)  # type: ignore[arg-type]
    assert sorted(p.id for p in drawn) == sorted(every[i].id for i in (0, 1, 5))


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
