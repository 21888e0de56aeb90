"""VinePPO: values of steps by hand, what is continued, and three steps of training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, policy, recipe_of, register, require_resumable, run, segment

from assay.collect import ContinueSteps
from assay.collect.trees import branch
from assay.credit.steps import step_values
from assay.curate.continued import CONTINUATION
from assay.lab.trial import small_run
from assay.part import bind
from assay.recipe import Recipe
from assay.types import Episode, Row

TOKENS = [1, 2, 3, 4, END]


def trunk(reward: float, tokens: Sequence[int] = TOKENS, sample: int = 0) -> Episode:
    return episode([segment(tokens, node=str(sample))], reward=reward, sample=sample)


def continued(first: Episode, at: int, *rewards: float | None) -> list[Row]:
    """Answers that go on from a token of another one."""
    rows = []
    for i, reward in enumerate(rewards):
        request = dataclasses.replace(branch(first, at, sample=i), group=f"g/0@{at}", tag=CONTINUATION)
        own = episode([*request.prefix, segment([END])], reward=reward)
        rows.append(Row(dataclasses.replace(own, request=request)))
    return rows


def advantages(rows: Sequence[Row]) -> list[float]:
    """Of the first row."""
    found = step_values(rows)[0].advantage
    assert found is not None
    return found.tolist()


def test_three_steps_by_hand() -> None:
    """V is 1/4 before the first token, 1/2 before the third, 1 before the fifth; the answer is wrong."""
    first = trunk(0.0)
    rows = [Row(first), *continued(first, 0, 1, 0, 0, 0), *continued(first, 2, 1, 0), *continued(first, 4, 1, 1)]
    assert advantages(rows) == [0.25, 0.25, 0.5, 0.5, -1.0]


def test_rewards_of_tokens_belong_to_their_step() -> None:
    first = trunk(1.0)
    row = Row(first, process=np.array([0.5, -0.25, 0.125, 0.0, 2.0], np.float32))
    rows = [row, *continued(first, 0, 0.5), *continued(first, 2, 0.25)]
    assert advantages(rows) == [0.25 - 0.5 + 0.25] * 2 + [1.0 - 0.25 + 2.125] * 3


def test_equal_beginnings_share_a_value() -> None:
    first, second = trunk(0.0), trunk(1.0, [1, 2, 4, END], sample=1)
    rows = step_values([Row(second), *continued(first, 0, 0.5), *continued(first, 2, 1, 0, 0, 1), Row(first)])
    assert rows[0].advantage is not None and rows[0].advantage.tolist() == [0.0, 0.0, 0.5, 0.5]
    assert rows[-1].advantage is not None and rows[-1].advantage.tolist() == [0.0, 0.0, -0.5, -0.5, -0.5]


def test_steps_whose_continuations_were_lost_are_one() -> None:
    first = trunk(1.0)
    assert advantages([Row(first), *continued(first, 0, 0.5), *continued(first, 4, 0.25)]) == [-0.25] * 4 + [0.75]
    assert advantages([Row(first), *continued(first, 4, 0.25)]) == [0.0] * 4 + [0.75]
    assert advantages([Row(first)]) == [1.0] * 5
    assert step_values([Row(trunk(1.0, []))])[0].advantage is not None


@given(st.dictionaries(st.integers(1, 4), st.lists(st.integers(0, 4), min_size=1, max_size=3)), st.integers(0, 4))
def test_the_advantages_of_steps_sum_to_what_the_answer_is_above_its_prompt(
    values: dict[int, list[int]], reward: int
) -> None:
    """Sum over steps of V_{k+1} - V_k, V = R at the end."""
    first = trunk(reward)
    rows = [Row(first), *continued(first, 0, 2.0)]
    for at, rewards in values.items():
        rows += continued(first, at, *rewards)
    found = advantages(rows)
    assert sum(found[at] for at in {0, *values}) == pytest.approx(reward - 2.0)


# What is continued


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


SMALL = {"num_prompts": 2, "group_size": 2, "num_steps": 2, "learning_rate": 0.01, "warmup_steps": 0}


def small() -> Recipe:
    """A step ends at a letter."""
    recipe = recipe_of("vine-ppo", max_new=6, **SMALL, num_minibatches=1, num_epochs=1, temperature=1.0, top_p=1.0)
    (expand,) = recipe.mechanism.expand
    part = dataclasses.replace(expand, branches=3, marks="a")  # type: ignore[call-arg]
    return dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, expand=(part,)))


@pytest.mark.usefixtures("task")
def test_every_state_of_an_answer_is_continued_once_and_does_not_train() -> None:
    notes, _ = run(small(), policy("fp32", vocab=4, init_std=0.1))
    for episodes, rows in zip(notes.episodes, notes.rows, strict=True):
        answers = [e for e in episodes if e.request.tag != CONTINUATION]
        more = [e for e in episodes if e.request.tag == CONTINUATION]
        assert len(answers) == 4
        expected = set()
        for answer in answers:
            ids = answer.stream("ids").tolist()
            ends = [t for t in range(len(ids) - 1) if ids[t] == 1]
            places = {0} | {t + 1 for t in ends if t > 0 and ids[t - 1] != 1}  # a mark alone is no step
            expected |= {(answer.request.context.tobytes(), tuple(ids[:at])) for at in places}
        found = [(e.request.context.tobytes(), tuple(e.stream("ids")[: e.request.given].tolist())) for e in more]
        assert set(found) == expected and all(found.count(place) == 3 for place in expected)
        assert len({e.request.id for e in episodes}) == len(episodes)
        assert [row.in_loss for row in rows] == [row.episode.request.tag != CONTINUATION for row in rows]
        assert all(len(e) <= 6 for e in more)


@pytest.mark.usefixtures("task")
@pytest.mark.slow
def test_a_stopped_run_ends_with_the_same_bits() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4, init_std=0.1), after=1)


@pytest.mark.usefixtures("task")
def test_lost_answers_are_not_continued() -> None:
    lost, judged = episode([1, 2, END], reward=None), episode([2, 1, 3, END], sample=1)
    asked = bind(ContinueSteps(branches=1, marks="a"), codec=Letters())([lost, judged])
    assert [request.given for request in asked] == [2]


def test_three_steps_of_training(tmp_path: Path) -> None:
    run_ = small_run("vine-ppo", tmp_path)
    for record in run_.metrics():
        assert record["rollouts"] > 8 and np.isfinite(record["policy/grad_norm"])
