"""Two advantages in one, classes that weigh alike, and runs in which generator and verifier learn."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import judged
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import NAME, POOL, Signs, answer, beginner, judgement, taught
from learning_draws import shown
from tiny import recipe_of, require_resumable, run

from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.judges.rl_tango.classes import by_class, count_classes
from assay.methods.judges.rl_tango.credit import OutcomeAndSteps, outcome_and_steps, share_of_steps, steps_in
from assay.methods.judges.rl_tango.marks import MarkedBy
from assay.part import bind, name_of
from assay.recipe import Recipe, Stage
from assay.reward import Outcome
from assay.run.own_rewards import scored_by
from assay.types import Episode, Reward, Row


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch)


def row(text: str, sample: int, reward: float, *steps: float, group: str = "0:0") -> Row:
    """An answer whose steps end at tokens 0, 2, ..."""
    at = np.arange(len(steps), dtype=np.int32) * 2
    marks = Reward("marked-by", float(sum(steps)), "span", np.array(steps), at)
    one = answer(text, sample=sample, group=group, rewards=(Reward("outcome", reward), marks))
    return Row(one, process=one.dense.astype(np.float32))  # type: ignore[union-attr]


def advantages(
    rows: Sequence[Row], *, step: int = 0, since: int = 0, until: int = 10, **values: float
) -> list[list[float]]:
    part = bind(OutcomeAndSteps(**values), since=since, until=until)  # type: ignore[arg-type]
    return [found.advantage.tolist() for found in part(rows, memory=Memory(0, step=step))]


def test_both_advantages_by_hand() -> None:
    """Rewards 1 and 0: mean 1/2, std 1/sqrt(2), so that A_out = +-0.7071. Steps .5, -.5 and .5, .5: mean 1/4,
    deviations 1/4, -3/4, 1/4, 1/4 and std 1/2, so that r~ = .5, -1.5, .5, .5; sums to the end -1, -1.5 and 1, .5.
    """
    rows = [row("a,b#b", 0, 1.0, 0.5, -0.5), row("a,b#a", 1, 0.0, 0.5, 0.5)]
    out = 0.5 / np.sqrt(0.5)
    first, second = advantages(rows, start=0.5, end=0.05, epsilon=0.0)
    np.testing.assert_allclose(first, 0.5 * out + 0.5 * np.array([-1, -1.5, -1.5, 0, 0, 0]), rtol=1e-12)
    np.testing.assert_allclose(second, -0.5 * out + 0.5 * np.array([1, 0.5, 0.5, 0, 0, 0]), rtol=1e-12)
    # with 1/2 added to the stds they are 0.7071 + 1/2 and 1, so that r~ = 1/4, -3/4, 1/4, 1/4
    first, _ = advantages(rows, start=0.5, end=0.05, epsilon=0.5)
    out = 0.5 / (np.sqrt(0.5) + 0.5)
    np.testing.assert_allclose(first, 0.5 * out + 0.5 * np.array([-0.5, -0.75, -0.75, 0, 0, 0]), rtol=1e-12)


def test_an_answer_without_a_readable_judgement_has_its_outcome_alone() -> None:
    """Three answers, rewards 1, 0, 0: mean 1/3, std 1/sqrt(3). The third has no judgement, so that the steps are those
    of `test_both_advantages_by_hand`, with the same mean and std, and it gets (1 - alpha) A_out at each token.
    """
    judged_rows = [row("a,b#b", 0, 1.0, 0.5, -0.5), row("a,b#a", 1, 0.0, 0.5, 0.5)]
    third = answer("a,b#a", sample=2)
    (marks,) = bind(MarkedBy(), codec=Signs())([third], everyone=[third, judgement(third, "+#1")])
    assert marks.unread
    bare = Row(dataclasses.replace(third, rewards=(Reward("outcome", 0.0), marks)))
    assert bare.reward == 0.0 and bare.episode.dense is None
    found = advantages([*judged_rows, bare], start=0.5, end=0.05, epsilon=0.0)
    scale = np.sqrt(1 / 3)
    np.testing.assert_allclose(found[0], 0.5 * (2 / 3) / scale + 0.5 * np.array([-1, -1.5, -1.5, 0, 0, 0]), rtol=1e-12)
    np.testing.assert_allclose(found[1], -0.5 / 3 / scale + 0.5 * np.array([1, 0.5, 0.5, 0, 0, 0]), rtol=1e-12)
    np.testing.assert_allclose(found[2], np.full(6, -0.5 / 3 / scale), rtol=1e-12)


def test_groups_are_normalised_apart() -> None:
    rows = [row("a,b#b", 0, 1.0, 0.5, -0.5), row("a,b#a", 1, 0.0, 0.5, 0.5)]
    others = [row("a,b#b", 0, 4.0, 0.5, -1.5, group="0:1"), row("a,b#a", 1, 2.0, 0.5, 0.5, group="0:1")]
    found = advantages([rows[0], *others, rows[1]], epsilon=0.0)
    np.testing.assert_allclose(found[::3], advantages(rows, epsilon=0.0), rtol=1e-12)
    np.testing.assert_allclose(found[1:3], advantages(others, epsilon=0.0), rtol=1e-12)


def test_the_steps_are_those_of_rewards_of_spans_that_have_values() -> None:
    one = row("a,b#b", 0, 1.0, 0.5, -0.5).episode
    more = (Reward("turns", 5.0, "turn", np.array([5.0]), np.array([1], np.int32)), Reward("nothing", 0.0, "span"))
    values, at = steps_in(Row(dataclasses.replace(one, rewards=(*one.rewards, *more))))
    assert values.tolist() == [0.5, -0.5] and at.tolist() == [0, 2]


def test_the_share_of_steps_falls_exponentially() -> None:
    assert [share_of_steps(0.5, 0.05, p) for p in (0.0, 0.5, 1.0, 2.0)] == pytest.approx(
        [0.5, 0.05**0.5 * 0.5**0.5, 0.05, 0.05]
    )
    assert share_of_steps(0.0, 0.0, 0.5) == 0.0
    rows = [row("b", 0, 1.0), row("a", 1, 0.0)]
    assert advantages(rows, step=10, start=0.5, end=0.05, epsilon=0.0)[0][0] == pytest.approx(0.95 * 0.5 / np.sqrt(0.5))
    half = (0.5 * 0.05) ** 0.5  # of a stage from step 20 to 30
    found = advantages(rows, step=25, since=20, until=30, start=0.5, end=0.05, epsilon=0.0)
    assert found[0][0] == pytest.approx((1 - half) * 0.5 / np.sqrt(0.5))
    refused = [OutcomeAndSteps(start=0.5, end=0.0), OutcomeAndSteps(start=2.0), OutcomeAndSteps(start=0.0)]
    assert all(part.refusal() for part in refused) and OutcomeAndSteps(start=0.0, end=0.0).refusal() is None


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([-0.5, 0.5])), min_size=2, max_size=6))
def test_equal_rewards_teach_nothing_and_a_constant_changes_nothing(drawn: list[tuple[float, float]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        judged.register(patch)
        rows = [row("a,b#b", i, reward, mark, 0.5) for i, (reward, mark) in enumerate(drawn)]
        found = advantages(rows, epsilon=0.0)
        if len({reward for reward, _ in drawn}) == 1 and {mark for _, mark in drawn} == {0.5}:
            assert not np.any(found)
        moved = [row("a,b#b", i, reward + 3, mark, 0.5) for i, (reward, mark) in enumerate(drawn)]
        np.testing.assert_allclose(advantages(moved, epsilon=0.0), found, atol=1e-9)
        # without steps it is the advantage of the outcome alone
        plain = outcome_and_steps(rows, Memory(0), since=0, until=1, start=0.0, end=0.0, ddof=1, epsilon=1e-6)
        assert all(len(set(one.advantage.tolist())) == 1 for one in plain)  # pyright: ignore[reportOptionalMemberAccess, reportOptionalSubscript]


def verdicts(rights: int, wrongs: int) -> list[Row]:
    answers = [answer("b" if i < rights else "a", sample=i) for i in range(rights + wrongs)]
    said = [judgement(one, "1") for one in answers]
    made = [dataclasses.replace(one, rewards=(Reward("outcome", float(one.right)),)) for one in said]
    return [Row(one, advantage=np.ones(len(one))) for one in made]


def test_classes_weigh_by_the_root_of_their_counts() -> None:
    """1 right answer and 4 wrong ones: p = 1/5, c = 1 / (sqrt .2 + sqrt .8) = 0.745356, s+ = 1.6667, s- = 0.83333."""
    rows = verdicts(1, 4)
    found = [one.advantage[0] for one in by_class(rows, Memory(0), keep=0.9)]  # pyright: ignore[reportOptionalMemberAccess, reportOptionalSubscript]
    assert found == pytest.approx([5 / 3, *[5 / 6] * 4])
    assert np.mean(found) == pytest.approx(1.0)
    memory = count_classes(Memory(0), rows=rows, keep=0.9, place="classes")
    assert memory.store("classes") == {"share": 0.2}
    aside = [*rows, verdicts(1, 0)[0].mark(in_group=False)]
    assert count_classes(Memory(0), rows=aside, keep=0.9, place="classes").store("classes") == {"share": 0.2}
    plain = [Row(answer("b"), advantage=np.ones(2)), Row(answer("a", sample=1), advantage=np.ones(2))]
    assert by_class(plain, Memory(0), keep=0.9) == plain, "nothing was judged yet"
    again = count_classes(memory, rows=verdicts(1, 1), keep=0.9, place="classes")
    assert again.store("classes")["share"] == pytest.approx(0.9 * 0.2 + 0.1 * 0.5)
    share = 0.9 * 0.2 + 0.1 * 0.5
    total = share**0.5 + (1 - share) ** 0.5
    found = [one.advantage[0] for one in by_class(verdicts(1, 1), memory, keep=0.9, place="classes")]  # pyright: ignore[reportOptionalMemberAccess, reportOptionalSubscript]
    assert found == pytest.approx([1 / (share**0.5 * total), 1 / ((1 - share) ** 0.5 * total)])


@given(st.integers(0, 6), st.integers(0, 6))
def test_weights_of_classes_are_one_on_average(rights: int, wrongs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        judged.register(patch)
        rows = verdicts(rights, wrongs)
        found = [one.advantage[0] for one in by_class(rows, Memory(0), keep=0.9)]  # pyright: ignore[reportOptionalMemberAccess, reportOptionalSubscript]
        assert np.mean(found or [1.0]) == pytest.approx(1.0)
        plain = [Row(answer("b"), advantage=np.ones(2))]
        assert by_class([*rows, *plain], Memory(0), keep=0.9)[-1].advantage.tolist() == [1.0, 1.0]  # pyright: ignore[reportOptionalMemberAccess, reportOptionalSubscript]


def small(**changes: object) -> Recipe:
    values = {"num_prompts": 2, "group_size": 4, "num_steps": 6, "warmup_steps": 0, "learning_rate": 0.01, **changes}
    return recipe_of("rl-tango", max_new=9, **values)


def test_the_verifier_learns_alone_and_then_in_every_third_step() -> None:
    notes, _ = run(small(), beginner(), pool=POOL, codec=Signs())
    trained = [{batch.role for batch in step} for step in notes.batches]
    updated = [{name.split("/")[0] for name in stats if name.endswith("/grad_norm")} for stats in notes.stats]
    assert trained[0] == {"verifier"} and all(roles == {"policy", "verifier"} for roles in trained[1:])
    assert ["verifier" in one for one in updated] == [True, False, True, False, False, True]


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(num_steps=4), beginner, after=2, pool=POOL, codec=Signs())


@pytest.mark.slow
@pytest.mark.learning
def test_the_verifier_learns_verdicts_from_outcomes() -> None:
    """Right and wrong answers are told apart, as the mean of both shares says. Marks are not rewarded here."""
    recipe = small(num_prompts=8, group_size=8, num_steps=24, learning_rate=0.002)
    warm = recipe.stages[0].mechanism
    assert warm is not None
    rule = dataclasses.replace(warm.rules[0], reward=(Outcome(),))
    warm = dataclasses.replace(warm, rules=(rule,))
    recipe = dataclasses.replace(recipe, stages=(Stage("format", mechanism=warm),))

    def balanced(step: Sequence[Episode]) -> float:
        said = [e for e in step if e.request.role == "verifier"]
        shares = [[e.right for e in said if e.request.problem.spec["score"] == score] for score in (0, 1)]
        return float(np.mean([np.mean(share) for share in shares if share]))

    start, right = taught(f"judge:{NAME}", f"{NAME}=0.06", num_steps=60), []
    for flipped in (False, True):
        engine = beginner()
        engine.load(start.state())
        notes, _ = run(recipe, engine, pool=POOL, codec=Signs(), flipped=flipped)
        right.append(np.mean([balanced(step) for step in notes.episodes[-8:]]))
    shown("balanced verdicts, less those with the sign turned", right[0] - right[1], above=0.25)


def test_a_function_of_the_user_alone_leaves_the_verifier_its_marks() -> None:
    rules = scored_by(RECIPES["rl-tango"], ["/a/my.py:f"], only=True).mechanism.rules
    assert [name_of(part) for rule in rules for part in rule.reward] == ["scored", "well-marked"]
