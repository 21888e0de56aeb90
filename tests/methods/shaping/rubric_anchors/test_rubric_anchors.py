"""Anchors by hand and their laws, tiers and guards of a judge, the marks of a role, and both stages of a run."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import judged
import numpy as np
import pytest
from data_files import jsonl
from fake_judge import Act, blocks, endpoint, serving
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, POOL, RULED, Signs, answer, asked, beginner, judgement, taught
from learning_draws import shown
from tiny import END, episode, recipe_of, require_resumable, run, segment

from assay.engine.interface import Done, Generation
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.shaping.rubric_anchors.free_of import FreeOf
from assay.methods.shaping.rubric_anchors.rubric_by import RubricBy
from assay.part import Rewarding, bind
from assay.recipe import Recipe
from assay.reward import Anchors, JudgedByRubric, Veto
from assay.reward.anchors import anchored
from assay.reward.rubrics import Criterion, of_vector, rubric_of
from assay.rng import Key
from assay.run.open_rows import require_rewarded
from assay.source import Pool, Share
from assay.tasks.data.task import data
from assay.types import Episode, Problem, Request, Reward

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=6)
PROBLEM = Problem("data", "Write a line.", {}, "p", wording="natural")
TIERED = [
    {"text": "has a voice", "weight": 3, "tiers": ["none", "some", "its own"]},
    {"text": "is short", "weight": 1},
]


def expected(scores: list[float], weights: list[float], how: Anchors) -> float:
    """The formula written anew, over all pairs."""
    g = [min(r, how.above) + how.slope * math.log(1 + max(r - how.above, 0)) for r in scores]
    one = how.above + how.slope * math.log(2 - how.above)
    s = sum(w * x for w, x in zip(weights, g)) / sum(weights) / one
    pairs = list(itertools.combinations(range(len(g)), 2))
    total = sum(weights[k] * weights[l] for k, l in pairs)
    p = sum(weights[k] * weights[l] * g[k] * g[l] for k, l in pairs) / total / one**2 if total else s
    r = s + how.pairs * (p - s)
    return r + how.stretch * (r - how.high) ** 2 if r > how.high else r


@pytest.mark.parametrize(
    ("how", "value"),
    [
        (Anchors(), 0.7),  # (3 * 0.8 + 0.4) / 4
        (Anchors(pairs=0.5), 0.51),  # half of 0.7, and half of 0.8 * 0.4
        (Anchors(pairs=1.0), 0.32),
        (Anchors(pairs=-0.5), 0.89),  # 1.5 * 0.7 - 0.5 * 0.32
        (Anchors(above=0.5), 0.95),  # (3 * 0.5 + 0.4) / 4 / 0.5
        (Anchors(high=0.5, stretch=2.0), 0.78),  # 0.7 + 2 * 0.2^2
        (Anchors(above=0.5, slope=1.0), (3 * (0.5 + math.log(1.3)) + 0.4) / 4 / (0.5 + math.log(1.5))),
    ],
)
def test_anchors_by_hand(how: Anchors, value: float) -> None:
    assert anchored([0.8, 0.4], [3.0, 1.0], how) == pytest.approx(value)
    rubric = (Criterion("a", 3.0, veto=True), Criterion("b", 1.0))
    for least, vetoed in ((0.8, value), (0.81, 0.2)):
        found = of_vector("r", rubric, [0.8, 0.4], dataclasses.replace(how, least=least, vetoed=0.2))
        assert found.value == pytest.approx(vetoed)


@given(SCORES, st.data(), st.floats(0.1, 1), st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 3))
def test_the_formula_and_its_laws(
    scores: list[float], data: Any, above: float, slope: float, pairs: float, high: float, stretch: float
) -> None:
    """All ones are 1 and the stretch; weights have no unit; with weights alike and no antagonism nothing falls."""
    how = Anchors(above=above, slope=slope, pairs=pairs, high=high, stretch=stretch)
    weights = data.draw(st.lists(st.floats(0.1, 9), min_size=len(scores), max_size=len(scores)))
    value = anchored(scores, weights, how)
    assert value == pytest.approx(expected(scores, weights, how), abs=1e-9)
    assert anchored([1.0] * len(scores), weights, how) == pytest.approx(1 + stretch * (1 - high) ** 2)
    assert anchored(scores, [3 * w for w in weights], how) == pytest.approx(value, abs=1e-9)
    better = [min(1.0, score + 0.1) for score in scores]
    if pairs >= 0:
        assert anchored(better, weights, how) >= value - 1e-9
    assert anchored(scores, weights, how, veto=True) == min(value, how.vetoed)


@pytest.mark.parametrize(
    "how",
    [Anchors(above=0), Anchors(slope=2), Anchors(pairs=2), Anchors(stretch=-1), Anchors(high=2), Anchors(least=0)],
)
def test_anchors_that_make_no_reward_are_refused(how: Anchors) -> None:
    for part in (JudgedByRubric(anchors=how), RubricBy(anchors=how)):
        assert "must be" in (part.refusal() or "")
    assert "aggregation" in (JudgedByRubric(aggregation="implicit", guards=("x",)).refusal() or "")
    assert JudgedByRubric(anchors=Anchors(pairs=0.5)).refusal() is None


def written(text: str, spec: dict[str, Any]) -> Episode:
    base = episode([1])
    problem = dataclasses.replace(PROBLEM, spec=spec)
    return dataclasses.replace(base, request=dataclasses.replace(base.request, problem=problem), text=text)


def reward(part: Rewarding, one: Episode) -> Reward:
    (found,) = bind(part, num_steps=1, max_new=8)([one], everyone=[one], memory=Memory(0))
    assert found is not None
    return found


@pytest.mark.parametrize(("said", "value"), [([3, 2], 1.0), ([2, 2], 2.5 / 4), ([1, 2], 0.25), ([2, 1], 1.5 / 4)])
def test_tiers_are_numbered_from_the_worst(said: list[int], value: float) -> None:
    with serving([Act(text=f'{{"tiers": {said}}}')]) as server:
        found = reward(JudgedByRubric(endpoint(server)), written("A line.", {"rubric": TIERED}))
        assert found.value == pytest.approx(value)
        first, second = blocks(server.bodies[0])["criteria"].splitlines()
        assert first == "1. has a voice (1: none; 2: some; 3: its own)" and second == "2. is short (1: not met; 2: met)"


@pytest.mark.parametrize("said", ["[4, 1]", "[0, 1]", "[1]", "[true, 1]", "3", "[1, 3]"])
def test_a_tier_that_was_not_offered_is_no_grade(said: str) -> None:
    with serving([Act(text=f'{{"tiers": {said}}}')]) as server:
        found = reward(JudgedByRubric(endpoint(server, attempts=1)), written("A line.", {"rubric": TIERED}))
        assert found.invalid == "judge_garbage"


@pytest.mark.parametrize("tiers", ["good", ["one"], ["a", ""], ["a", 2], {"a": 1}])
def test_tiers_that_are_none_are_an_error_of_ours(tiers: Any) -> None:
    problem = dataclasses.replace(PROBLEM, spec={"rubric": [{"text": "a", "tiers": tiers}]})
    assert rubric_of(problem) is None


@pytest.mark.parametrize(("met", "value"), [([True, True, True], 1.0), ([True, False, True], 0.5), ([1, 1, 0], 0.1)])
def test_a_guard_earns_nothing_and_has_a_veto(met: list[bool], value: float) -> None:
    part = JudgedByRubric(guards=("does not praise itself",), anchors=Anchors(vetoed=0.1))
    with serving([Act(text=f'{{"met": {str([bool(m) for m in met]).lower()}}}')]) as server:
        part = dataclasses.replace(part, endpoint=endpoint(server))
        assert reward(part, written("A line.", {"rubric": ["one", "two"]})).value == pytest.approx(value)
        assert "3. does not praise itself" in blocks(server.bodies[0])["criteria"]


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch, RULED)


@pytest.mark.usefixtures("ruled")
def test_marks_of_a_role_by_hand() -> None:
    """Three judgements that can be read mark the rules 3 of 3 and 1 of 3 times; a fourth has too many marks."""
    one, bare = answer("ab", asked("ab", RULED)), answer("ba", asked("ab", RULED), sample=1)
    said = [judgement(one, text, sample=i) for i, text in enumerate(("++#2", "+-#1", "+-#1", "+++#2"))]
    part = bind(RubricBy(anchors=Anchors(pairs=1.0)))
    found, none = part([one, bare], everyone=[one, bare, *said])
    assert none is None and found.value == pytest.approx(1 / 3)
    assert [criterion.value for criterion in found.parts] == pytest.approx([1.0, 1 / 3])
    empty = answer("", asked("ab", RULED))
    for text in ("++#2", "?"):
        (nothing,) = part([empty], everyone=[empty, judgement(empty, text)])
        assert nothing.value == 0.0, "an answer that says nothing needs no judgement"
    guarded = bind(Veto(of=RubricBy(), critical=(FreeOf(texts=("ab",)),)))
    (found, _) = guarded([one, bare], everyone=[one, bare, *said])
    assert found.value == 0.0


def test_texts_that_no_answer_may_contain() -> None:
    found = bind(FreeOf(texts=("aa", "bb"), right=0.5, wrong=-1.0))(
        [written(text, {}) for text in ("abab", "abba", "")]
    )
    assert [one.value for one in found] == [0.5, -1.0, 0.5]


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 8, "group_size": 4, "num_steps": 8, "warmup_steps": 0, "learning_rate": 0.003, **changes}
    return recipe_of("rubric-anchors-role", max_new=6, **values)


@pytest.mark.usefixtures("ruled")
def test_the_judge_is_asked_in_the_second_stage_and_never_trains() -> None:
    notes, memory = run(small(), taught(f"judge:{NAME}", NAME, num_steps=20), pool=POOL, codec=Signs())
    roles = [{e.request.role for e in step} for step in notes.episodes]
    assert roles == [{"policy"}] * 4 + [{"policy", "judge"}] * 4 and memory.stage == 1
    assert all(row.role == "policy" for step in notes.rows for row in step if row.in_loss)


@pytest.mark.slow
@pytest.mark.learning
@pytest.mark.usefixtures("ruled")
def test_what_a_judge_that_knows_marks_highest_is_learnt() -> None:
    """No verdict rewards the policy: an answer that goes on behind the letters keeps both rules, and is wrong. (A judge
    that learnt to mark is soon deceived, as `EXPLOITS` tells.) With the sign turned the marks fall.
    """
    assert RULED.checker.rules is not None
    recipe = small(num_prompts=16, num_steps=32, learning_rate=0.004)
    last = dataclasses.replace(recipe.stages[1], share=1.0)
    recipe = dataclasses.replace(recipe, stages=(last,), roles={"policy": "policy", "judge": "reference"})
    start, kept = taught(NAME, num_steps=8), []
    for flipped in (False, True):
        engine, judge = beginner(), knowing(beginner())
        engine.load(start.state())
        notes, _ = run(recipe, engine, flipped=flipped, reference=judge, pool=POOL, codec=Signs())
        own = [e for step in notes.episodes[-8:] for e in step if e.request.role == "policy"]
        kept.append(float(np.mean([RULED.checker.rules(e.request.problem.spec, e.text) for e in own])))
    shown("rules kept in the last quarter", kept[0], above=0.65)
    shown("rules kept, less those with the sign turned", kept[0] - kept[1], above=0.1)


def knowing(engine: LocalEngine) -> LocalEngine:
    """An engine that writes of each answer the marks that the task itself gives it."""

    def generate(requests: Sequence[Request], key: Key, *, done: Done | None = None) -> list[Generation]:
        said = [request.problem.spec for request in requests]
        texts = [f"{spec['marks'][r.problem.wording]}#{spec['score']}" for r, spec in zip(requests, said, strict=True)]
        made = [Generation(segment([*Signs().encode(text).tolist(), END]), "stop") for text in texts]
        if done is not None:
            for place, one in enumerate(made):
                done(place, one)
        return made

    engine.generate = generate  # type: ignore[method-assign]
    return engine


@pytest.mark.slow
@pytest.mark.usefixtures("ruled")
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(
        small(num_steps=4, num_prompts=2), lambda: taught(NAME, num_steps=1), after=2, pool=POOL, codec=Signs()
    )


def test_the_second_stage_alone_asks_the_judge() -> None:
    first, second = RECIPES["rubric-anchors"].stages
    assert first.mechanism is not None and second.mechanism is None
    assert not any(isinstance(part, JudgedByRubric) for part in first.mechanism.reward)


def test_rows_that_the_first_stage_cannot_judge_are_told_with_what_leaves_it_out(tmp_path: Path) -> None:
    rows = [{"prompt": "a", "soft": ["kind"]}, {"prompt": "b"}, {"prompt": "c", "rules": [], "soft": None}]
    pool = Pool((Share(data(jsonl(tmp_path / "rows.jsonl", rows)).name),))
    (line,) = require_rewarded(RECIPES["rubric-anchors"], pool, scored=False)
    assert line.startswith("stage follow: nothing rewards answers to 3 of 3 rows") and "--stages.0.share 0" in line
