"""Math-Shepherd: scores of steps by hand, and three steps of training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, episode, segment

from assay.collect.trees import branch
from assay.curate.continued import CONTINUATION
from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.reward.continued import sampled_steps
from assay.types import Episode

FIRST = episode([segment([1, 2, 3, 4, END], node="0")], reward=1.0)


def continued(at: int, *right: bool | None) -> list[Episode]:
    """Answers that go on from a token of the first one; None for an error of ours."""
    found = []
    for i, verdict in enumerate(right):
        request = dataclasses.replace(branch(FIRST, at, sample=i), group=f"g/0@{at}", tag=CONTINUATION)
        own = episode([*request.prefix, segment([END])], reward=None if verdict is None else float(verdict))
        found.append(dataclasses.replace(own, request=request))
    return found


def scores(
    episodes: Sequence[Episode], estimate: Literal["hard", "soft"], last: bool = True
) -> tuple[list[int], list[float]]:
    """Where the first answer has scores, and which."""
    found = sampled_steps(episodes, estimate=estimate, last=last)[0]
    assert found is not None and found.values is not None and found.at is not None and found.scope == "span"
    assert found.value == pytest.approx(sum(found.values))
    return found.at.tolist(), found.values.tolist()


def test_hard_and_soft_labels_by_hand() -> None:
    more = [*continued(2, True, False, False, False), *continued(4, False, False)]
    assert scores([FIRST, *more], "hard") == ([1, 3, 4], [1.0, 0.0, 1.0])
    assert scores([FIRST, *more], "hard", last=False) == ([1, 3], [1.0, 0.0])
    assert scores([FIRST, *more], "soft") == ([1, 3, 4], [0.25, 0.0, 1.0])


def test_what_could_not_be_judged_is_no_wrong_answer() -> None:
    assert scores([FIRST, *continued(2, True, None), *continued(4, None)], "soft") == ([1, 4], [1.0, 1.0])
    assert scores([FIRST], "hard") == ([4], [1.0])
    wrong = episode([segment([2, END], node="w")], reward=0.0, sample=1)
    assert scores([wrong, FIRST], "hard") == ([1], [0.0])


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_a_hard_label_is_never_below_a_soft_one(right: list[bool]) -> None:
    episodes = [FIRST, *continued(3, *right)]
    (_, (hard, _)), (_, (soft, _)) = scores(episodes, "hard"), scores(episodes, "soft")
    assert soft <= hard == np.ceil(soft)


def test_three_steps_of_training(tmp_path: Path) -> None:
    run = small_run("math-shepherd", tmp_path)
    for record in run.metrics():
        assert record["rollouts"] >= 8 and np.isfinite(record["policy/grad_norm"])


def test_it_is_ppo_beside_its_rewards() -> None:
    mine, other = RECIPES["math-shepherd"].mechanism, RECIPES["ppo"].mechanism
    assert (mine.credit, mine.shape, mine.objective) == (other.credit, other.shape, other.objective)
