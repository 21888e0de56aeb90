"""SeRL: likeness of problems by hand, which of them are answered, and runs in which the policy alone learns."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import Letters, episode, policy, recipe_of, register, require_resumable, run

from assay.ask import Sampling
from assay.memory import Memory
from assay.memory.posed import admit_posed
from assay.methods.unlabelled.serl.answer_unlike import AnswerUnlike, answer_unlike, likeness, unlike
from assay.tasks import posing_of, task
from assay.types import Episode, Verdict


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def posing(text: str, *, sample: int = 0) -> Episode:
    """An answer to the request for a program of a stack machine and its input."""
    shown = [posing_of(task("dsl-deduction")).seed]
    asked = task("pose:dsl-deduction").pose({"shown": shown, "example": shown[0]}, level=2)
    made = episode([1], sample=sample, role="proposer")
    request = dataclasses.replace(made.request, problem=asked)
    return dataclasses.replace(made, request=request, text=text, verdict=Verdict.ok(text))


def common(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The longest common subsequence, by its recursive definition."""

    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


def test_likeness_by_hand() -> None:
    """Of a cat sat here and the cat sat, three and two words in order are shared."""
    assert likeness(["a", "cat", "sat", "here"], ["the", "cat", "sat"]) == pytest.approx(4 / 7)
    assert likeness(["x"], ["x"]) == 1.0 and likeness(["x"], ["y"]) == 0.0 and likeness([], ["y"]) == 0.0
    assert likeness(["a", "b", "c"], ["c", "b", "a"]) == pytest.approx(1 / 3)


words = st.lists(st.sampled_from("abc"), max_size=8).map(tuple)


@given(words, words)
def test_likeness_is_that_of_the_definition_and_symmetric(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    size = len(one) + len(other)
    assert likeness(one, other) == pytest.approx(2 * common(one, other) / size if size else 1.0)
    assert likeness(one, other) == likeness(other, one)
    assert likeness(one, one) == 1.0


def texts() -> list[str]:
    """Instances of the task, as a policy would write them, of the training split and with different words."""
    found, seen = [], set()
    known = task("dsl-deduction")
    how = posing_of(known)
    seen |= set(how.write(how.seed).split())
    for i in range(400):
        spec = known.generator.instance(np.random.default_rng(i), 2)
        text = how.write(spec)
        if known.split_of(spec) == "train" and not seen & set(text.split()):
            seen |= set(text.split())
            found.append(text)
    return found[:3]


def test_only_problems_unlike_those_before_are_answered() -> None:
    """The second is the first again; the third has other words; the fourth is no problem."""
    first, second, _ = texts()
    proposals = [posing(t, sample=i) for i, t in enumerate([first, first, second, "?!"])]
    found = unlike(proposals, Memory(0), alike=0.7)
    assert [episode.request.sample for episode, _ in found] == [0, 2]
    values = {"sampling": Sampling(8), "codec": Letters(), "answers": 3, "alike": 0.7}
    codec = values["codec"]
    codec.render = lambda prompt: np.ones(3, np.int32)  # type: ignore[union-attr, method-assign]
    asked = answer_unlike(proposals, Memory(0, step=2), **values)  # type: ignore[arg-type]
    assert [r.parent for r in asked] == [proposals[0].request.id] * 3 + [proposals[2].request.id] * 3
    assert len({r.group for r in asked}) == 2 and len({r.id for r in asked}) == 6
    other = dataclasses.replace(proposals[0], request=asked[0])
    for episodes in ([*proposals, other], [other, *proposals]):
        assert answer_unlike(episodes, Memory(0), **values) == []  # type: ignore[arg-type]
    late = dataclasses.replace(proposals[0], request=dataclasses.replace(proposals[0].request, draw=900))
    drawn = answer_unlike([late, *proposals[1:]], Memory(0), **values)  # type: ignore[arg-type]
    assert [r.draw for r in drawn] == [901] * 3 + [902] * 3, "no draw of the step is used twice"
    memory = admit_posed(Memory(0), episodes=proposals, cap=9, place="elsewhere")
    assert answer_unlike(proposals, memory, place="elsewhere", **values) == []  # type: ignore[arg-type]
    assert answer_unlike(proposals, memory, **values), "these pools are empty"  # type: ignore[arg-type]


def test_problems_count_as_one_from_the_likeness_on() -> None:
    """The seed of the pool is `s 012`, of which the proposal has one of two words: a likeness of 2 / (2 + 2)."""
    known = posing_of(task("dsl-deduction"))
    assert known.write(known.seed) == "s 012"
    assert [len(unlike([posing("s 345")], Memory(0), alike=alike)) for alike in (0.5, 0.51)] == [0, 1]


def test_what_shares_too_many_words_is_left_out() -> None:
    (text, *_) = texts()
    program, *rest = text.split()
    near = f"{program} {rest[0][::-1]}" if rest else text
    proposals = [posing(text), posing(near, sample=1)]
    strict, loose = (len(unlike(proposals, Memory(0), alike=alike)) for alike in (0.1, 1.1))
    assert strict <= 1 <= loose


def test_too_few_answers_are_refused() -> None:
    assert AnswerUnlike(answers=1).refusal() and AnswerUnlike(alike=0.0).refusal() and AnswerUnlike().refusal() is None


def test_the_proposer_does_not_train() -> None:
    recipe = recipe_of("serl", max_new=4, num_prompts=4, group_size=4, num_steps=2)
    notes, memory = run(recipe, policy("fp32", vocab=4, init_std=0.1))
    for episodes, rows in zip(notes.episodes, notes.rows, strict=True):
        assert {e.request.role for e in episodes} <= {"policy", "proposer"}
        assert not any(row.in_loss for row in rows if row.role == "proposer")
    assert memory.step == 2


@pytest.mark.slow
def test_a_stopped_run_ends_with_the_same_bits() -> None:
    recipe = recipe_of("serl", max_new=4, num_prompts=4, group_size=4, num_steps=3)
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=1)
