"""Rewards with a known fault: shuffled ones, and verifiers that err as often as is said."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from tiny import episode

from assay.memory import Memory
from assay.part import bind
from assay.reward import Misjudged, Outcome, Shuffled
from assay.types import Episode, Reward, Verdict

COUNT = 1200


def answers(right: float = 0.25) -> list[Episode]:
    """Answers to different requests, a share of them right."""
    made = []
    for number in range(COUNT):
        one = episode([1, 1])
        verdict = Verdict.ok() if number < right * COUNT else Verdict.fail("wrong")
        made.append(dataclasses.replace(one, request=dataclasses.replace(one.request, sample=number), verdict=verdict))
    return made


def rewards(part: Shuffled | Misjudged, episodes: list[Episode], seed: int = 0) -> list[Reward | None]:
    memory = Memory(seed)
    return bind(part, max_new=8)(episodes, everyone=episodes, memory=memory)


def test_shuffled_rewards_are_the_same_numbers_and_say_nothing() -> None:
    episodes = answers()
    found = rewards(Shuffled(), episodes)
    values = np.array([one.value for one in found if one is not None])
    assert Counter(values) == {1.0: 300, 0.0: 900}
    right = np.array([e.right for e in episodes])
    assert abs(values[right].mean() - 0.25) < 5 * 0.5 / 300**0.5, "the right ones are paid like the others"
    assert [one.value for one in found if one] == [one.value for one in rewards(Shuffled(), episodes) if one]
    assert list(values) != [one.value for one in rewards(Shuffled(), episodes, seed=1) if one]
    dealt = bind(Shuffled(), max_new=8)
    first, later = (dealt(episodes, everyone=episodes, memory=Memory(0, step=step)) for step in (1, 2))
    assert [one.value for one in first if one] != [one.value for one in later if one], "each step deals anew"


@pytest.mark.slow
def test_an_error_of_ours_is_dealt_as_well() -> None:
    """As many answers stay without a verdict as there were."""
    episodes = [
        dataclasses.replace(e, verdict=Verdict.invalid("lost")) if i % 10 == 0 else e for i, e in enumerate(answers())
    ]
    plain = bind(Outcome(), max_new=8)(episodes, everyone=episodes, memory=Memory(0))
    found = rewards(Shuffled(), episodes)
    assert sum(one is None for one in found) == sum(one is None for one in plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "right_paid", "wrong_paid", "lost"),
    [
        (Misjudged(), 1.0, 0.0, 0.0),
        (Misjudged(accepts=0.05), 1.0, 0.05, 0.0),
        (Misjudged(refuses=0.2), 0.8, 0.0, 0.0),
        (Misjudged(accepts=0.3, refuses=0.4, fails=0.1), 0.6, 0.3, 0.1),
    ],
)
def test_a_verifier_errs_as_often_as_is_said(
    part: Misjudged, right_paid: float, wrong_paid: float, lost: float
) -> None:
    episodes = answers(0.5)
    found = [one for one in rewards(part, episodes) if one is not None]
    assert len(found) == COUNT
    assert abs(np.mean([bool(one.invalid) for one in found]) - lost) < 0.045
    for right, wanted in ((True, right_paid), (False, wrong_paid)):
        paid = [one.value for one, e in zip(found, episodes, strict=True) if e.right == right and not one.invalid]
        assert abs(np.mean(paid) - wanted) < 5 * 0.5 / len(paid) ** 0.5 * bool(wanted % 1) + 1e-12
    assert all(one.parts[0].value == float(e.right) for one, e in zip(found, episodes, strict=True)), (
        "the truth is kept"
    )


def test_the_errors_of_an_answer_do_not_depend_on_the_others() -> None:
    episodes, part = answers(), Misjudged(accepts=0.3, refuses=0.3)
    whole = rewards(part, episodes)
    some = rewards(part, episodes[100:200])
    assert [one.value for one in some if one] == [one.value for one in whole[100:200] if one]
