"""RLMEC: edits and losses by hand, what is shown and asked, and a run in which both models learn."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import judged
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, POOL, Signs, answer, asked, beginner
from tiny import Table, models_for, policy, recipe_of, require_resumable, run, segment, update
from worded import grown

from assay.credit import pack
from assay.engine.interface import Scores, Span
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.shaping.rlmec.edits import REWRITTEN, WeighEdits, distance, edited
from assay.methods.shaping.rlmec.rewriter import AskRewrites, ShowRewrites, to_rewrite
from assay.methods.shaping.rlmec.tokens import RewriterTokens, process_alone, surrogate, worth
from assay.part import bind
from assay.prompt import Prompt
from assay.recipe import Recipe
from assay.types import Episode, Origin, Reward, Row, Segment

TEXTS = st.lists(st.integers(1, 3), max_size=6)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def ids(text: Sequence[int]) -> np.ndarray:
    return np.array(text, np.int32)


@functools.cache
def fewest(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Levenshtein's distance by its recursion."""
    if not one or not other:
        return len(one) + len(other)
    swap = fewest(one[1:], other[1:]) + (one[0] != other[0])
    return min(swap, 1 + fewest(one[1:], other), 1 + fewest(one, other[1:]))


@given(TEXTS, TEXTS)
def test_the_distance_is_that_of_the_recursion_and_edits_are_fewest(one: list[int], other: list[int]) -> None:
    wanted, found = fewest(tuple(one), tuple(other)), edited(ids(one), ids(other))
    assert distance(ids(one), ids(other)) == wanted
    kept = [token for token, changed in zip(other, found, strict=True) if not changed]
    rest = iter(one)
    assert all(token in rest for token in kept), "what is kept stands in the first text, in this order"
    assert max(len(one) - len(kept), found.sum()) <= wanted, "of one shortest sequence of edits"
    assert not edited(ids(one), ids(one)).any()


def test_edits_by_hand() -> None:
    """An insertion at the start, a substitution, and a deletion, which marks no token."""
    assert edited(ids([1, 2, 3]), ids([9, 1, 2, 3])).tolist() == [True, False, False, False]
    assert edited(ids([1, 2, 3]), ids([1, 9, 3])).tolist() == [False, True, False]
    assert edited(ids([1, 2, 3]), ids([1, 3])).tolist() == [False, False]
    assert edited(ids([]), ids([4, 5])).tolist() == [True, True]


def test_rewards_of_tokens_and_the_weight_of_the_ratio_by_hand() -> None:
    p = np.array([0.0, 0.3, 0.45, 0.5, 0.8, 1.0])
    assert worth(p, right=True, below=0.1) == pytest.approx([0, 0, 0, 0, 0.3, 0.5])
    assert worth(p, right=False, below=0.1) == pytest.approx([-0.1, -0.1, -0.05, 0, 0, 0])
    ratio = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    for sign, wanted in ((1.0, [0.5, 1.0, 1.3]), (0.0, [0.7, 1.0, 2.0]), (-1.0, [0.7, 1.0, 2.0])):
        advantage = torch.full((3,), sign, dtype=torch.float64)
        gate = surrogate(ratio, advantage, low=0.3, high=0.3)
        assert gate.tolist() == pytest.approx(wanted)
        both = torch.stack([ratio * advantage, ratio.clamp(0.7, 1.3) * advantage])
        assert torch.equal(gate * advantage, both.min(0).values)


def shown(text: str, parent: Episode) -> Episode:
    """A text that is shown to the policy in place of an answer."""
    given = np.append(Signs().encode(text), 0).astype(np.int32)
    request = dataclasses.replace(
        parent.request, tag=REWRITTEN, parent=parent.request.id, round=2, group=f"{parent.request.group}/{REWRITTEN}"
    )
    piece = Segment(given, np.full(len(given), Origin.INJECTED, np.int8))
    return dataclasses.replace(parent, request=request, segments=(piece,), text=text)


def test_tokens_without_a_reward_are_left_out_beside_those_that_were_before() -> None:
    rewards = np.array([0.1, 0.0, 0.2, 0.0])
    rows = [Row(answer("b#a"), process=rewards), Row(answer("b#a"), process=rewards, keep=np.array([1, 1, 0, 0], bool))]
    assert [row.keep.tolist() for row in process_alone(rows) if row.keep is not None] == [
        [True, False, True, False],
        [True, False, False, False],
    ]


