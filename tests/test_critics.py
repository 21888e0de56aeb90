"""The critic and REINFORCE family: baselines of its own, lambdas by length, partners that learn, greedy answers."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny import (
    ALONE,
    END,
    LETTERS,
    episode,
    group_of,
    models_for,
    phases_of,
    policy,
    recipe_of,
    register,
    require_resumable,
    run,
    segment,
    weights_of,
)

from assay.credit import GAE, pack
from assay.credit.advantage import group_relative
from assay.credit.pack import earned
from assay.curate.parts import aside, band_first
from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.forwards import Critic
from assay.known import RECIPES
from assay.memory import Memory
from assay.methods.gpg.contributing import Contributing
from assay.methods.opo.credit import LengthWeighted
from assay.methods.prime.credit import ProcessLeaveOneOut
from assay.methods.prime.implicit import ImplicitProcess, implicit_process, learn, scaled
from assay.methods.remax.credit import GreedyRelative
from assay.methods.remax.greedy import greedy
from assay.methods.vapo.credit import LengthAdaptiveGAE
from assay.objective import DeltaL, FixedLength, Objective, PromptMean, SequenceMean
from assay.objective.value import outcome_loss
from assay.part import Aggregate, Part, bind
from assay.recipe import Recipe, at_profile
from assay.record.measure import step_stats
from assay.types import Origin, Row

REWARDS = st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=2, max_size=8)


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(name: str, **scale: object) -> Recipe:
    rows = {"num_prompts": 4, "group_size": 4, "num_steps": 4, "learning_rate": 0.01, "warmup_steps": 0}
    return recipe_of(name, max_new=4, **{**rows, **scale})


def credited(part: Part, rows: list[Row]) -> list[list[float]]:
    return [np.asarray(row.advantage).tolist() for row in bind(part)(rows, memory=Memory(0))]


# Baselines


def test_the_baseline_weighed_by_length_by_hand() -> None:
    """Rewards 1, 0, 0 of lengths 1, 2, 5: b = 1/8. A token of somebody else is no length."""
    rows = group_of([1.0, 0.0, 0.0], lengths=[1, 2, 5])
    assert credited(LengthWeighted(), rows) == [[7 / 8], [-1 / 8] * 2, [-1 / 8] * 5]
    tools = Row(episode([segment([1]), segment([2] * 9, origin=Origin.ENV), segment([END])], sample=1, reward=0.0))
    found = credited(LengthWeighted(), [rows[0], tools])
    assert found[0] == [pytest.approx(2 / 3)] and found[1][0] == pytest.approx(-1 / 3)
    empty = [Row(episode([], sample=i, reward=float(i))) for i in range(2)]
    assert credited(LengthWeighted(), empty) == [[], []]
    assert credited(LengthWeighted(), group_of([1.0] * 3)) == [[0.0] * 2] * 3


@given(rewards=REWARDS, seed=st.integers(0, 99), shift=st.integers(-4, 4))
@pytest.mark.slow
def test_what_is_pushed_up_and_down_balances_over_tokens(rewards: list[float], seed: int, shift: int) -> None:
    """sum_i T_i A_i = 0; a constant changes nothing; equal lengths give the group's mean."""
    lengths = np.random.default_rng(seed).integers(1, 9, len(rewards)).tolist()
    found = [a for row in credited(LengthWeighted(), group_of(list(rewards), lengths=lengths)) for a in row]
    assert sum(found) == pytest.approx(0.0, abs=1e-9)
    moved = credited(LengthWeighted(), group_of([r + shift for r in rewards], lengths=lengths))
    np.testing.assert_allclose([a for row in moved for a in row], found, atol=1e-9)
    level = credited(LengthWeighted(), group_of(list(rewards)))
    np.testing.assert_allclose([row[0] for row in level], np.array(rewards) - np.mean(rewards), atol=1e-9)


