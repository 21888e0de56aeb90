"""The parts of the objective against their formulas: gates, KL, weights of tokens, and whole recipes by hand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from formulas import surrogate
from hypothesis import given, settings
from hypothesis import strategies as st
from of_methods import said
from tiny import Table, batch_of, episode, group_of, recipe_of, segment, update, weights_of

from assay.credit import pack
from assay.errors import ConfigError
from assay.objective import (
    KL,
    Case,
    Clip,
    Entropy,
    FixedLength,
    HighEntropy,
    Likelihood,
    Objective,
    Open,
    Probability,
    SequenceMean,
    SequenceSum,
    Shaped,
    Shut,
    Tagged,
    TokenMean,
    TokenRatio,
    Truncate,
    Written,
)
from assay.objective.gates import clip, open_gate, shaped
from assay.objective.improve import accumulate
from assay.objective.ratios import no_ratio, probability, token_ratio
from assay.objective.terms import entropy, kl
from assay.part import Part
from assay.types import Origin, Row

GRID = (0.5, 0.79, 0.81, 1.0, 1.19, 1.21, 1.27, 1.29, 3.1, 11.0)
PAPERS = {"sum": SequenceSum(), "mean": SequenceMean(), "tokens": TokenMean(), "length": FixedLength()}
WEIGHTS: dict[str, Callable[[int, int, int], float]] = {  # of a token of an answer of `own` tokens
    "sum": lambda own, rows, tokens: 1 / rows,
    "mean": lambda own, rows, tokens: 1 / (rows * max(own, 1)),
    "tokens": lambda own, rows, tokens: 1 / tokens,
    "length": lambda own, rows, tokens: 1 / (rows * 13),
}


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


# Gates and ratios


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("low, high, dual", [(0.2, 0.2, None), (0.2, 0.28, None), (0.2, 0.28, 10.0), (0.2, 0.2, 3.0)])
def test_gate_is_the_derivative_of_the_clipped_surrogate(
    low: float, high: float, dual: float | None, sign: float
) -> None:
    logp = tensor(*GRID).log().requires_grad_()  # of an old log-prob of zero
    advantage = torch.full_like(logp, sign).detach()
    surrogate(logp.exp(), advantage, low, high, dual).sum().backward()
    assert logp.grad is not None
    gate = clip(tensor(*GRID), advantage, low=low, high=high, dual=dual)
    torch.testing.assert_close(gate, -logp.grad / advantage, rtol=1e-14, atol=0)


def test_gate_table_of_ppo() -> None:
    up = clip(tensor(*GRID), torch.ones(10), low=0.2, high=0.2, dual=None)
    down = clip(tensor(*GRID), -torch.ones(10), low=0.2, high=0.28, dual=10.0)
    assert up.tolist() == [0.5, 0.79, 0.81, 1.0, 1.19, 0, 0, 0, 0, 0]
    assert down.tolist() == [0, 0, 0.81, 1.0, 1.19, 1.21, 1.27, 1.29, 3.1, 0]


def test_gate_of_a_zero_advantage_stays_open() -> None:
    """Nothing is pushed, so nothing is clipped: the clip fraction must not count it."""
    gate = clip(tensor(0.1, 1.0, 50.0), torch.zeros(3), low=0.2, high=0.2, dual=3.0)
    assert gate.tolist() == [0.1, 1.0, 50.0]


def test_ratios() -> None:
    logp = tensor(-1.0, -2.0, -0.5)
    assert no_ratio(logp, logp - 3).tolist() == [1.0, 1.0, 1.0]
    assert open_gate(logp, logp).tolist() == [1.0, 1.0, 1.0]
    torch.testing.assert_close(token_ratio(logp, logp - tensor(0.0, math.log(2), -math.log(4))), tensor(1.0, 2.0, 0.25))
    assert token_ratio(logp, logp).tolist() == [1.0, 1.0, 1.0]
    assert token_ratio(tensor(0.0, -900.0), tensor(-900.0, 0.0)).tolist() == [math.exp(20), math.exp(-20)]


# Regularisers


def against(logp: torch.Tensor, reference: torch.Tensor) -> Any:
    """Tokens of the policy with these log-probs, and these of the reference."""
    return SimpleNamespace(logp=logp, streams={"ref": reference, "origin": torch.tensor(Origin.POLICY)})


@pytest.mark.parametrize("gap", [-30.0, -2.0, -0.1, 0.0, 0.1, 2.0, 15.0])
def test_kl_estimators_and_their_derivatives(gap: float) -> None:
    """With d = log pi - log ref: k2 = d^2 / 2 has the derivative d, k3 = exp(-d) - 1 + d the derivative 1 - exp(-d)."""
    d = -gap
    for estimator, value, slope in (("k2", d * d / 2, d), ("k3", math.exp(-d) - 1 + d, 1 - math.exp(-d))):
        logp = tensor(-31.0).requires_grad_()
        found = kl(against(logp, tensor(-31.0 + gap)), weight=0.25, estimator=estimator, anchor="reference")
        found.sum().backward()
        assert found.item() == pytest.approx(0.25 * value, rel=1e-12, abs=1e-15)
        assert logp.grad is not None and logp.grad.item() == pytest.approx(0.25 * slope, rel=1e-12, abs=1e-15)


def test_kl_of_a_token_that_the_policy_gave_up_is_finite() -> None:
    logp = torch.tensor([-200.0], requires_grad=True)
    found = kl(against(logp, torch.tensor([-1.0])), weight=1.0, estimator="k3", anchor="reference")
    found.sum().backward()
    assert found.isfinite().all() and logp.grad is not None and logp.grad.isfinite().all()


def test_unknown_estimator_is_refused() -> None:
    with pytest.raises(ConfigError, match="k4"):
        kl(against(tensor(0.0), tensor(0.0)), weight=1.0, estimator="k4", anchor="reference")


def test_entropy_bonus_is_subtracted() -> None:
    view: Any = SimpleNamespace(entropy=tensor(2.0, 0.5))
    assert entropy(view, weight=0.5).tolist() == [-1.0, -0.25]


def test_what_an_objective_needs() -> None:
    assert Objective(regularise=(KL(0.1),)).wants == {"ref"} and not Objective(regularise=(KL(0.0),)).wants
    assert Objective(regularise=(Entropy(0.1),)).wants == {"entropy"} and not Objective().wants
    assert Objective(correct=(Truncate(),)).wants == {"old"}
    assert Objective(keep=(HighEntropy(),)).wants == {"entropy"} == Objective(cases=(Case(over=HighEntropy()),)).wants
    assert Objective(extra=(Likelihood(over=HighEntropy()),)).wants == {"entropy"}


# Aggregation


def ragged(lengths: list[tuple[int, int]], marks: list[tuple[bool, bool]]) -> list[Row]:
    """Rows of (policy, environment) tokens; marks: in the loss, in the denominator."""
    rows = []
    for i, ((own, other), (in_loss, counts)) in enumerate(zip(lengths, marks, strict=True)):
        parts = [segment([1] * own), segment([2] * other, origin=Origin.ENV)]
        rows.append(Row(episode(parts, sample=i), in_loss=in_loss, in_denominator=counts))
    return rows


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=7))
def test_token_weights_of_ragged_rows(spec: list[tuple[int, int, bool, bool]]) -> None:
    batch = pack(ragged([s[:2] for s in spec], [s[2:] for s in spec]))
    rows = max(1, sum(counts for *_, counts in spec))
    tokens = max(1, sum(own for own, _, _, counts in spec if counts))
    for name, aggregate in PAPERS.items():
        weight = weights_of(batch, Objective(aggregate=aggregate), max_new=13)
        assert weight.shape == batch.ids.shape and np.isfinite(weight).all()
        for i, (own, _, in_loss, _) in enumerate(spec):
            mine = weight[batch.at[i] : batch.at[i + 1]][: own * in_loss]
            expected = WEIGHTS[name](own, rows, tokens)
            np.testing.assert_allclose(mine, expected, rtol=1e-15)


def test_weights_of_a_batch_without_a_token() -> None:
    batch = pack(ragged([(0, 0), (0, 2)], [(True, True)] * 2))
    for aggregate in PAPERS.values():
        assert np.isfinite(weights_of(batch, Objective(aggregate=aggregate), max_new=4)).all()


# Whole recipes: the coefficient of every token, d loss / d log pi, from rewards on

RATIOS = [[1.0, 1.25], [0.7], [1.0, 0.9, 12.0], [1.0], [1.0, 1.3]]
BOUNDS = [[0.0, math.log(2)], [0.0], [0.0, 0.0, 0.0], [0.0], [0.0, 0.0]]  # log ref - log pi
A = (2 / 3) / (math.sqrt(1 / 3) + 1e-6)  # of rewards 1, 0, 0: mean 1/3, unbiased variance 1/3; the others have -A / 2
V = 1 / math.sqrt(5 / 18)  # of 5 tokens with 1 and 4 with 0: mean 5/9, variance 5/18
BY_HAND = {
    # -R / 5
    "reinforce": [[-0.2, -0.2], [0.0], [0.0, 0.0, 0.0], [-0.2], [-0.2, -0.2]],
    # baselines 0, 1/2, 1/2: advantages 1, -1/2, -1/2
    "rloo": [[-0.2, -0.2], [0.1], [0.1, 0.1, 0.1], [0.0], [0.0, 0.0]],
    # 1 / (5 T_i); a ratio of 1.25 and one of 0.7 are clipped; k3 adds 0.04 (1 - 2) / (5 * 2)
    "grpo": [[-A / 10, -0.004], [0.0], [A / 30, 0.9 * A / 30, 12 * A / 30], [0.0], [0.0, 0.0]],
    # 1 / (5 * 8); advantages 2/3, -1/3, -1/3
    "dr-grpo": [[-1 / 60, 0.0], [0.0], [1 / 120, 0.9 / 120, 12 / 120], [0.0], [0.0, 0.0]],
    # 1 / 9; the clip ends at 1.28, and at 10 below
    "dapo": [[-A / 9, -1.25 * A / 9], [0.0], [A / 18, 0.9 * A / 18, 0.0], [0.0], [0.0, 0.0]],
    "sft": [[-1 / 9] * 2, [-1 / 9], [-1 / 9] * 3, [-1 / 9], [-1 / 9] * 2],
    # 1 / 9 and no critic yet: the rewards, whitened over tokens; the clip ends at 1.2, and at 3 below
    "ppo": [[-4 * V / 81, 0.0], [0.0], [5 * V / 81, 4.5 * V / 81, 0.0], [-4 * V / 81], [-4 * V / 81, 0.0]],
}
BY_HAND |= said("FIVE_ROWS")  # of methods, in their oracle.py


def five_rows(name: str) -> tuple[list[Row], Table]:
    """Two groups, of rewards 1 0 0 and 1 1, with the ratios and bounds above around a log-prob of -1."""
    rows = [*group_of([1.0, 0.0, 0.0], name="g", lengths=[2, 1, 3]), *group_of([1.0, 1.0], name="h", lengths=[1, 2])]
    if name == "sft":
        rows = [
            Row(episode([segment(r.episode.stream("ids"), origin=Origin.INJECTED)], group=r.group, sample=i))
            for i, r in enumerate(rows)
        ]
    table = Table({row.episode.request.id: [-1.0] * len(row.episode) for row in rows})
    old = [(-1.0 - np.log(ratios)).astype(np.float32) for ratios in RATIOS]
    ref = [np.float32(-1.0) + np.array(bounds, np.float32) for bounds in BOUNDS]
    return [row.mark(old=o, ref=r) for row, o, r in zip(rows, old, ref, strict=True)], table


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_coefficients_of_a_recipe_by_hand(name: str) -> None:
    rows, table = five_rows(name)
    recipe = recipe_of(name, max_new=8, num_minibatches=1)
    batch = batch_of(recipe, rows)
    update(table, batch, recipe.mechanism.objective, recipe.scale)
    for row, expected in zip(rows, BY_HAND[name], strict=True):
        found = table.coefficients.get(row.episode.request.id, np.zeros(len(expected)))
        np.testing.assert_allclose(found, expected, rtol=3e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["grpo", "dr-grpo", "dapo"])
def test_on_policy_a_clipped_method_is_reinforce_with_its_advantages(name: str) -> None:
    """Without old log-probs the ratio is 1 and every gate exactly 1."""
    rows, table = five_rows(name)
    rows = [dataclasses.replace(row, old=None, ref=row.old) for row in rows]
    recipe = recipe_of(name, max_new=8)
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=())
    batch, scale = batch_of(recipe, rows), dataclasses.replace(recipe.scale, num_minibatches=1)
    stats = update(table, batch, goal, scale)
    plain = Table(table.logp)
    open_goal = dataclasses.replace(goal, gate=Open())
    update(plain, batch, open_goal, scale)
    assert table.coefficients and table.coefficients.keys() == plain.coefficients.keys()
    for request, found in table.coefficients.items():
        np.testing.assert_array_equal(found, plain.coefficients[request])
    assert stats["policy/ratio"] == stats["policy/ratio_max"] == stats["policy/gate"] == 1.0
    assert stats["policy/clip_fraction"] == 0.0


def test_entropy_bonus_is_weighted_like_the_tokens() -> None:
    rows, table = five_rows("rloo")
    found: list[torch.Tensor] = []
    table.backward = lambda chunk, out: found.append(out.entropy.grad)  # type: ignore[method-assign, union-attr, arg-type]
    recipe = recipe_of("rloo", max_new=8)
    goal = dataclasses.replace(recipe.mechanism.objective, aggregate=TokenMean(), regularise=(Entropy(0.3),))
    stats = update(table, batch_of(recipe, rows), goal, recipe.scale)
    torch.testing.assert_close(found[0], torch.full((9,), -0.3 / 9, dtype=torch.float64))
    assert stats["policy/entropy_loss"] == pytest.approx(-0.3)
    assert "policy/entropy" not in stats  # that is the entropy itself, measured where answers are sampled


def test_two_terms_of_one_kind_add_up() -> None:
    rows, table = five_rows("grpo")
    recipe = recipe_of("grpo", max_new=8)
    twice = (KL(weight=0.01, estimator="k3"), KL(weight=0.03, estimator="k3"))
    goal = dataclasses.replace(recipe.mechanism.objective, regularise=twice)
    stats = update(table, batch_of(recipe, rows), goal, recipe.scale)
    np.testing.assert_allclose(table.coefficients[rows[0].episode.request.id], BY_HAND["grpo"][0], rtol=3e-6, atol=1e-9)
    assert stats["policy/kl_loss"] == pytest.approx(0.04 * (2 - math.log(2) - 1) / 9, rel=1e-6)


def test_a_token_that_nothing_pushes_is_not_clipped() -> None:
    goal = Objective(gate=Shut(), aggregate=SequenceSum())
    batch = pack([group_of([1.0])[0].mark(advantage=np.array([1.0, 0.0]))])
    stats = update(Table({batch.request[0]: [-1.0, -1.0]}), batch, goal, recipe_of("grpo", num_minibatches=1).scale)
    assert stats["policy/clip_fraction"] == 0.5


def test_statistics_of_an_update_by_hand() -> None:
    """Nine tokens; in the loss of group g six of them: gates 1, 0 (up), 0, 1, 0.9, 12; group h is uniform."""
    rows, table = five_rows("dr-grpo")
    rows[2] = rows[2].mark(
        episode=dataclasses.replace(
            rows[2].episode, segments=(segment([1, 1, 0], old=np.array([-1, -1.5, np.nan], np.float32)),)
        )
    )
    recipe = recipe_of("dr-grpo", max_new=8)
    goal, batch = recipe.mechanism.objective, batch_of(recipe, rows)
    stats = update(table, batch, goal, recipe.scale)
    assert stats["policy/gate"] == pytest.approx((1 + 0 + 0 + 1 + 0.9 + 12) / 6, rel=1e-6)
    assert stats["policy/ratio"] == pytest.approx((1 + 1.25 + 0.7 + 1 + 0.9 + 12) / 6, rel=1e-6)
    assert stats["policy/ratio_max"] == pytest.approx(12.0, rel=1e-6)
    assert stats["policy/clip_fraction"] == pytest.approx(2 / 6)
    assert stats["policy/clip_fraction_up"] == pytest.approx(1 / 6)
    assert stats["policy/effective_fraction"] == pytest.approx(6 / 9)
    assert stats["policy/sampler_mismatch"] == pytest.approx(0.5 / 5)  # one of six is not known
    assert stats["policy/sampler_mismatch_max"] == pytest.approx(0.5)
    assert stats["update/steps"] == 1.0 and stats["update/tokens"] == 9.0


def test_statistics_are_of_tokens_that_train() -> None:
    """The tool's token is e^-0.1 likely whatever anybody said before; the policy's has half its old probability."""
    pieces = [segment([1]), segment([1], origin=Origin.ENV)]
    row = Row(episode(pieces)).mark(advantage=np.ones(2), old=np.full(2, -3.0, np.float32))
    table = Table({row.episode.request.id: [-3.0 - math.log(2), -0.1]})
    stats = update(table, pack([row]), Objective(gate=Clip(low=0.9)), recipe_of("grpo", num_minibatches=1).scale)
    assert stats["policy/ratio"] == stats["policy/ratio_max"] == pytest.approx(0.5)
    assert stats["policy/gate"] == pytest.approx(0.5) and stats["policy/clip_fraction"] == 0.0


def test_a_batch_that_pushes_nothing_takes_no_step() -> None:
    recipe, rows = recipe_of("rloo", max_new=8), group_of([1.0, 1.0, 1.0])
    table = Table({row.episode.request.id: [-1.0, -1.0] for row in rows})
    batch = batch_of(recipe, rows)
    stats = update(table, batch, recipe.mechanism.objective, recipe.scale)
    assert table.version == 0 and not table.asked
    assert stats["update/empty"] == 1.0 and stats["update/steps"] == 0.0


def test_parts_are_frozen_records() -> None:
    for part in (Clip(), Open(), KL(), Entropy(), *PAPERS.values()):
        assert isinstance(part, Part) and hash(part) == hash(dataclasses.replace(part))


# Cases: tokens by tag and origin


@pytest.mark.parametrize("gamma", [0.05, 0.1, 2.0])
def test_shaped_gate_is_the_derivative_of_the_shaped_ratio(gamma: float) -> None:
    """d f(w) / d log w with f(w) = w / (w + gamma), at the ratio and at the probability."""
    logp = tensor(*GRID).log().requires_grad_()
    w = logp.exp()
    (w / (w + gamma)).sum().backward()
    gate = shaped(tensor(*GRID), torch.ones(10), gamma=gamma)
    torch.testing.assert_close(gate, logp.grad, rtol=1e-12, atol=0)
    assert probability(tensor(-1.0), tensor(5.0)).tolist() == [math.exp(-1.0)]


def test_cases_by_tag_and_origin() -> None:
    """Rows: one plain, one tagged, one of another's tokens. Coefficients are weight * gate * advantage by hand."""
    objective = Objective(
        ratio=TokenRatio(),
        gate=Clip(),
        aggregate=SequenceSum(),
        injected="train",
        cases=(Case(over=Written("injected"), ratio=Probability(), gate=Shaped(0.1)), Case(over=Tagged("hint"))),
    )
    made = [
        Row(episode([1, 1], group="g", sample=0)),
        Row(episode([1, 1], group="g", sample=1), tag="hint"),
        Row(episode([segment([1, 1], origin=Origin.INJECTED), segment([1])], group="g", sample=2), tag="hint"),
    ]
    old = [np.array([-1.0, -3.0], np.float32), np.array([-1.0, -3.0], np.float32), np.full(3, -1.0, np.float32)]
    rows = [row.mark(advantage=np.full(len(row.episode), 2.0), old=o) for row, o in zip(made, old, strict=True)]
    batch = pack(rows, injected={"policy"})
    table = Table({row.episode.request.id: [-1.0] * len(row.episode) for row in rows})
    accumulate(table, batch, np.ones(len(batch.ids), np.float32), objective, 10**6)  # type: ignore[arg-type]
    found = [table.coefficients[row.episode.request.id].tolist() for row in rows]
    p = math.exp(-1.0)
    push = 0.1 * p / (p + 0.1) ** 2
    assert found[0] == [-2.0, 0.0]  # the second ratio, e^2, is beyond the clip
    assert found[1] == [-2.0, -2.0]  # open, whatever the ratio
    np.testing.assert_allclose(found[2], [-2 * push, -2 * push, -2.0], rtol=1e-12)


