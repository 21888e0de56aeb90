"""X1: what a step earns by hand, and a run in which both models learn in both phases."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import ALONE, END, Letters, episode, models_for, policy, recipe_of, register, require_resumable, run, segment

from assay.curate.continued import CONTINUATION
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.lab.blueprint import components
from assay.part import bind
from assay.recipe import Recipe
from assay.reward.learnt import read, scores_after
from assay.reward.transforms import delta
from assay.types import Episode, Request, Reward


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


def on(answer: Episode, at: int, right: bool, sample: int) -> Episode:
    """A continuation of an answer from token `at` on."""
    prefix = (segment(answer.stream("ids")[:at].tolist()),)
    made = episode([*answer.stream("ids")[:at].tolist(), 4, END], group=f"g@{at}", sample=sample, reward=float(right))
    request: Request = dataclasses.replace(made.request, prefix=prefix, tag=CONTINUATION)
    return dataclasses.replace(made, request=request)


def test_a_step_earns_half_of_the_value_model_and_half_of_simulations() -> None:
    """The answer a c b c d has steps that end at tokens 1, 3 and 5 (`c` ends a step). From the ends of the first two,
    one of two and both of two continuations are right. Beside the outcome, what is still to come at the first step is
    (sigmoid(s_2) + 1/2) / 2, and at the second (sigmoid(s_4) + 1) / 2.
    """
    answer = episode([1, 3, 2, 3, 4, END], reward=1.0)
    more = [on(answer, 2, True, 0), on(answer, 2, False, 1), on(answer, 4, True, 2), on(answer, 4, True, 3)]
    models = models_for(recipe_of("x1"), policy("fp64"))
    head = models["value"].value_head  # type: ignore[attr-defined]
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1, 1, head.weight.numel()).reshape(head.weight.shape))
    everyone, rewards = [answer, *more], []
    for part in RECIPES["x1"].mechanism.reward[1:]:
        of = _marked(part, "c")
        offered = {"models": models, "codec": Letters(), "micro_tokens": 99, "everyone": everyone}
        rewards.append(bind(of, **offered)(everyone, **offered)[0])
    (after,) = scores_after(models["value"], [read(answer, "response", Letters())], tokens=99)
    p = [1 / (1 + math.exp(-after[i])) for i in (2, 4)]
    dense = np.sum([reward.dense(6) for reward in rewards], axis=0)
    ahead = np.cumsum(dense[::-1])[::-1]
    assert ahead[0] == pytest.approx((p[0] + 0.5) / 2, abs=1e-9)
    assert ahead[2] == pytest.approx((p[1] + 1.0) / 2, abs=1e-9)
    assert ahead[4:] == pytest.approx([0.0, 0.0], abs=1e-9)


def _marked(part: Any, marks: str) -> Any:
    """The reward with these marks at the end of steps, however deep it is."""
    fields = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    changes = {"marks": marks} if "marks" in fields else {}
    changes |= {"of": _marked(fields["of"], marks)} if "of" in fields else {}
    return dataclasses.replace(part, **changes) if changes else part


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_more_steps_of_one_value_earn_nothing_more(values: list[float]) -> None:
    """What is to come at the first step is its own value, whatever follows."""
    at = np.arange(len(values), dtype=np.int32)
    scores: list[Reward | None] = [Reward("p", 0.0, "span", np.array(values), at)]
    (found,) = delta([episode([1] * len(values))], of=lambda episodes: scores, name="")
    assert found is not None and found.values is not None
    assert found.values.sum() == pytest.approx(values[0] if len(values) > 1 else 0.0, abs=1e-9)


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 8, "group_size": 8, "num_steps": 24, "warmup_steps": 0, "learning_rate": 0.01, **changes}
    return recipe_of("x1", max_new=4, **values)


def beginner() -> LocalEngine:
    return policy("fp32", vocab=4, hidden=16, ffn=16, init_std=0.1)


def test_each_phase_trains_what_it_says() -> None:
    notes, memory = run(small(num_prompts=2, group_size=4, num_steps=10), beginner())
    trained = [sum(int(batch.mask.sum()) for batch in step) > 0 for step in notes.batches]
    learnt = ["value/loss" in stats for stats in notes.stats]
    assert trained == [True, False, False, *[True] * 7] and learnt == [False, *[True] * 9]
    assert memory.stage == 2


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_prompts=2, group_size=4, num_steps=6), beginner, after=4)


@pytest.mark.slow
def test_the_policy_learns_in_the_second_phase_alone() -> None:
    recipe = small()
    notes, _ = run(dataclasses.replace(recipe, stages=recipe.stages[1:]), beginner())
    right = [np.mean([e.right for e in step if e.request.tag != CONTINUATION]) for step in notes.episodes]
    assert np.mean(right[-5:]) > np.mean(right[:5]) + 0.2, right


def test_no_other_recipe_has_all_of_its_components() -> None:
    own = components(RECIPES["x1"])
    named = {name: components(recipe).every for name, recipe in RECIPES.items() if name != "x1"}
    without = {(where, what) for where, what in own.every if "value" not in what}  # names of models differ
    valued = {name for name, recipe in RECIPES.items() if any(model.valued for model in recipe.models.values())}
    assert [name for name, every in named.items() if name in valued and without <= every] == []


def test_a_stage_without_steps_is_no_component() -> None:
    recipe = RECIPES["x1"]
    stages = tuple(dataclasses.replace(stage, share=0.0) for stage in recipe.stages[:2])
    found = components(dataclasses.replace(recipe, stages=(*stages, recipe.stages[2])))
    assert found.operators == ("generate", "branch") and found.phases == ("policy by policy gradient and value",)
