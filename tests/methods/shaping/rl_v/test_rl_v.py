"""RL^V: which lessons are given, their loss by hand, votes by verdicts, and a policy that learns to judge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_draws import shown
from tiny import END, Letters, episode, policy, recipe_of, register, run

from assay.ask.yes_or_no import chances_right, verdict_tokens
from assay.engine.interface import Scores, Span
from assay.errors import DataError
from assay.lab.trial import small_run, variety
from assay.memory import Memory
from assay.methods.shaping.rl_v.own_verdicts import VERDICT, own_verdicts, vote_by_verdicts
from assay.models import Models
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
    """Nor those of another role, nor rows with a tag."""
    right, wrong, old, given, unjudged, lost = (row.episode for row in rows_of([1.0, 0.0, 1.0, 0.0, 1.0, 0.0]))
    old, given = dataclasses.replace(old, provenance="replay"), dataclasses.replace(given, provenance="teacher")
    unjudged = dataclasses.replace(unjudged, verdict=None)
    lost = dataclasses.replace(lost, verdict=Verdict.invalid("bug"))
    rows = [Row(one) for one in (right, wrong, old, given, unjudged, lost)]
    rows += [Row(episode([1, END], sample=6, reward=1.0, role="critic")), Row(episode([1, END], sample=7), tag="told")]
    found = own_verdicts(rows, codec=Letters(), memory=Memory(0), role="policy")[len(rows) :]
    assert sorted(lesson.episode.request.sample for lesson in found) == [0, 1]


def test_a_lesson_by_hand() -> None:
    """It is asked at temperature 1 for one token, and keeps nothing of how the answer came about."""
    right, wrong = (episode([1, 2, END], sample=i, reward=1.0 - i, temperature=0.7) for i in range(2))
    right = dataclasses.replace(right, text="ab", context=np.array([4], np.int32), path=("node",))
    lessons = own_verdicts([Row(right), Row(wrong)], codec=Letters(), memory=Memory(0), role="policy")[2:]
    assert [lesson.episode.text for lesson in lessons] == ["b", "c"]  # the letters of + and -
    one = lessons[0].episode
    assert (one.request.temperature, one.request.max_new) == (1.0, 1) and one.path == ()
    assert one.training_context.tolist() == [1, 1, 2, 3]


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
    yes, no = (engine.score([Span(context, np.array([word], np.int32))])[0].logp[0] for word in (2, 3))
    assert chance == pytest.approx(math.exp(yes) / (math.exp(yes) + math.exp(no)), rel=1e-6)


class Sure:
    """An engine that gives this chance to Yes, by the first letter of the answer that it reads."""

    def score(self, spans: Sequence[Span]) -> list[Scores]:
        yes = [{1: 0.7, 2: 0.4, 3: 0.1}[int(span.context[1])] for span in spans]
        chance = [p if span.ids[0] == 2 else 1 - p for p, span in zip(yes, spans, strict=True)]
        return [Scores(np.log([p])) for p in chance]


def voters(group: str, texts: str, right: str, **changes: Any) -> list[Row]:
    return [
        Row(episode([1, END], group=group, sample=i, reward=float(text == right), **{"text": text, **changes}))
        for i, text in enumerate(texts)
    ]


def test_how_often_votes_are_right_by_hand() -> None:
    """The chances of a, b and c are 0.7, 0.4 and 0.1. `v` and `y` elect b by every vote, which is wrong and right. `x`
    elects b by number and by 2 * 0.4, and rightly a by the largest chance; `z` its earlier b by number, else a. `n`
    elects nothing, for its answer was cut. Of seven pairs of a right and a wrong answer, the two of `v` are lost.
    """
    rows = voters("v", "bbc", "c") + voters("x", "bba", "a") + voters("y", "bbc", "b") + voters("z", "ba", "a")
    rows += voters("n", "a", "a", finish="length")
    apart = voters("other", "a", "a", role="critic")
    apart += [row.mark(tag=VERDICT) for row in voters("lesson", "a", "a")]
    apart.append(Row(episode([1, END], group="lost", reward=None, text="a")))
    engine: Any = Sure()
    models = Models({"policy": engine}, {"policy": "policy"})
    found, stats = vote_by_verdicts([*rows, *apart], models=models, codec=Letters(), role="policy")
    assert found == [*rows, *apart]
    wanted = {"majority": 1 / 5, "weighted": 2 / 5, "best": 3 / 5, "auroc": 5 / 7}
    assert stats == pytest.approx({f"verdict/{name}": value for name, value in wanted.items()})
    assert vote_by_verdicts(apart, models=models, codec=Letters(), role="policy") == (apart, {})


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
@pytest.mark.learning
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
    shown("rise", accuracy[-9:].mean() - accuracy[:9].mean(), above=0.15)
    later = [stats for stats in notes.stats[12:] if "verdict/auroc" in stats]
    shown("AUROC of the verdicts", np.mean([stats["verdict/auroc"] for stats in later]), above=0.65)
    assert all(0 <= stats["verdict/weighted"] <= 1 for stats in later)  # votes so weighted win in 17 of 20 seeds


def test_three_steps_of_training(tmp_path: Path) -> None:
    for record in small_run("rl-v", tmp_path, reward=variety).metrics():
        assert np.isfinite(record["policy/grad_norm"]) and 0 <= record["verdict/weighted"] <= 1
