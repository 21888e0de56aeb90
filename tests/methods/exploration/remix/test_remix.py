"""ReMix: groups of earlier steps that train again, their weights, and the policy that becomes the base."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, policy, pushes, recipe_of, register, require_resumable, run, segment

from assay.memory import Memory
from assay.methods.exploration.remix import MIXED
from assay.methods.exploration.remix.past import STORE, MixPast, keep_past, mix_past
from assay.recipe import Recipe
from assay.types import Row


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def group(name: str, rewards: tuple[float, ...] = (1.0, 0.0)) -> list[Row]:
    return [Row(episode([1, 2], group=name, sample=i, reward=reward)) for i, reward in enumerate(rewards)]


def after(*steps: list[Row], keep: int = 2) -> Memory:
    """The memory at the beginning of the step after these."""
    memory = Memory(0)
    for rows in steps:
        memory = dataclasses.replace(keep_past(memory, rows=rows, steps=keep), step=memory.step + 1)
    return memory


def names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows))


def test_groups_of_the_last_steps_are_kept_as_they_were_marked() -> None:
    first = group("a")
    first[1] = first[1].mark(in_loss=False)
    idle = [row.mark(in_loss=False, in_denominator=False) for row in group("idle")]
    memory = after([*first, *idle], group("b"), group("c"))
    assert set(memory.store(STORE)) == {"b", "c"}, "older than two steps, or nothing trained"
    again = mix_past(group("new"), after([*first, *idle]), share=0.5)
    assert [(row.in_loss, row.in_denominator) for row in again[2:]] == [(True, True), (False, True)]
    assert {row.episode.provenance for row in again[2:]} == {"replay"} and all(row.old is None for row in again)
    came_back = after([*again], group("c"))
    assert set(came_back.store(STORE)) == {"new", "c"}, "what came back is not kept once more"


def test_the_share_by_hand() -> None:
    """Beside three new groups two in five are old: three times two thirds. Of two kept groups there are no three."""
    fresh = [row for name in "xyz" for row in group(name)]
    memory = after([row for name in "abcd" for row in group(name)])
    assert len(names(mix_past(fresh, memory, share=0.4))) == 3 + 2
    assert len(names(mix_past(fresh, after([*group("a"), *group("b")]), share=0.5))) == 3 + 2
    assert mix_past(fresh, memory, share=0.0) == fresh == mix_past(fresh, Memory(0), share=0.4)
    assert MixPast(share=1.0).refusal() and MixPast(share=0.0).refusal() is None


@given(new=st.integers(0, 6), old=st.integers(0, 6), share=st.floats(0, 0.9))
def test_old_groups_come_whole_and_at_most_once(new: int, old: int, share: float) -> None:
    fresh = [row for i in range(new) for row in group(f"new-{i}")]
    memory = after([row for i in range(old) for row in group(f"old-{i}", (1.0, 0.0, 1.0))])
    rows = mix_past(fresh, memory, share=share)
    more = names(rows)[new:]
    assert rows[: len(fresh)] == fresh and len(rows) == 2 * new + 3 * len(more)
    assert len(set(more)) == len(more) <= min(old, new * share / (1 - share) + 0.5)
    assert names(rows) == names(mix_past(fresh, memory, share=share)), "the step's key draws"


def test_each_step_draws_anew() -> None:
    """One of six groups in each of eight steps: always the same one would be no draw."""
    memory = after([row for name in "abcdef" for row in group(name)])
    found = [mix_past(group("new"), dataclasses.replace(memory, step=step), share=0.5)[-1].group for step in range(8)]
    assert len(set(found)) > 2


def test_a_past_token_is_pushed_by_its_weight_and_by_both_penalties() -> None:
    """log mu = -2, log old = -1.5, log ref = -1, and the policy is the old one: rho = e^0.5, the ratio is 1, the
    penalty to the old policy has no slope yet, and that to the base pushes by ref - log pi. Four tokens in all.
    """
    mu = np.full(2, -2.0)
    old, ref = np.full(2, -1.5, np.float32), np.full(2, -1.0, np.float32)
    right, wrong = (
        Row(episode([segment([1, 2], mu=mu)], group="a", sample=i), advantage=np.full(2, a), old=old, ref=ref)
        for i, a in enumerate((0.7, -0.7))
    )
    found = pushes(MIXED.objective, [right, wrong], -1.5)
    pull = 0.001 * 0.5 * 0.5
    assert found[0] == pytest.approx([(0.7 * math.exp(0.5) + pull) / 4] * 2, rel=1e-6)
    assert found[1] == pytest.approx([(-0.7 * math.exp(0.5) + pull) / 4] * 2, rel=1e-6)
    far = dataclasses.replace(right, old=np.full(2, -0.5, np.float32))  # rho = e^1.5 > 2
    assert pushes(MIXED.objective, [far], -0.5)[0] == pytest.approx([(1.4 - 0.0005 * 0.5) / 2] * 2)


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 10, "warmup_steps": 0, "learning_rate": 0.01, **changes}
    return recipe_of("remix", max_new=4, **values)


def test_past_groups_train_at_first_and_then_no_more() -> None:
    notes, _ = run(small(), policy("fp32", vocab=4))
    old = [{row.group for row in step if row.waited} for step in notes.rows]
    assert not old[0] and all(old[1:3]) and not any(old[3:])
    versions = [[row.episode.segments[0].version for row in step if row.waited] for step in notes.rows]
    assert versions[1] and max(versions[1]) == 0 and max(versions[2]) < 4
    apart = [batch for batch in notes.batches[2] if np.any(batch.old != batch.mu)]
    assert apart, "old is of the policy before the update, mu of the one that wrote the answer"


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_steps=6), lambda: policy("fp32", vocab=4), after=2)