def test_both_losses_by_hand() -> None:
    """A wrong answer b#a whose tokens have r = 0, -0.1, -0.05, 0 and ratios e^-1, 2, 1, 1: two tokens have a reward, so
    that each weighs 1/2. Its rewrite a#b keeps # and the end: weights 1, 1/2, 1, 1/2, each divided by four tokens.
    """
    one = answer("b#a", rewards=(Reward("outcome", 0.0),))
    tokens = one.stream("ids").tolist()
    one = dataclasses.replace(one, segments=(segment(tokens, mu=np.full(4, -1.0, np.float32)),))
    rows = [Row(one, process=np.array([0.0, -0.1, -0.05, 0.0], np.float32)), Row(shown("a#b", one))]
    rows = bind(WeighEdits(same=0.5))(rows)
    assert rows[0] is not rows[1] and not rows[1].in_denominator and rows[1].in_loss
    rows = [row.mark(old=np.full(4, -1.0, np.float32)) for row in (*process_alone(rows[:1]), rows[1])]
    names = [row.episode.request.id for row in rows]
    table = Table({names[0]: [-2.0, -1.0 + np.log(2), -1.0, -1.0], names[1]: [-1.0] * 4})
    goal, scale = RECIPES["rlmec"].mechanism.objective, recipe_of("rlmec", num_minibatches=1).scale
    update(table, pack(rows, injected={"policy"}), goal, scale)
    assert table.coefficients[names[0]] == pytest.approx([0.0, 0.1 * 2 / 2, 0.05 / 2, 0.0], rel=1e-6)
    assert table.coefficients[names[1]] == pytest.approx([-1 / 4, -1 / 8, -1 / 4, -1 / 8], rel=1e-6)


def test_a_rewritten_answer_without_the_answer_as_it_was_is_left_out() -> None:
    """`take-turns` may give one of the two back in a later step than the other."""
    one = answer("b#a", rewards=(Reward("outcome", 0.0),))
    alone, paired = (
        bind(WeighEdits(same=0.5))(rows)[-1] for rows in ([Row(shown("a#b", one))], [Row(one), Row(shown("a#b", one))])
    )
    assert not alone.in_loss and not alone.term_weights and not alone.in_denominator
    assert paired.in_loss and len(paired.term_weights["likelihood"]) == 4


def test_the_nearest_right_text_is_shown_and_right_answers_stay() -> None:
    """The letters are ab, the solution is a,b#b. To a,a#a it takes two edits, and to b#b from the group four."""
    wrong, right, other = answer("a,a#a"), answer("b#b", sample=1), answer("a,b#b", sample=2)
    part = bind(ShowRewrites(most=0.5), codec=Signs())
    first, second = part([wrong, right, other], memory=Memory(0))
    assert Signs().decode(first.prefix[0].ids.tolist()) == "a,b#b." and first.parent == wrong.request.id
    assert first.max_new == 0 and first.role == "rewriter" and first.hinted
    kept = {right.request.id: "b#b.", other.request.id: "a,b#b."}
    assert Signs().decode(second.prefix[0].ids.tolist()) == kept[second.parent]
    assert bind(ShowRewrites(most=0.3), codec=Signs())([wrong, right], memory=Memory(0)) == []
    assert len(bind(ShowRewrites(most=0.4), codec=Signs())([wrong, right], memory=Memory(0))) == 2, "2 of 5 tokens"
    done = dataclasses.replace(wrong, request=first)
    assert part([done, wrong, right, other], memory=Memory(0)) == [], "once"


def test_the_nearest_text_is_not_the_first_one_and_there_may_be_none() -> None:
    """b#a takes one edit to b#b from the group, and three to the solution a,b#b, whose letters come first."""
    part = bind(ShowRewrites(most=0.5), codec=Signs())
    first, _ = part([answer("b#a"), answer("b#b", sample=1)], memory=Memory(0))
    assert Signs().decode(first.prefix[0].ids.tolist()) == "b#b."
    unsolved = answer("b#a", dataclasses.replace(asked(), solution=None))
    assert part([unsolved], memory=Memory(0)) == []


def test_each_step_draws_its_own_right_answers() -> None:
    rows = [answer("a,a#a"), answer("b#b", sample=1), answer("a,b#b", sample=2)]
    part = bind(ShowRewrites(most=0.5), codec=Signs())
    drawn = {part(rows, memory=Memory(0, step=step))[1].parent for step in range(20)}
    assert drawn == {rows[1].request.id, rows[2].request.id}


def test_right_rewrites_and_right_answers_are_shown_to_the_policy() -> None:
    wrong, lost, right = answer("a,a#a"), answer("a#a", sample=1), answer("b#b", sample=2)
    part = bind(AskRewrites(), codec=Signs())
    made = part([wrong, lost, right])
    assert [r.parent for r in made] == [wrong.request.id, lost.request.id]
    context = Signs().decode(made[0].context.tolist())
    assert (
        context == Signs().decode(Signs().render(to_rewrite(Prompt.of(asked()), asked(), "a,a#a").told).tolist())
        and "[a,b#b] [a,a#a]" in context
    )
    texts = ("a,b#b", "b#a")
    written = [
        dataclasses.replace(answer(text, role="rewriter"), request=request)
        for text, request in zip(texts, made, strict=True)
    ]
    episodes = [wrong, lost, right, *written]
    first, second = part(episodes)
    assert [Signs().decode(r.prefix[0].ids.tolist()) for r in (first, second)] == ["a,b#b.", "b#b."]
    assert (first.tag, first.parent, first.role, first.max_new) == (REWRITTEN, wrong.request.id, "policy", 0)
    assert np.array_equal(first.context, wrong.request.context) and first.helped
    assert [r.round for r in (made[0], first, second)] == [1, 2, 2], "one round after the other"
    done = [dataclasses.replace(wrong, request=first), dataclasses.replace(right, request=second)]
    assert part([*episodes, *done]) == []