def test_imitation_beside_a_shut_gate_is_likelihood_alone() -> None:
    objective = Objective(
        injected="train",
        cases=(Case(over=Written("injected"), gate=Shut()),),
        extra=(Likelihood(weight=0.25, over=Written("injected")),),
    )
    row = Row(episode([segment([1, 1], origin=Origin.INJECTED), segment([1])]))
    row = row.mark(advantage=np.full(3, 2.0))
    batch = pack([row], injected={"policy"})
    table = Table({row.episode.request.id: [-1.0] * 3})
    accumulate(table, batch, np.ones(3, np.float32), objective, 10**6)  # type: ignore[arg-type]
    assert table.coefficients[row.episode.request.id].tolist() == [-0.25, -0.25, -2.0]


def test_a_regulariser_weighs_each_token_as_the_row_says() -> None:
    row = Row(episode([1, 1, 1])).mark(ref=np.full(3, -2.0, np.float32), term_weights={"kl": np.array([0.0, 1.0, 4.0])})
    table = Table({row.episode.request.id: [-1.0] * 3})
    objective = Objective(regularise=(KL(0.5, "k2"),))
    accumulate(table, pack([row]), np.ones(3, np.float32), objective, 10**6)  # type: ignore[arg-type]
    # k2 has the derivative log pi - log ref = 1
    np.testing.assert_allclose(table.coefficients[row.episode.request.id], [0.0, 0.5, 2.0])
