"""Greedy probes: what is asked first, what follows a failure, and what trains."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from kl_runs import parameters, small
from tiny import Letters, episode, policy, register, require_resumable, run

from assay.ask import Sampling, first_requests
from assay.memory import Memory
from assay.methods.exploration.self.probe import PROBE, after_failure, greedy_probe
from assay.types import Episode, Problem, Request

SAMPLING = Sampling(max_new=6, temperature=0.7)


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def probes(count: int) -> list[Request]:
    problems = [Problem("countdown", "ab", {}, f"{i}") for i in range(count)]
    return greedy_probe(first_requests(problems, Memory(0), first=0, samples=8, sampling=SAMPLING, codec=Letters()))


def answered(rights: list[bool | None]) -> list[Episode]:
    """Greedy answers to so many problems; None is an error of ours."""
    made = [episode([1], reward=None if right is None else float(right)) for right in rights]
    return [dataclasses.replace(e, request=r) for e, r in zip(made, probes(len(rights)), strict=True)]


def after(episodes: list[Episode]) -> list[Request]:
    return after_failure(episodes, sampling=SAMPLING, group_size=8)


def test_one_greedy_answer_first_and_a_group_where_it_failed_by_hand() -> None:
    assert [(r.group, r.temperature, r.tag) for r in probes(2)] == [
        ("0:0/greedy", 0.0, PROBE),
        ("0:1/greedy", 0.0, PROBE),
    ]
    found = answered([True, False, None, False])
    asked = after(found)
    assert [r.group for r in asked] == ["0:1"] * 8 + ["0:3"] * 8
    assert [r.sample for r in asked[:8]] == list(range(8))
    assert {(r.temperature, r.tag, r.max_new, r.round) for r in asked} == {(0.7, "", 6, 1)}
    done = [dataclasses.replace(episode([1], reward=0.0), request=r) for r in asked]
    assert after([*found, *done]) == [] and len({r.id for r in (*asked, *probes(4))}) == 20


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=8))
def test_exactly_the_failed_problems_are_worked_on(rights: list[bool | None]) -> None:
    assert [r.group for r in after(answered(rights))[::8]] == [f"0:{i}" for i, r in enumerate(rights) if r is False]


def test_a_run_trains_what_the_greedy_answer_failed_and_counts_no_probe() -> None:
    notes, memory = run(small("self", num_prompts=8, group_size=4, num_steps=4), policy("fp32", vocab=4))
    every = [e for step in notes.episodes for e in step]
    greedy = {e.request.group.removesuffix("/greedy"): e for e in every if e.request.tag == PROBE}
    sampled = {e.request.group for e in every if e.request.tag != PROBE}
    assert len(greedy) == 32 and sampled == {g for g, e in greedy.items() if not e.right} and sampled
    trained = {row.group for rows in notes.rows for row in rows if row.in_loss}
    assert trained <= sampled
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == 4 * len(sampled)
    assert memory.budget.rollouts == 32 + 4 * len(sampled), "a probe is spent"


def test_a_step_in_which_nothing_failed_trains_on_nothing() -> None:
    """As when every greedy answer is right: nothing is asked after the probes."""
    recipe = small("self", num_steps=2)
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=()))
    engine = policy("fp32", vocab=4)
    before = parameters(engine).clone()
    notes, _ = run(recipe, engine)
    assert torch.equal(parameters(engine), before)
    assert not any(row.in_loss for rows in notes.rows for row in rows)


@pytest.mark.slow
def test_greedy_answers_that_failed_become_right() -> None:
    recipe = small("self", num_prompts=8, group_size=8, num_steps=30, learning_rate=0.02)
    notes, _ = run(recipe, policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1))
    right = [np.mean([e.right for e in step if e.request.tag == PROBE]) for step in notes.episodes]
    assert np.mean(right[:3]) < 0.7 and np.mean(right[-5:]) > np.mean(right[:3]) + 0.2


@pytest.mark.slow
def test_a_stopped_run_goes_on() -> None:
    require_resumable(small("self", num_steps=4), lambda: policy("fp32", vocab=4), after=2)