def test_the_deviation_of_the_batch_by_hand() -> None:
    """Rewards 1, 0 | 1, 1, 1, 0 | 0, 0: mean 1/2, unbiased variance 8/4/7 = 2/7 whatever the group."""
    reward = np.array([1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    found = group_relative(reward, np.array([0, 0, 1, 1, 1, 1, 2, 2]), scale="batch", ddof=1, epsilon=0.0)
    centred = np.array([0.5, -0.5, 0.25, 0.25, 0.25, -0.75, 0.0, 0.0])
    np.testing.assert_allclose(found, centred / math.sqrt(2 / 7), rtol=1e-12)


def test_rows_that_contribute_carry_the_weight_of_all() -> None:
    """Five of eight rows are in mixed groups: a factor of 8/5; without any the advantages stay."""
    rows = [*group_of([1.0, 0.0], name="a"), *group_of([1.0, 1.0, 1.0], name="b"), *group_of([0.0, 0.0, 1.0], name="c")]
    made = [row.mark(advantage=np.full(2, float(i))) for i, row in enumerate(rows)]
    assert credited(Contributing(), made) == [[pytest.approx(i * 8 / 5)] * 2 for i in range(8)]
    alike = [row.mark(advantage=np.ones(2)) for row in group_of([1.0, 1.0])]
    assert credited(Contributing(), alike) == [[1.0, 1.0]] * 2


def test_what_a_kl_in_the_reward_took_is_in_the_baseline_of_the_others() -> None:
    """Rewards 1, 0 and KL of 0.5 and 0.1 in all: returns 0.5 and -0.1."""
    rows = group_of([1.0, 0.0])
    taken = [[-0.25, -0.25], [-0.1, 0.0]]
    rows = [row.mark(process=np.array(t, np.float32)) for row, t in zip(rows, taken, strict=True)]
    assert [earned(row) for row in rows] == pytest.approx([0.5, -0.1])
    found = credited(RECIPES["rloo"].mechanism.credit, rows)
    np.testing.assert_allclose(found, [[0.6] * 2, [-0.6] * 2], atol=1e-7)


def greedy_group(rewards: list[float | None], worth: float | None) -> list[Row]:
    """The last is the greedy one."""
    rows = group_of([*rewards, worth])
    return aside([*rows[:-1], rows[-1].mark(tag="greedy")], tag="greedy")


def test_the_greedy_answer_is_the_baseline_and_nothing_else() -> None:
    """Returns to go of the token rewards, less its reward; it neither trains nor counts."""
    rows = greedy_group([1.0, 0.0], 0.25)
    rows[1] = rows[1].mark(process=np.array([-0.5, -0.1], np.float32))
    found = credited(GreedyRelative(), rows)
    np.testing.assert_allclose(found, [[0.75] * 2, [-0.85, -0.35], [0.0] * 2], atol=1e-7)
    assert [(r.in_loss, r.in_group, r.in_denominator) for r in rows] == [(True,) * 3] * 2 + [(False, True, False)]
    batch = phases_of(small("remax")).credit(rows, Memory(0))[0]
    assert len(batch) == 2


def test_without_a_baseline_nothing_is_pushed() -> None:
    """Its verdict was lost by an error of ours."""
    (batch,) = phases_of(small("remax")).credit(greedy_group([1.0, 0.0], None), Memory(0))
    assert (batch.advantage == 0).all()


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_a_tool_in_between_is_no_step_to_the_greedy_baseline(reward: float, worth: float) -> None:
    pieces = [segment([1]), segment([2, 2], origin=Origin.ENV), segment([END])]
    rows = [Row(episode(pieces, reward=reward)), Row(episode([1], sample=1, reward=worth), tag="greedy")]
    (first, _) = credited(GreedyRelative(), rows)
    assert first == pytest.approx([reward - worth, 0.0, 0.0, reward - worth])


def test_greedy_answers_are_asked_once_a_group_and_counted() -> None:
    recipe = small("remax", group_size=2, top_p=0.5)
    notes, memory = run(recipe, policy("fp32", init_std=0.1))
    for episodes, rows, (batch,) in zip(notes.episodes, notes.rows, notes.batches, strict=True):
        asked = [e.request for e in episodes]
        plain = [r for r in asked if r.tag == "greedy"]
        assert len(asked) == 12 and len(plain) == 4 and len({r.id for r in asked}) == 12
        assert all((r.temperature, r.top_p, r.sample) == (0.0, 1.0, 2) for r in plain)
        assert {r.id for r in plain}.isdisjoint(batch.request) and len(batch) == 8
        for one in plain:
            same = [e for e in episodes if e.request.problem.id == one.problem.id and e.request.tag == "greedy"]
            assert len({tuple(e.stream("ids").tolist()) for e in same}) == 1
        stats, sampled = step_stats(episodes, rows), [e for e in episodes if e.request.tag != "greedy"]
        assert stats["reward/accuracy"] == np.mean([e.right for e in sampled]) and stats["rollouts"] == 12
    assert memory.budget.rollouts == 48
    assert memory.budget.generated_tokens == sum(len(e) for step in notes.episodes for e in step)
    assert sum(tried for _, tried in memory.store("pass-rates").values()) == 32


def test_greedy_requests_stand_behind_their_group() -> None:
    rows = [*group_of([0.0, 0.0], name="a"), *group_of([0.0], name="b")]
    asked = greedy([dataclasses.replace(r.episode.request, top_k=3) for r in rows], tag="greedy")
    assert [(r.group, r.sample, r.temperature, r.top_k) for r in asked] == [
        ("a", 0, 1.0, 3),
        ("a", 1, 1.0, 3),
        ("a", 2, 0.0, 0),
        ("b", 0, 1.0, 3),
        ("b", 1, 0.0, 0),
    ]


# Lambdas


def test_lambda_follows_the_length_of_an_answer() -> None:
    """alpha 0.5: of 4 tokens lambda = 1/2, of 8 it is 3/4, of 2 and fewer 0."""
    for length, lam in ((1, 0.0), (2, 0.0), (4, 0.5), (8, 0.75)):
        row = Row(episode([1] * length, reward=1.0)).mark(value=np.linspace(0, 1, length, dtype=np.float32))
        assert credited(LengthAdaptiveGAE(alpha=0.5), [row]) == credited(GAE(lam=lam), [row])


@given(st.integers(1, 60), st.floats(0.02, 5.0))
def test_what_reaches_the_policy_sums_to_alpha_times_the_length(length: int, alpha: float) -> None:
    """With errors of 1 everywhere an endless sum is 1 / (1 - lambda) = alpha T, or 1 where that is less."""
    rows = [Row(episode([1] * length, reward=1.0))]
    (found,) = credited(LengthAdaptiveGAE(alpha=alpha), rows)
    lam = 1 - 1 / max(1.0, alpha * length)
    np.testing.assert_allclose(found, [lam ** (length - 1 - t) for t in range(length)], rtol=1e-9, atol=1e-12)


def test_the_reach_of_a_reward_is_kept_where_answers_are_short() -> None:
    found, lines = at_profile(RECIPES["vapo"], "laptop", max_new=32)
    assert found.mechanism.credit == LengthAdaptiveGAE(alpha=32.0)  # 0.05 * 20480 / 32
    assert "LengthAdaptiveGAE.alpha: 0.05 -> 32.0 (in inverse proportion to max_new)" in lines
    again, more = at_profile(found, "paper", max_new=32)
    assert again == found and more == []


@pytest.mark.slow
def test_values_are_learnt_before_the_policy_moves() -> None:
    recipe = small("vapo", num_steps=8)
    first, second = recipe.stages
    recipe = dataclasses.replace(recipe, stages=tuple(dataclasses.replace(s, share=0.5) for s in (first, second)))
    engine = policy("fp32", init_std=0.1)
    notes, memory = run(recipe, engine)
    assert memory.stage == 1
    assert [s.get("update/steps", 0.0) > 0 for s in notes.stats] == [False] * 4 + [True] * 4
    assert any(s["critic/loss"] > 0 for s in notes.stats[:4])
    assert any(s.get("policy/likelihood_loss", 0.0) > 0 for s in notes.stats[4:])


# Critics


def test_a_critic_takes_steps_of_its_own_number_and_mean() -> None:
    """12 where the policy takes one. The first loss is that of values of 0, R^2 / 2, over rows or over tokens."""
    rows = [Row(episode([1] * n, sample=i, reward=r)) for i, (n, r) in enumerate([(1, 1.0), (3, 0.0)] * 12)]
    recipe = small("orz", num_prompts=24, group_size=1, learning_rate=1e-9)
    own = RECIPES["orz"].mechanism.forwards[0]
    assert isinstance(own, Critic)
    for part, loss in (
        (own, None),
        (dataclasses.replace(own, num_minibatches=1), 1 / 8),
        (dataclasses.replace(own, num_minibatches=1, aggregate=SequenceMean()), 1 / 4),
    ):
        models = models_for(recipe, policy("fp32"))
        assessed = bind(part, scale=recipe.scale, micro_tokens=99)
        _, stats = assessed(rows, models=models, memory=Memory(0))
        assert models["critic"].version == part.num_minibatches
        assert loss is None or stats["critic/loss"] == pytest.approx(loss, rel=1e-4)


@pytest.mark.slow
def test_with_lambda_one_the_advantage_is_the_reward_less_the_value() -> None:
    notes, _ = run(small("orz", num_prompts=8), policy("fp32", init_std=0.1))
    for rows, (batch,) in zip(notes.rows, notes.batches, strict=True):
        raw = np.concatenate([np.full(len(r.episode), r.reward) - r.value for r in rows])  # type: ignore[operator]
        white = (raw - raw.mean()) / (raw.std() + 1e-8)
        if np.ptp(raw) > 1e-6:
            np.testing.assert_allclose(batch.advantage, white, rtol=1e-3, atol=1e-4)


def test_a_cut_answer_has_no_value_beyond_it() -> None:
    """The reward of a failed answer and nothing else falls on its last token."""
    row = Row(episode([1, 2], reward=0.0, finish="length")).mark(value=np.array([0.25, 0.75], np.float32))
    assert credited(GAE(lam=1.0), [row]) == [[-0.25, -0.75]]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vapo", "prime"])
def test_a_run_goes_on_bit_for_bit_with_its_partners(name: str) -> None:
    require_resumable(small(name), lambda: policy("fp32", init_std=0.1), after=2)


# The implicit process model


def test_two_sources_with_a_baseline_each_by_hand() -> None:
    """Rewards 1, 0; token rewards 0.2, 0.4 | 0.1: means 0.3 and 0.1, r' = 2 r - 0.4; outcome +-1 at the end."""
    rows = group_of([1.0, 0.0], lengths=[2, 1])
    dense = [[0.2, 0.4], [0.1]]
    rows = [row.mark(process=np.array(d, np.float32)) for row, d in zip(rows, dense, strict=True)]
    found = credited(ProcessLeaveOneOut(outcome=5.0, process=3.0), rows)
    np.testing.assert_allclose(found[0], [3 * (0.0 + 0.4) + 5, 3 * 0.4 + 5], rtol=1e-6)
    np.testing.assert_allclose(found[1], [3 * -0.2 - 5], rtol=1e-6)


def test_groups_of_equal_rewards_keep_what_the_process_says() -> None:
    rows = [row.mark(process=np.array([0.1 * i, 0.0], np.float32)) for i, row in enumerate(group_of([1.0, 1.0]))]
    found = credited(ProcessLeaveOneOut(outcome=5.0, process=1.0), rows)
    np.testing.assert_allclose(found, [[-0.1, -0.05], [0.1, -0.05]], atol=1e-7)  # r' = 2 r - 0.05
    assert credited(ProcessLeaveOneOut(), group_of([1.0])) == [[0.0, 0.0]]
    assert credited(ProcessLeaveOneOut(), group_of([1.0, 0.0], lengths=[0, 1]))[0] == []


@given(rewards=REWARDS)
def test_without_a_process_it_is_leave_one_out(rewards: list[float]) -> None:
    count = len(rewards)
    expected = [2.0 * (r - (sum(rewards) - r) / (count - 1)) for r in rewards]
    found = credited(ProcessLeaveOneOut(outcome=2.0), group_of(list(rewards)))
    np.testing.assert_allclose([row[0] for row in found], expected, atol=1e-9)


def test_the_loss_of_outcomes_by_hand() -> None:
    """beta = 0.5, sums of log-ratios 2 and -1: -log sigmoid(1), -log(1 - sigmoid(-0.5)); gradients beta (s - y)."""
    logp = torch.tensor([0.5, 1.0, -1.0], dtype=torch.float64, requires_grad=True)
    ref = torch.tensor([-0.5, 0.0, 0.0], dtype=torch.float64)
    each = outcome_loss(logp, ref, torch.tensor([0, 0, 1]), torch.tensor([1.0, 0.0]).double(), beta=0.5)
    expected = [math.log(1 + math.exp(-1.0)), math.log(1 + math.exp(-0.5))]
    np.testing.assert_allclose(each.detach().numpy(), expected, rtol=1e-12)
    each.sum().backward()
    assert logp.grad is not None
    first, second = 0.5 * (1 / (1 + math.exp(-1.0)) - 1), 0.5 / (1 + math.exp(0.5))
    np.testing.assert_allclose(logp.grad.numpy(), [first, first, second], rtol=1e-12)


def test_process_rewards_are_scaled_by_the_largest_return_and_end_with_nothing() -> None:
    """0.2, -0.6, (0.9) and (5): sums to come -0.4, -0.6, 0 and 0: divided by 0.6."""
    rows = [Row(episode([1, 2, END])), Row(episode([END], sample=1))]
    found = scaled([np.array([0.2, -0.6, 0.9]), np.array([5.0])], rows)
    np.testing.assert_allclose(found[0], [1 / 3, -1.0, 0.0], rtol=1e-5)
    assert found[1].tolist() == [0.0] and scaled([], []) == []


def process_values(**changes: object) -> dict[str, object]:
    return dataclasses.asdict(ImplicitProcess()) | {"micro_tokens": 99, **changes}


@pytest.mark.parametrize("first", [True, False])
def test_a_process_model_learns_before_it_speaks(first: bool) -> None:
    """Before it has learnt it is its reference, and says nothing; its reference never moves."""
    recipe = small("prime")
    spec = dataclasses.replace(recipe.models["process"], learns_first=first)
    recipe = dataclasses.replace(recipe, models={**recipe.models, "process": spec})
    engine = policy("fp32", init_std=0.1)
    models = models_for(recipe, engine)
    answers = [[1, 2, END], [2, 1, END], [1, 1, 1, END], [3, END]]
    rows = [Row(episode(a, sample=i, reward=float(i % 2))) for i, a in enumerate(answers)]
    found, stats = implicit_process(rows, models=models, memory=Memory(0), scale=recipe.scale, **process_values())  # type: ignore[arg-type]
    assert stats["process/loss"] == pytest.approx(math.log(2), rel=1e-5)
    assert models["process"].version == 1
    silent = all((row.process == 0).all() for row in found)  # type: ignore[union-attr]
    assert silent != first
    spans = [Span(r.episode.training_context, r.episode.stream("ids").astype(np.int32)) for r in rows]
    for mine, its in zip(engine.score(spans), models["process-reference"].score(spans), strict=True):
        np.testing.assert_array_equal(mine.logp, its.logp)
    with pytest.raises(ConfigError, match="'judge' is none of the recipe's models"):
        implicit_process(rows, models=models, memory=Memory(0), scale=recipe.scale, **process_values(model="judge"))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_process_model_finds_the_token_that_makes_an_answer_right() -> None:
    """Right is what has a b: after some steps the token rewards of b are the largest, and outcomes are told apart."""
    recipe = small("prime", learning_rate=0.01)
    models = models_for(recipe, policy("fp32", init_std=0.1))
    random = np.random.default_rng(0)
    answers = [[*random.integers(1, 5, 4).tolist(), END] for _ in range(64)]
    rows = [Row(episode(a, sample=i, reward=float(2 in a))) for i, a in enumerate(answers)]
    found, stats = rows, {"process/loss": math.inf}
    for step in range(40):
        memory = Memory(0, step=step)
        values = process_values(rate=1.0, beta=0.5)
        found, stats = implicit_process(rows, models=models, memory=memory, scale=recipe.scale, **values)  # type: ignore[arg-type]
    assert stats["process/loss"] < 0.3 and stats["process/accuracy"] > 0.9
    every = [(i, float(v)) for row in found for i, v in zip(row.episode.stream("ids"), row.process, strict=True)]  # type: ignore[arg-type]
    means = {letter: np.mean([v for i, v in every if i == 1 + n]) for n, letter in enumerate(LETTERS)}
    assert means["b"] > max(means["a"], means["c"], means["d"]) + 0.05


def test_micro_batches_do_not_change_what_a_process_model_learns() -> None:
    recipe = small("prime")
    rows = [Row(episode([1] * n + [END], sample=i, reward=float(i % 2))) for i, n in enumerate([1, 4, 2, 6, 0])]
    rows = [row.mark(ref=np.full(len(row.episode), -1.5, np.float32)) for row in rows]
    losses = []
    for tokens in (1, 9, 999):
        models = models_for(recipe, policy("fp64"))
        losses.append(learn(models, "process", rows, recipe.scale, Memory(0), tokens, beta=0.5))
    assert losses[0] == pytest.approx(losses[2], rel=1e-6) and losses[1] == pytest.approx(losses[2], rel=1e-6)


# Selection


def test_groups_within_the_band_come_first_and_others_fill_the_step() -> None:
    rows = [
        *group_of([1.0, 1.0], name="all"),
        *group_of([1.0, 0.0], name="half"),
        *group_of([0.0, 0.0], name="none"),
        *group_of([0.0, 1.0], name="cut"),
        *group_of([0.0, 1.0], name="late"),
    ]
    rows[6] = rows[6].mark(episode=dataclasses.replace(rows[6].episode, finish="length"))

    def kept(count: int, *, cut: bool) -> list[str]:
        found = band_first(rows, num_prompts=count, low=0.2, high=0.8, cut=cut)
        assert all(r.in_loss == r.in_group == r.in_denominator for r in found)
        return list(dict.fromkeys(r.group for r in found if r.in_loss))

    assert kept(2, cut=True) == ["half", "cut"] and kept(2, cut=False) == ["half", "late"]
    assert kept(3, cut=False) == ["all", "half", "late"]
    assert kept(9, cut=False) == ["all", "half", "none", "cut", "late"]


def test_problems_are_drawn_until_a_share_of_the_step_contributes(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)
    notes, _ = run(small("gpg", num_steps=6), policy("fp32", init_std=0.1))
    for rows, (batch,) in zip(notes.rows, notes.batches, strict=True):
        mixed = {r.group for r in rows if 0 < sum(o.episode.right for o in rows if o.group == r.group) < 4}
        assert len(set(batch.group)) == 4
        assert len(mixed & set(batch.group)) == min(4, len(mixed))
        drawn = len({r.group for r in rows})
        assert len(mixed) >= 0.6 * 4 or drawn == 20 * 4
        if drawn > 4:  # not before the draw that was needed
            before = [r.group for r in rows if r.episode.request.draw < drawn - 4]
            assert len(mixed & set(before)) < 0.6 * 4


# Further aggregates


def test_means_of_prompts_and_lengths_by_hand() -> None:
    """Groups of lengths 1, 3 and 2; rows that do not count or say nothing change nobody's denominator."""
    rows = [*group_of([1.0, 0.0, 0.0], name="a", lengths=[1, 3, 0]), *group_of([1.0], name="b", lengths=[2])]
    rows += [row.mark(in_loss=False, in_denominator=False) for row in group_of([0.0], name="c", lengths=[5])]
    batch = pack(rows)
    weight = weights_of(batch, Objective(aggregate=PromptMean()), max_new=8)[:6]
    np.testing.assert_allclose(weight, [1 / 8] * 4 + [1 / 4] * 2, rtol=1e-12)
    weight = weights_of(batch, Objective(aggregate=DeltaL(power=1.0)), max_new=8)[:6]
    total = 8 * (1 + 1 / 3 + 1 / 2)
    np.testing.assert_allclose(weight, [1 / total, *[1 / 3 / total] * 3, *[1 / 2 / total] * 2], rtol=1e-12)
    weight = weights_of(batch, Objective(aggregate=DeltaL(power=0.5)), max_new=8)[:6]
    total = 8 * (1 + 3**-0.5 + 2**-0.5)
    np.testing.assert_allclose(weight, [1 / total, *[3**-0.5 / total] * 3, *[2**-0.5 / total] * 2], rtol=1e-12)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6))
@pytest.mark.slow
def test_the_ends_of_the_further_aggregates(lengths: list[int]) -> None:
    """Power 0 is the fixed length; with a row a group the mean over prompts is that over answers; rows sum to 1 / L."""
    apart = [Row(episode([1] * n, group=f"g{i}", sample=i)) for i, n in enumerate(lengths)]
    batch = pack(apart)

    def weights(aggregate: Aggregate) -> np.ndarray:
        return weights_of(batch, Objective(aggregate=aggregate), max_new=7)

    np.testing.assert_allclose(weights(DeltaL(power=0.0)), weights(FixedLength()), rtol=1e-12)
    np.testing.assert_allclose(weights(PromptMean()), weights(SequenceMean()), rtol=1e-12)
    assert weights(PromptMean()).sum() == pytest.approx(1.0)
    for power in (0.25, 1.0):
        rows = [weights(DeltaL(power=power))[a] for a in batch.at[:-1]]
        assert sum(rows) == pytest.approx(1 / 7)
