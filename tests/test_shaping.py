"""Advantages that are shaped: pass@k, signs alone, virtual answers, certainty, positions, several rewards."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import END, batch_of, episode, group_of, models_of, policy, recipe_of, register, require_resumable, segment

from assay.credit import Whiten
from assay.engine.interface import Span
from assay.errors import ConfigError, DataError
from assay.memory import Memory
from assay.methods.gdpo.credit import PerReward
from assay.methods.maxrl.credit import MeanNormalised
from assay.methods.ngrpo.unsolved import UnsolvedGroups
from assay.methods.ngrpo.virtual import VirtualBest
from assay.methods.otb.credit import TokenBaseline
from assay.methods.otb.energy import ENERGY, token_energy
from assay.methods.passk.credit import PassK
from assay.methods.psr.one_sided import OneSided
from assay.methods.psr.signed import Signed
from assay.methods.rl_zvp.credit import ByCertainty
from assay.part import Part, bind
from assay.types import Origin, Reward, Row, Verdict

VERDICTS = st.lists(st.booleans(), min_size=2, max_size=9)


def credited(part: Part, rows: Sequence[Row], **offered: object) -> list[float]:
    """The advantage of each row, which is the same for all of its tokens."""
    found = bind(part, **{"group_size": 99, **offered})(rows, memory=Memory(0))
    for row in found:
        assert row.advantage is not None and len(row.advantage) == len(row.episode) and np.ptp(row.advantage) == 0
    return [float(row.advantage[0]) for row in found]  # type: ignore[index]


# pass@k


def best_of_subsets(right: Sequence[bool], k: int, epsilon: float) -> list[float]:
    """Over all sets of k answers: the mean, over those with answer i, of (best - mean of best) / deviation of best."""
    sets = list(itertools.combinations(range(len(right)), k))
    best = [float(any(right[i] for i in chosen)) for chosen in sets]
    mean = sum(best) / len(best)
    deviation = math.sqrt(sum((b - mean) ** 2 for b in best) / len(best))
    value = [(b - mean) / (deviation + epsilon) for b in best]
    mine = [[v for v, chosen in zip(value, sets) if i in chosen] for i in range(len(right))]
    return [sum(values) / len(values) for values in mine]


@settings(max_examples=60, deadline=None)
@given(right=VERDICTS, data=st.data())
def test_the_analytic_advantage_is_the_mean_over_all_sets(right: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(right)))
    found = credited(PassK(k=k, epsilon=1e-6), group_of([float(r) for r in right]))
    np.testing.assert_allclose(found, best_of_subsets(right, k, 1e-6), rtol=1e-9, atol=1e-12)
    assert abs(sum(found)) < 1e-9


def test_pass_at_four_by_hand() -> None:
    """6 of 8 wrong, k = 4: R = 1 - 15/70 = 11/14, s = sqrt(33)/14; right 3/sqrt 33, wrong (3 - 14 * 10/35)/sqrt 33."""
    found = credited(PassK(k=4, epsilon=0.0), group_of([1, 1, 0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(found, [3 / math.sqrt(33)] * 2 + [-1 / math.sqrt(33)] * 6, rtol=1e-12)
    solved = credited(PassK(k=4, epsilon=0.0), group_of([1, 1, 1, 1, 1, 0, 0, 0]))
    assert solved == [0.0] * 8  # any four hold a right one


def test_pass_at_one_is_group_relative() -> None:
    rewards = np.array([1.0, 0, 0, 1, 0])
    for kind in ("full", "analytic"):
        found = credited(PassK(k=1, kind=kind, epsilon=0.0), group_of(rewards.tolist()))  # type: ignore[arg-type]
        np.testing.assert_allclose(found, (rewards - 0.4) / math.sqrt(0.24), rtol=1e-12)


def test_full_sampling_by_hand() -> None:
    """Sets {1, 0}, {0, 0}, {0, 1} and a row left over: best 1, 0, 1 with mean 2/3 and deviation sqrt 2 / 3."""
    found = credited(PassK(k=2, kind="full", epsilon=0.0), group_of([1, 0, 0, 0, 0, 1, 1]))
    up, down = 1 / math.sqrt(2), -math.sqrt(2)
    np.testing.assert_allclose(found, [up, up, down, down, up, up, 0.0], rtol=1e-12)
    soft = credited(PassK(k=2, kind="full", epsilon=0.5), group_of([1, 0, 0, 0, 0, 1, 1]))
    up = 1 / 3 / (math.sqrt(2) / 3 + 0.5)
    np.testing.assert_allclose(soft, [up, up, -2 * up, -2 * up, up, up, 0.0], rtol=1e-12)


@pytest.mark.slow
def test_drawn_sets_come_to_about_k_times_the_analytic_value() -> None:
    """Each answer is in k of N sets on average; the mean over groups of 40 and over the answers of a kind."""
    right, k, draws = np.arange(40) < 8, 3, 100
    rows = [row for g in range(draws) for row in group_of(right.astype(float).tolist(), name=str(g))]
    part = PassK(k=k, kind="bootstrap", epsilon=0.0)
    found = np.array(credited(part, rows)).reshape(draws, -1)
    assert abs(found.sum(1)).max() < 1e-9  # the values of the sets add up to 0
    r = 1 - math.comb(32, 3) / math.comb(40, 3)
    up = k * (1 - r) / math.sqrt(r * (1 - r))
    assert found[:, right].mean() == pytest.approx(up, rel=0.05)
    assert found[:, ~right].mean() == pytest.approx(-8 / 32 * up, rel=0.05)
    assert credited(part, rows) == found.ravel().tolist()


@settings(max_examples=40, deadline=None)
@given(right=VERDICTS, seed=st.integers(0, 9), kind=st.sampled_from(["full", "bootstrap", "analytic"]))
def test_pass_k_is_finite_and_zero_where_nothing_differs(right: list[bool], seed: int, kind: str) -> None:
    found = credited(PassK(k=2, kind=kind), group_of([float(r) for r in right], name=str(seed)))  # type: ignore[arg-type]
    assert np.isfinite(found).all()
    if len(set(right)) == 1:
        assert found == [0.0] * len(right)


def test_more_answers_than_a_group_has_are_refused_and_a_shrunken_group_is_one_set() -> None:
    with pytest.raises(ConfigError, match="pass@9"):
        credited(PassK(k=9), group_of([1, 0]), group_size=8)
    with pytest.raises(ConfigError, match="half"):
        credited(PassK(k=1, kind="half"), group_of([1, 0]))  # type: ignore[arg-type]
    assert credited(PassK(k=4), group_of([1, 0])) == [0.0, 0.0]


# Signs


def test_signs_follow_the_verdict_not_the_reward() -> None:
    rows = [Row(episode([1, END], reward=r, right=right)) for r, right in [(0.2, True), (5.0, False), (-1.0, True)]]
    assert credited(Signed(right=0.1, wrong=-1.0), rows) == [0.1, -1.0, 0.1]


def test_one_side_leaves_the_denominator() -> None:
    rows = group_of([1, 0, None, 1])
    for keep, marks in (("right", [True, False, False, True]), ("wrong", [False, True, True, False])):
        found = bind(OneSided(keep=keep))(rows)  # type: ignore[arg-type]
        assert [(r.in_loss, r.in_group, r.in_denominator) for r in found] == [(m, m, m) for m in marks]
    with pytest.raises(ConfigError, match="both"):
        bind(OneSided(keep="both"))(rows)  # type: ignore[arg-type]


def test_psr_and_nsr_train_on_their_side_at_full_weight() -> None:
    rows = group_of([1, 0, 0, 1], lengths=[2, 3, 1, 4])
    for name, sign, counted in (("psr", 1.0, [2, 4]), ("nsr", -1.0, [3, 1])):
        recipe = recipe_of(name)
        kept = bind(recipe.mechanism.curate[0])(rows)
        batch = batch_of(recipe, kept)
        assert batch.lengths.tolist() == counted and batch.advantage.tolist() == [sign] * sum(counted)
        assert batch.counted.all()


# A virtual best answer


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=8), st.integers(1, 3), st.sampled_from([0, 1]))
def test_a_virtual_answer_is_one_more_of_the_group(rewards: list[float], count: int, ddof: int) -> None:
    found = credited(VirtualBest(best=1.0, count=count, ddof=ddof, epsilon=0.0), group_of(rewards))
    if min(rewards) == 1.0:
        assert found == [0.0] * len(rewards)
        return
    every = [*rewards, *[1.0] * count]
    mean = sum(every) / len(every)
    deviation = math.sqrt(sum((r - mean) ** 2 for r in every) / (len(every) - ddof))
    np.testing.assert_allclose(found, [(r - mean) / deviation for r in rewards], rtol=1e-9)
    assert sum(found) == pytest.approx(-count * (1.0 - mean) / deviation)  # the net push is down


@pytest.mark.parametrize("size", [1, 2, 8])
def test_groups_that_are_all_wrong_are_pushed_down(size: int) -> None:
    found = credited(VirtualBest(epsilon=0.0), group_of([0.0] * size))
    assert found == pytest.approx([-1 / math.sqrt(size + 1)] * size)


def test_a_reward_above_the_best_is_refused_and_solved_groups_leave() -> None:
    with pytest.raises(ConfigError, match=r"1\.5"):
        credited(VirtualBest(), group_of([1.5, 0.0]))
    rows = [*group_of([1, 1], name="a"), *group_of([0, 1], name="b"), *group_of([0, 0], name="c")]
    found = bind(UnsolvedGroups())(rows)
    assert [r.in_denominator for r in found] == [False] * 2 + [True] * 4


# Certainty


def uncertain(rewards: Sequence[float], entropies: Sequence[Sequence[float]], **changes: Any) -> list[Row]:
    answers = [segment([1] * len(h), entropy=np.array(h, np.float32)) for h in entropies]
    return [
        Row(episode([a], sample=i, reward=r, **changes)) for i, (a, r) in enumerate(zip(answers, rewards, strict=True))
    ]


def pushed(rows: Sequence[Row], **values: float) -> list[list[float]]:
    part = ByCertainty(**{"alpha": 0.1, "epsilon": 0.0, **values})  # type: ignore[arg-type]
    found = bind(part)(rows)
    return [row.advantage.tolist() for row in found]  # type: ignore[union-attr]


def test_solved_groups_reinforce_uncertain_tokens_and_failed_ones_punish_certain_tokens() -> None:
    entropies = [[0.5, 2.0, 0.0], [1.0]]
    solved = pushed(uncertain([1.0, 1.0], entropies))
    np.testing.assert_allclose(solved[0], [0.05, 0.2, 0.0], rtol=1e-6)
    np.testing.assert_allclose(solved[1], [0.1], rtol=1e-6)
    failed = pushed(uncertain([0.0, 0.0], entropies))
    np.testing.assert_allclose(failed[0], [-0.15, 0.0, -0.2], rtol=1e-6)
    assert failed[1] == [0.0]  # one token is its own most uncertain one
    assert pushed(uncertain([0.0, 0.0], entropies, finish="length")) == [[0.0] * 3, [0.0]]


def test_equal_rewards_of_right_and_wrong_answers_push_nothing() -> None:
    """A reward that verdicts do not decide: the group is neither solved nor failed."""
    rows = uncertain([0.5, 0.5], [[0.5, 2.0], [1.0]])
    rows[1] = dataclasses.replace(rows[1], episode=dataclasses.replace(rows[1].episode, verdict=Verdict.fail("wrong")))
    assert [row.episode.right for row in rows] == [True, False]
    assert pushed(rows) == [[0.0, 0.0], [0.0]]


def test_mixed_groups_are_group_relative_whatever_the_entropies() -> None:
    found = pushed(uncertain([1.0, 0.0], [[0.1, 9.0], [3.0]]))
    np.testing.assert_allclose(found[0], [1 / math.sqrt(2)] * 2)
    np.testing.assert_allclose(found[1], [-1 / math.sqrt(2)])


def test_tokens_of_others_have_no_entropy_and_a_policy_without_any_is_refused() -> None:
    reply = segment([2, 2], origin=Origin.ENV)
    sure, torn = (segment([1], entropy=np.array([h], np.float32)) for h in (0.5, 4.0))
    rows = [Row(episode([torn, reply, sure], reward=0.0))]
    assert pushed(rows)[0] == pytest.approx([0.0, 0.0, 0.0, -0.35])
    with pytest.raises(DataError, match="entropy"):
        pushed([Row(episode([segment([1], entropy=None)], reward=0.0))])


# Positions


def test_baselines_by_position_by_hand() -> None:
    """Energies 1, 1, 1 and 3, 1 with rewards 1 and 0: B_1 = 1/(1+3), B_2 = 2/(2+4), B_3 of the longer one alone = 1."""
    rows = [
        row.mark(constants={ENERGY: e})
        for row, e in zip(group_of([1, 0], lengths=[3, 2]), [np.ones(3), np.array([3.0, 1.0])])
    ]
    expected = {"own": 1.0, "zero": 0.0, "last": 1 / 3}
    for tail, last in expected.items():
        found = bind(TokenBaseline(tail=tail, epsilon=0.0))(rows)  # type: ignore[arg-type]
        np.testing.assert_allclose(found[0].advantage, [3 / 4, 2 / 3, 1 - last])
        np.testing.assert_allclose(found[1].advantage, [-1 / 4, -1 / 3])
    with pytest.raises(ConfigError, match="first"):
        bind(TokenBaseline(tail="first"))(rows)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 4)), min_size=2, max_size=6), st.integers(0, 9)
)
def test_baselines_by_position_against_plain_sums(spec: list[tuple[float, int]], seed: int) -> None:
    random = np.random.default_rng(seed)
    rows = group_of([r for r, _ in spec], lengths=[n for _, n in spec])
    rows = [row.mark(constants={ENERGY: random.uniform(0.1, 1.5, len(row.episode)).astype(np.float32)}) for row in rows]
    found = bind(TokenBaseline(epsilon=1e-8))(rows)
    for i, (reward, length) in enumerate(spec):
        for t in range(length):
            reach = [j for j, (_, n) in enumerate(spec) if n > t]
            weight = {j: float(sum(map(float, rows[j].constants[ENERGY][: t + 1]))) for j in reach}
            base = sum(weight[j] * spec[j][0] for j in reach) / (sum(weight.values()) + 1e-8)
            alike = len({r for r, _ in spec}) == 1
            assert found[i].advantage[t] == pytest.approx(0.0 if alike else reward - base, abs=1e-9)  # type: ignore[index]


def test_equal_energies_are_the_mean_of_those_that_reach_so_far_and_tools_are_passed_over() -> None:
    reply = segment([2, 2], origin=Origin.ENV)
    tools = Row(episode([segment([1]), reply, segment([1])], reward=1.0), constants={ENERGY: np.ones(4)})
    plain = Row(episode([1, 1, END], sample=1, reward=0.0), constants={ENERGY: np.ones(3)})
    found = bind(TokenBaseline(epsilon=0.0))([tools, plain])
    np.testing.assert_allclose(found[0].advantage, [0.5, 0, 0, 0.5])
    np.testing.assert_allclose(found[1].advantage, [-0.5, -0.5, 0.0])
    with pytest.raises(ConfigError, match="token-energy"):
        bind(TokenBaseline())(group_of([1, 0]) and [Row(r.episode) for r in group_of([1, 0])])


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
def test_energy_is_the_squared_norm_of_the_gradient_by_the_logits(temperature: float) -> None:
    """|onehot - p|^2 of the whole distribution, from log-probs of the token at two temperatures."""
    engine = policy("fp64")
    answer = episode([segment([1, 3, 0])], temperature=temperature, prompt="ab", reward=0.0)
    (row,), stats = token_energy([Row(answer)], models=models_of(engine))
    ids, expected = answer.stream("ids").astype(np.int32), []
    for t in range(3):
        tried = [np.append(ids[:t], np.int32(v)).astype(np.int32) for v in range(5)]
        scores = engine.score([Span(answer.request.context, one, temperature) for one in tried])
        p = np.exp([s.logp[t] for s in scores])
        assert p.sum() == pytest.approx(1.0)
        expected.append(((np.arange(5) == ids[t]) - p) @ ((np.arange(5) == ids[t]) - p))
    np.testing.assert_allclose(row.constants[ENERGY], expected, rtol=1e-5)
    assert stats["policy/energy"] == pytest.approx(np.mean(expected))


# Mean-normalised


@settings(max_examples=40, deadline=None)
@given(VERDICTS)
def test_maximum_likelihood_by_hand(right: list[bool]) -> None:
    """N/K - 1 for each of K right ones, -1 for the others; 0 where none or all are right."""
    found, solved = credited(MeanNormalised(), group_of([float(r) for r in right])), sum(right)
    mixed = 0 < solved < len(right)
    assert found == pytest.approx([(len(right) / solved - 1 if r else -1.0) if mixed else 0.0 for r in right])


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_its_mean_over_all_outcomes_is_the_truncated_gradient_of_log_p(p: float, size: int) -> None:
    """A coin with p = sigmoid(x): E (1/N) sum A_i d log pi_i / dx = p (1 - p) (1 - (1 - p)^(N - 1)) / p."""
    total = 0.0
    for outcome in itertools.product([0.0, 1.0], repeat=size):
        chance = math.prod(p if r else 1 - p for r in outcome)
        advantage = credited(MeanNormalised(), group_of(list(outcome)))
        total += chance * sum(a * (r - p) for a, r in zip(advantage, outcome, strict=True)) / size
    assert total == pytest.approx((1 - p) * (1 - (1 - p) ** (size - 1)), rel=1e-12)


def test_negative_rewards_are_refused() -> None:
    with pytest.raises(ConfigError, match="-1"):
        credited(MeanNormalised(), group_of([1.0, -1.0]))


# Several rewards


def paid(*parts: tuple[float | None, float | None], name: str = "g") -> list[Row]:
    """Rows with a correctness and a format reward; None where a part says nothing."""
    rows = []
    for i, values in enumerate(parts):
        named = [Reward(n, v) for n, v in zip(("outcome", "format"), values, strict=True) if v is not None]
        rows.append(Row(dataclasses.replace(episode([1, END], group=name, sample=i), rewards=tuple(named))))
    return rows


def test_what_grpo_puts_together_stays_apart() -> None:
    """Of two answers: one is better in one reward, or in both; the sums are normalised to the same, the parts not."""
    one, both = paid((0.0, 0.0), (1.0, 0.0)), paid((0.0, 0.0), (1.0, 1.0), name="h")
    half = 1 / math.sqrt(2)
    assert credited(PerReward(epsilon=0.0), one + both) == pytest.approx([-half, half, -2 * half, 2 * half])
    weighed = credited(PerReward(weights=(3.0, 0.5), epsilon=0.0), one + both)
    assert weighed == pytest.approx([-3 * half, 3 * half, -3.5 * half, 3.5 * half])
    scaled = [r.mark(episode=dataclasses.replace(r.episode, rewards=(Reward("outcome", 7 * r.reward),))) for r in one]  # type: ignore[operator]
    assert credited(PerReward(epsilon=0.0), scaled) == pytest.approx([-half, half])


def test_a_reward_that_does_not_apply_adds_nothing_and_weights_are_counted() -> None:
    rows = paid((1.0, None), (0.0, 2.0), (0.0, 4.0))
    third, half = math.sqrt(1 / 3), 1 / math.sqrt(2)
    found = credited(PerReward(epsilon=0.0), rows)
    assert found == pytest.approx([2 / 3 / third, -1 / 3 / third - half, -1 / 3 / third + half])
    with pytest.raises(ConfigError, match="outcome, format"):
        credited(PerReward(weights=(1.0,)), paid((1.0, 1.0), (0.0, 0.0)))


def test_whitening_over_answers_counts_each_once() -> None:
    pairs = zip(group_of([1, 0, 0], lengths=[1, 6, 2]), [3.0, 0.0, 0.0], strict=True)
    rows = [row.mark(advantage=np.full(len(row.episode), a)) for row, a in pairs]

    def first(over: str) -> list[float]:
        found = bind(Whiten(over=over, ddof=0, epsilon=0.0))(rows)  # type: ignore[arg-type]
        return [row.advantage[0] for row in found]

    assert first("rows") == pytest.approx([math.sqrt(2), -1 / math.sqrt(2), -1 / math.sqrt(2)])
    deviation = math.sqrt(1 - 1 / 9)  # of one 3 and eight 0
    assert first("tokens") == pytest.approx([(8 / 3) / deviation, -(1 / 3) / deviation, -(1 / 3) / deviation])
    with pytest.raises(ConfigError, match="groups"):
        first("groups")


# In the loop


@pytest.mark.slow
@pytest.mark.parametrize("name", ["passk", "otb", "rl-zvp"])
def test_a_stopped_run_goes_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    recipe = recipe_of(name, max_new=4, num_prompts=4, group_size=4, num_steps=4, learning_rate=0.02, num_minibatches=2)
    if name == "passk":
        recipe = dataclasses.replace(
            recipe, mechanism=dataclasses.replace(recipe.mechanism, credit=PassK(2, "bootstrap"))
        )
    require_resumable(recipe, lambda: policy("fp32", vocab=4, init_std=0.1), after=2)