def test_what_another_role_writes_of_a_wrong_answer_is_no_rewrite() -> None:
    wrong = answer("a,a#a")
    written = answer("a#a", role="rewriter", parent=wrong.request.id)
    other = answer("b#b", role="judge", parent=wrong.request.id)
    assert bind(AskRewrites(), codec=Signs())([wrong, written, other]) == []


def test_a_question_with_an_answer_is_longer_by_hand() -> None:
    """`E ab [a,b#b] [] ` in place of `ab `, where E is no sign: 15 - 3 tokens, and those of an answer."""
    for part in (ShowRewrites(), AskRewrites()):
        assert grown(part, asked(), Signs(), 10) == 12 + 10


def test_tokens_earn_what_the_rewriter_makes_of_them() -> None:
    models = models_for(recipe_of("rlmec"), policy("fp64", vocab=Signs.vocab, context=64))
    rows = [Row(answer("a,a#a")), Row(answer("b#b", sample=1)), Row(shown("a,b#b", answer("a,a#a")))]
    rows += [Row(answer("a#a", sample=2, role="rewriter")), Row(answer("b#a", sample=3), in_loss=False)]
    found, stats = bind(RewriterTokens(), codec=Signs())(rows, models=models)
    for row in found[:2]:
        context = Signs().render(to_rewrite(Prompt.of(asked()), asked(), row.episode.text).told)
        (scores,) = models["rewriter"].score([Span(context, row.episode.stream("ids"))])
        wanted = worth(np.exp(scores.logp), right=row.episode.right, below=0.1)
        assert row.process == pytest.approx(wanted, abs=1e-6)
    assert [row.process for row in found[2:]] == [None] * 3, "shown, of another role, and not trained"
    assert stats == {"rewriter/blamed": pytest.approx(float((found[0].process < 0).mean()))}


def test_the_share_that_is_blamed_by_hand() -> None:
    """Of four tokens of a wrong answer one has p < 1/2, of another's two: 1/4 and 2/4. A right one is not counted."""
    kept = [[0.3, 0.9, 0.9, 0.9], [0.3, 0.9, 0.2, 0.9], [0.3] * 4]
    engine = SimpleNamespace(score=lambda spans: [Scores(np.log(p)) for p in kept])
    models: Any = SimpleNamespace(play=lambda role: engine)
    rows = [Row(answer(text, sample=i)) for i, text in enumerate(("b#a", "a#a", "b#b"))]
    _, stats = bind(RewriterTokens(), codec=Signs())(rows, models=models)
    assert stats == {"rewriter/blamed": pytest.approx(3 / 8)}


def test_a_rewriter_that_would_ask_itself_is_refused() -> None:
    assert "must differ" in str(ShowRewrites(role="policy").refusal())
    assert "0 or more" in str(ShowRewrites(most=-0.01).refusal()) and ShowRewrites(most=0.0).refusal() is None
    assert "its own rewrites" in str(AskRewrites(role="policy").refusal())
    assert ShowRewrites().refusal() is None and AskRewrites().refusal() is None


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 4, "group_size": 4, "num_steps": 6, "warmup_steps": 0, "learning_rate": 0.004, **changes}
    return recipe_of("rlmec", max_new=8, **values)


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_prompts=2, num_steps=4), beginner, after=3, pool=POOL, codec=Signs())


@pytest.mark.turns(3)
@pytest.mark.slow
def test_the_rewriter_learns_and_then_the_policy() -> None:
    """What the frozen base writes does not change; the policy at the end is right more often than the base."""
    start = judged.taught(f"judge:{NAME}", f"{NAME}=0.06", num_steps=60)
    before = solved(start)
    notes, _ = run(small(num_prompts=8, group_size=8, num_steps=60), start, pool=POOL, codec=Signs())
    rewrites = [[e.right for e in step if e.request.role == "rewriter"] for step in notes.episodes[24:]]
    assert np.mean([np.mean(some) for some in rewrites if some]) > 0.4, "wrong answers that are right once rewritten"
    assert solved(start) > before + 0.15


def solved(engine: LocalEngine) -> float:
    """How often the policy is right, by its samples."""
    values = {"num_prompts": 16, "group_size": 8, "num_steps": 1, "learning_rate": 1e-9}
    notes, _ = run(recipe_of("grpo", max_new=8, **values), engine, pool=POOL, codec=Signs())
    return float(np.mean([e.right for e in notes.episodes[0]]))
