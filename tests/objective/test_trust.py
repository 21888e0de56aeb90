"""Ratios, gates, masks and corrections: whole recipes against losses written apart, the gate table, relatives that are
equal on policy.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import by_hand
import by_hand_trust as trust
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Table, batch_of, episode, pushes, recipe_of, segment, update
from torch import Tensor
from trusted import of_ratios, ratios, require_reinforce_on_policy, require_slope

from assay.objective import (
    Bounded,
    Clip,
    Drop,
    Objective,
    Reject,
    SequenceMean,
    SequenceRatio,
    SequenceSum,
    TokenMean,
    Truncate,
)
from assay.objective.gates import bounded, clip
from assay.recipe import Recipe
from assay.types import Origin, Row

MAX_NEW = 8


def small(name: str) -> Recipe:
    """By its own credit, objective and scale, one optimiser step a batch."""
    recipe = recipe_of(name, max_new=MAX_NEW, num_minibatches=1, num_epochs=1)
    return dataclasses.replace(recipe, stages=type(recipe)("", "", "", "", recipe.mechanism, recipe.scale).stages)


# Whole recipes on awkward rows


@dataclasses.dataclass(frozen=True)
class Step:
    """Rows, and what the engine says of their tokens."""

    rows: tuple[Row, ...]
    logp: tuple[np.ndarray, ...]
    entropy: tuple[np.ndarray, ...]


@functools.cache
def awkward(seed: int = 0) -> Step:
    """One right of eight, all alike, ragged, truncated, tokens of a tool, no trained token, not in the loss, not in the
    denominator; ratios from 0.2 to 5 to the old policy, and of that to the sampler.
    """
    random = np.random.default_rng(seed)
    plans: list[tuple[str, float, str, dict[str, Any]]] = [
        *(("eight", float(i == 3), "p" * (1 + i % 5), {}) for i in range(8)),
        *(("alike", 1.0, "p" * n, {}) for n in (2, 4)),
        *(("tools", r, parts, {}) for r, parts in ((1.0, "ppeep"), (0.0, "eepp"), (0.0, "ee"), (1.0, ""))),
        *(("marked", r, "ppp", marks) for r, marks in ((1.0, {"in_loss": False}), (0.0, {"in_denominator": False}))),
        ("marked", 0.5, "pppppp", {}),
        *(("graded", r, "p" * n, {}) for r, n in ((0.25, 8), (1.0, 1), (0.0, 3))),
    ]
    rows, logp, entropy = [], [], []
    for i, (group, reward, parts, marks) in enumerate(plans):
        now = np.log(random.uniform(0.05, 0.95, len(parts)))
        old = (now - np.log(random.choice([0.2, 0.7, 0.9, 1.0, 1.0, 1.1, 1.25, 1.5, 3.0, 5.0], len(parts)))).astype("f")
        mu = np.minimum(old - np.log(random.choice([0.4, 0.8, 1.0, 1.2, 6.0], len(parts))), -0.01).astype("f")
        spread = random.uniform(0, 1.5, len(parts)).astype("f")
        pieces = [
            segment([1], origin=Origin.ENV)
            if who == "e"
            else segment([1], old=old[t : t + 1], mu=mu[t : t + 1], entropy=spread[t : t + 1])
            for t, who in enumerate(parts)
        ]
        finish = "length" if len(parts) == 8 else "stop"
        made = episode(pieces, group=group, sample=i, reward=reward, finish=finish)
        rows.append(Row(made, **marks).mark(old=old, ref=(now + random.normal(0, 0.7, len(parts))).astype("f")))
        logp.append(now)
        entropy.append(random.uniform(0, 2, len(parts)))
    return Step(tuple(rows), tuple(logp), tuple(entropy))


def answers_of(name: str, step: Step) -> list[trust.Answer]:
    """As the formulas want them, with log-probs that have a graph."""
    groups: dict[str, list[int]] = {}
    for i, row in enumerate(step.rows):
        groups.setdefault(row.group, []).append(i)
    advantage: dict[int, float] = {}
    for members in groups.values():
        rewards = [step.rows[i].reward or 0.0 for i in members]
        advantage |= dict(zip(members, by_hand.advantages(name, rewards), strict=True))
    found = []
    for i, (row, now, entropy) in enumerate(zip(step.rows, step.logp, step.entropy, strict=True)):
        own = torch.from_numpy(row.episode.stream("origin") == Origin.POLICY)
        known = [torch.from_numpy(np.asarray(x, np.float64)) for x in (row.old, row.episode.stream("mu"), row.ref)]
        found.append(
            trust.Answer(
                torch.from_numpy(now).requires_grad_(),
                *(x.nan_to_num(0.0) for x in known),
                entropy=torch.from_numpy(entropy),
                trained=own & row.in_loss,
                advantage=float(np.float32(advantage[i])),
                group=row.group,
                right=row.episode.right,
                counted=row.in_denominator,
                length=int(own.sum()),
                hesitated=torch.from_numpy(np.nan_to_num(row.episode.stream("entropy").astype(np.float64))),
            )
        )
    return found


def found_by(recipe: Recipe, step: Step, *, cut: int | None = None) -> list[np.ndarray]:
    """The coefficient of each token of each row, through an optimiser step in chunks of so many rows."""
    names = [row.episode.request.id for row in step.rows]
    table = Table(
        {name: list(x) for name, x in zip(names, step.logp, strict=True)},
        {name: list(x) for name, x in zip(names, step.entropy, strict=True)},
        rows=cut,
    )
    update(table, batch_of(recipe, step.rows), recipe.mechanism.objective, recipe.scale)
    return [table.coefficients.get(name, np.zeros(len(x))) for name, x in zip(names, step.logp, strict=True)]


@pytest.mark.parametrize("cut", [None, 1, 3])
@pytest.mark.parametrize("name", trust.NAMES)
@pytest.mark.thin(4)
def test_coefficients_are_those_of_the_formula(name: str, cut: int | None) -> None:
    step, recipe = awkward(), small(name)
    answers = answers_of(name, step)
    found = found_by(recipe, step, cut=cut)
    drawn = [torch.zeros(len(a.logp), dtype=torch.bool) for a in answers]
    if name == "clip-cov":  # 2e-4 of these is one: that which is pushed nowhere, and might be
        lost = [torch.from_numpy(f == 0) & may for f, may in zip(found, trust.drawable(answers), strict=True)]
        assert sum(int(x.sum()) for x in lost) == 1
        drawn = lost
    trust.loss(name, answers, max_new=MAX_NEW, drawn=drawn).backward()
    pushed = 0
    for f, a in zip(found, answers, strict=True):
        expected = np.zeros(len(f)) if a.logp.grad is None else a.logp.grad.numpy()
        np.testing.assert_allclose(f, expected, rtol=3e-5, atol=1e-7)
        pushed += np.count_nonzero(expected)
    assert pushed > 3


# Gates


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_gate_table_by_autograd(sign: float) -> None:
    """Each gate is the derivative, in units of A, of the loss that its source writes."""

    def two_sided(logp: Tensor, advantage: Tensor) -> Tensor:
        r = logp.exp()
        return torch.maximum(-r.clamp(max=4.0) * advantage, -r.clamp(0.8, 1.2) * advantage)

    require_slope(
        clip, {"low": 0.2, "high": 0.28, "dual": None}, lambda x, a: trust.surrogate(x.exp(), a, 0.2, 0.28), sign
    )
    require_slope(clip, {"low": 0.2, "high": 0.2, "dual": 4.0}, two_sided, sign)
    require_slope(bounded, {"least": 0.8, "most": 1.28}, lambda x, a: -x.exp().clamp(0.8, 1.28).detach() * a * x, sign)
    require_slope(bounded, {"least": 0.0, "most": None}, lambda x, a: -x.exp() * a, sign)


# Relatives


ON_POLICY: dict[str, Objective] = {
    "clip": Objective(aggregate=SequenceMean()),
    "clip-higher": Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=SequenceMean()),
    "cispo": Objective(gate=Bounded(), aggregate=SequenceMean()),
    "gspo": Objective(ratio=SequenceRatio(), gate=Clip(low=3e-4, high=4e-4), aggregate=SequenceMean()),
    "tis": Objective(correct=(Truncate(),), aggregate=SequenceMean()),
    "seq-tis": Objective(correct=(Truncate(level="sequence", normalise=True),), aggregate=SequenceMean()),
    "icepop": Objective(correct=(Drop(low=0.5),), aggregate=SequenceMean()),
    "seq-mis": Objective(correct=(Drop(level="sequence"),), aggregate=SequenceMean()),
    "geo-rs": Objective(correct=(Reject(by="geometric", low=0.999, high=1.001),), aggregate=SequenceMean()),
    "k3-rs": Objective(correct=(Reject(by="k3", high=1e-3),), aggregate=SequenceMean()),
    "veto": Objective(correct=(Reject(by="least", low=1e-4),), aggregate=SequenceMean()),
}


@pytest.mark.parametrize("name", ON_POLICY)
def test_on_policy_all_of_them_are_reinforce(name: str) -> None:
    require_reinforce_on_policy(ON_POLICY[name])


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 5.0), st.sampled_from([-1.0, 1.0]))
@pytest.mark.slow
def test_ratios_of_answers_of_one_token_are_token_ratios(ratio: float, advantage: float) -> None:
    """GSPO of length one is PPO, so is the product."""
    rows, logp = of_ratios([ratio], advantage)
    token = pushes(Objective(gate=Clip(), aggregate=SequenceSum()), rows, logp)
    for of in ("mean", "product"):
        goal = Objective(ratio=SequenceRatio(of=of), gate=Clip(), aggregate=SequenceSum())  # type: ignore[arg-type]
        np.testing.assert_allclose(pushes(goal, rows, logp), token, rtol=1e-6)


@settings(max_examples=30, deadline=None)
@given(ratios, st.sampled_from([-1.0, 1.0]))
@pytest.mark.slow
def test_an_infinite_clip_is_the_plain_weight(values: list[float], advantage: float) -> None:
    rows, logp = of_ratios(values, advantage)
    one = pushes(Objective(gate=Clip(low=1.0, high=1e9), aggregate=TokenMean()), rows, logp)
    np.testing.assert_allclose(
        one, pushes(Objective(gate=Bounded(most=None), aggregate=TokenMean()), rows, logp), rtol=1e-6
    )


@settings(max_examples=30, deadline=None)
@given(ratios, st.randoms(use_true_random=False))
@pytest.mark.slow
def test_what_sees_whole_answers_does_not_see_the_order_of_their_tokens(values: list[float], random: Any) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    for ratio, gate in ((SequenceRatio(), Clip(high=9.0)), (SequenceRatio(of="product"), Bounded(most=None))):
        goal = Objective(ratio=ratio, gate=gate, aggregate=SequenceMean())
        found = [pushes(goal, *of_ratios(order, 1.0))[0][0] for order in (values, shuffled)]
        assert found[0] == pytest.approx(found[1], rel=1e-5)
