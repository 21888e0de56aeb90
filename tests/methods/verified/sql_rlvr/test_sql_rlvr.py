"""sql-rlvr: what trains in the warm-up and afterwards, and whether a database's verdicts reach the reward."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paid import earned
from tiny import episode

from assay.methods.verified.sql_rlvr import SQL_RLVR
from assay.methods.verified.sql_rlvr.best import BestAnswers, best_answers
from assay.part import bind
from assay.rng import Key
from assay.tasks import task
from assay.types import Reward, Row


def rows(*rewards: float | None, group: str = "g") -> list[Row]:
    made = [episode([1], group=group, sample=i) for i in range(len(rewards))]
    paid = [() if reward is None else (Reward("outcome", reward),) for reward in rewards]
    return [Row(dataclasses.replace(one, rewards=parts)) for one, parts in zip(made, paid, strict=True)]


def trained(found: list[Row]) -> list[bool]:
    return [row.in_loss for row in found]


def test_the_best_of_each_group_train() -> None:
    step = [*rows(0.0, 1.0, 0.5, 1.0), *rows(0.0, 0.0, group="h"), *rows(None, 0.2, group="i")]
    one, two = (trained(bind(BestAnswers(most=most))(step)) for most in (1, 2))
    assert one == [False, True, False, False, False, False, False, True]
    assert two == [False, True, False, True, False, False, False, True]
    assert trained(best_answers(step, most=9, above=0.4)) == [False, True, True, True, False, False, False, False]


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=8), st.integers(1, 4))
def test_no_answer_that_is_left_out_is_better_than_one_that_trains(rewards: list[float], most: int) -> None:
    kept = trained(best_answers(rows(*rewards), most=most, above=0.0))
    mine = [reward for reward, train in zip(rewards, kept, strict=True) if train]
    rest = [reward for reward, train in zip(rewards, kept, strict=True) if not train]
    assert len(mine) == min(most, sum(reward > 0 for reward in rewards))
    assert not mine or not rest or min(mine) >= max(rest)


def test_the_warm_up_is_a_fifth_of_the_steps() -> None:
    first, second = SQL_RLVR.stages
    assert first.share / (first.share + second.share) == 0.2
    assert first.mechanism is not None and second.mechanism is None


@pytest.mark.external("sqlite")
def test_a_query_earns_what_its_rows_are_worth() -> None:
    problem, judge = task("sql").problem(Key(1), level=1), task("sql").checker.verify_many
    assert judge is not None and problem.solution
    column = problem.solution.split()[1]
    texts = [problem.solution, f"select {column} from t", "select 1", "drop table t"]
    verdicts = judge([(problem, text) for text in texts])
    made = [dataclasses.replace(episode([1], sample=i), verdict=one) for i, one in enumerate(verdicts)]
    assert earned(SQL_RLVR.mechanism.reward[0], made) == [1.0, 0.0, 0.0, 0.0]
