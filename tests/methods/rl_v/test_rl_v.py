"""RL^V: which lessons are given, their loss by hand, votes by verdicts, and a policy that learns to judge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import END, Letters, episode, policy, recipe_of, register, run

from assay.ask.verdicts import chances_right, verdict_tokens
from assay.errors import DataError
from assay.lab.trial import small_run, variety
from assay.memory import Memory
from assay.methods.rl_v.verdicts import VERDICT, own_verdicts
from assay.types import Origin, Row, Verdict
from assay.verifiers.elections import best, weighted

OUTCOMES = st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=12)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def rows_of(outcomes: Sequence[float | None]) -> list[Row]:
    return [
        Row(episode([1 + i % 3, END], group=f"g{i // 4}", sample=i, reward=one, text="abc"[i % 3]))
        for i, one in enumerate(outcomes)
    ]


@given(OUTCOMES)
def test_as_many_right_answers_as_wrong_ones_are_asked_about(outcomes: list[float | None]) -> None:
    rows = rows_of(outcomes)
    found = own_verdicts(rows, codec=Letters(), memory=Memory(0), role="policy")
    assert found[: len(rows)] == rows
    lessons = found[len(rows) :]
    right = [lesson for lesson in lessons if lesson.episode.right]
    assert len(right) == len(lessons) - len(right) == min(outcomes.count(1.0), outcomes.count(0.0))
    for lesson in lessons:
        one = lesson.episode
        assert (
            one.stream("ids").tolist() == ([2] if one.right else [3]) and (one.stream("origin") == Origin.POLICY).all()
        )
        assert one.training_context is one.request.context  # the question a, its mark c, the answer
        assert one.request.context.tolist() == [1, *Letters().encode(rows[one.request.sample].episode.text).tolist(), 3]
        assert (lesson.tag, lesson.in_loss, lesson.in_group, lesson.in_denominator) == (VERDICT, True, False, False)


def test_replayed_answers_and_those_without_a_verdict_are_not_asked_about() -> None:
    right, wrong, old, given, unjudged, lost = (row.episode for row in rows_of([1.0, 0.0, 1.0, 0.0, 1.0, 0.0]))
    old, given = dataclasses.replace(old, provenance="replay"), dataclasses.replace(given, provenance="teacher")
    unjudged = dataclasses.replace(unjudged, verdict=None)
    lost = dataclasses.replace(lost, verdict=Verdict.invalid("bug"))
    rows = [Row(one) for one in (right, wrong, old, given, unjudged, lost)]
    found = own_verdicts(rows, codec=Letters(), memory=Memory(0), role="policy")[len(rows) :]
    assert sorted(lesson.episode.request.sample for lesson in found) == [0, 1]


def test_the_order_of_rows_does_not_matter_to_how_many_there_are_and_a_step_draws_anew() -> None:
    rows = rows_of([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    drawn = {
        tuple(r.episode.request.sample for r in own_verdicts(rows, codec=Letters(), memory=memory, role="policy")[8:])
        for memory in (dataclasses.replace(Memory(0), step=step) for step in range(20))
    }
    assert {pair[0] for pair in drawn} == {0} and len(drawn) > 3


def test_a_tokenizer_without_the_words_is_refused() -> None:
    class Wordless(Letters):
        def encode(self, text: str) -> np.ndarray:
            return super().encode("" if text in "+-" else text)

    with pytest.raises(DataError, match="cannot tell the verdicts '\\+' and '-' apart"):
        verdict_tokens("compact", Wordless())


def test_chances_by_hand() -> None:
    """The softmax over two words of the whole softmax: sigmoid of the difference of their log-probs."""
    engine, problem = policy("fp64", init_std=0.5), episode([1]).request.problem
    (chance,) = chances_right(engine, [(problem, "b")], Letters())
    context = np.array([1, 2, 3], np.int32)
    from assay.engine.interface import Span

    yes, no = (engine.score([Span(context, np.array([word], np.int32))])[0].logp[0] for word in (2, 3))
    assert chance == pytest.approx(math.exp(yes) / (math.exp(yes) + math.exp(no)), rel=1e-6)


def test_votes_by_hand() -> None:
    answers = ["3", "4", "3", None, "5"]
    assert weighted(answers, [0.2, 0.5, 0.2, 9.0, 0.3]) == "4" and weighted(answers, [0.3, 0.5, 0.3, 9.0, 0.1]) == "3"
    assert best(answers, [0.2, 0.5, 0.2, 9.0, 0.6]) == "5"
    assert weighted([None], [1.0]) is None and best([], []) is None


@given(st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 8)), min_size=1, max_size=8))
def test_equal_weights_elect_the_majority_and_a_scale_changes_nothing(votes: list[tuple[str | None, int]]) -> None:
    from assay.verifiers.elections import majority

    answers, weights = [answer for answer, _ in votes], [weight / 8 for _, weight in votes]
    assert weighted(answers, [1.0] * len(answers)) == majority(answers)
    assert weighted(answers, weights) == weighted(answers, [4 * weight for weight in weights])


@pytest.mark.slow
def test_a_policy_learns_to_judge_its_answers_and_still_its_task() -> None:
    """Right is what holds the letter of the question. The verdicts are on answers that were not learnt from yet."""
    values = {"num_prompts": 16, "group_size": 8, "num_steps": 36, "learning_rate": 0.003, "warmup_steps": 2}
    engine = policy("fp32", vocab=5, hidden=32, ffn=64, init_std=0.1)
    recipe = recipe_of("rl-v", max_new=4, **values)
    term = dataclasses.replace(recipe.mechanism.objective.extra[0], weight=1.0)  # type: ignore[call-arg]
    goal = dataclasses.replace(recipe.mechanism.objective, extra=(term,))
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, objective=goal))
    notes, _ = run(recipe, engine, codec=Letters())
    accuracy = notes.accuracy()
    assert accuracy[-9:].mean() - accuracy[:9].mean() > 0.3
    later = [stats for stats in notes.stats[12:] if "verdict/auroc" in stats]
    assert np.mean([stats["verdict/auroc"] for stats in later]) > 0.75
    assert sum(stats["verdict/weighted"] - stats["verdict/majority"] for stats in later) > 0


def test_three_steps_of_training(tmp_path: Path) -> None:
    for record in small_run("rl-v", tmp_path, reward=variety).metrics():
        assert np.isfinite(record["policy/grad_norm"]) and 0 <= record["verdict/weighted"] <= 1
