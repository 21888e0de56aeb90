"""The gradient of E[R] - beta D(policy, old) from samples of the old policy, by enumeration of all of them."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from tiny import Table, episode, recipe_of, update
from torch import Tensor
from whole_gradients import gradient_of, require_reinforce_with_a_baseline

from assay.credit import pack
from assay.known import RECIPES
from assay.methods.losses.rpg.losses import Divergence, OldKL, RegularisedReinforce
from assay.objective import Clip, NoRatio, Objective, Open, SequenceSum, TokenMean
from assay.scale import Scale
from assay.types import Row

TOKENS, STEPS, BETA = 5, 3, 0.7
SCALE = Scale(num_prompts=1, group_size=1, max_new=STEPS, learning_rate=0.1, num_steps=1)
DIVERGENCES: tuple[Divergence, ...] = ("fkl", "ufkl", "rkl", "urkl")
ANSWERS = list(itertools.product(range(TOKENS), repeat=STEPS))
STATES = [start for length in range(STEPS) for start in itertools.product(range(TOKENS), repeat=length)]


def tree(seed: int) -> tuple[Tensor, Tensor, np.ndarray]:
    """Logits of the policy, a leaf, log-probs of the old policy and advantages: [state, token]."""
    random = np.random.default_rng(seed)
    logits, old = (torch.from_numpy(random.normal(0, 0.7, (len(STATES), TOKENS))) for _ in range(2))
    return logits.requires_grad_(), old.log_softmax(-1), random.normal(0, 1, (len(STATES), TOKENS))


def divergence_of(kind: str, log_pi: Tensor, log_old: Tensor) -> Tensor:
    """Of one state, over all tokens: its definition."""
    p, q = (log_old.exp(), log_pi.exp()) if "fkl" in kind else (log_pi.exp(), log_old.exp())
    plain = (p * (p / q).log()).sum()
    return plain + q.sum() - p.sum() if kind.startswith("u") else plain


def gradient_of_the_definition(kind: str, seed: int) -> Tensor:
    """Of sum_s d_old(s) (E_pi[A(s, a)] - beta D_s): tokens are what is weighed, states are those of the old policy."""
    logits, old, advantage = tree(seed)
    log_pi, total = logits.log_softmax(-1), torch.zeros((), dtype=torch.float64)
    for i, state in enumerate(STATES):
        reached = sum(old[STATES.index(state[:t]), state[t]] for t in range(len(state)))
        here = (log_pi[i].exp() * torch.from_numpy(advantage[i])).sum() - BETA * divergence_of(kind, log_pi[i], old[i])
        total = total + math.exp(float(reached)) * here
    total.backward()
    assert logits.grad is not None
    return logits.grad


def gradient_of_the_loss(goal: Objective, seed: int) -> Tensor:
    """Mean over the old policy's answers, each through the real update."""
    logits, old, advantage = tree(seed)
    log_pi = logits.log_softmax(-1)
    rows, logp, places = [], {}, []
    for sample, answer in enumerate(ANSWERS):
        where = [STATES.index(answer[:t]) for t in range(STEPS)]
        made = episode(list(answer), sample=sample)
        known = old[where, list(answer)].numpy()
        rows.append(Row(made).mark(old=known.astype(np.float32), advantage=advantage[where, list(answer)]))
        logp[made.request.id] = log_pi[where, list(answer)].tolist()
        places.append((made.request.id, where, known.sum()))
    table = Table(logp, rows=7)
    update(table, pack(rows), goal, SCALE)
    total = torch.zeros((), dtype=torch.float64)
    for (name, where, known), answer in zip(places, ANSWERS, strict=True):
        coefficient = torch.from_numpy(table.coefficients[name]) * len(ANSWERS) * math.exp(known)
        total = total + (coefficient * log_pi[where, list(answer)]).sum()
    total.backward()
    assert logits.grad is not None
    return logits.grad


def goals(kind: Divergence) -> list[Objective]:
    """Both forms without a clip."""
    term = OldKL(weight=BETA, divergence=kind)
    whole = RegularisedReinforce(beta=BETA, divergence=kind, low=1.0, high=1e9)
    through = Objective(gate=Clip(low=1.0, high=1e9), aggregate=SequenceSum(), regularise=(term,))
    return [through, Objective(whole=whole, ratio=NoRatio(), gate=Open(), aggregate=SequenceSum())]


@pytest.mark.parametrize("kind", DIVERGENCES)
@pytest.mark.parametrize("form", [0, 1], ids=["through the ratio", "as likelihood"])
def test_each_row_of_the_table_by_enumeration(kind: Divergence, form: int) -> None:
    expected = gradient_of_the_definition(kind, 3)
    found = -gradient_of_the_loss(goals(kind)[form], 3)
    assert expected.norm() > 0.1
    assert (found - expected).norm() <= 1e-6 * expected.norm()


def test_the_table_tells_the_divergences_apart() -> None:
    """Only where the normaliser is the sole difference do two rows agree."""
    found = [gradient_of_the_definition(kind, 3) for kind in DIVERGENCES]
    assert (found[0] - found[1]).norm() < 1e-12 and (found[2] - found[3]).norm() < 1e-12
    assert (found[0] - found[2]).norm() > 1e-2


RATIOS = (0.3, 0.79, 0.9, 1.0, 1.2, 1.3, 5.0, 11.0)
PULL = {
    "fkl": lambda w: 1.0,
    "ufkl": lambda w: 1 - w,
    "rkl": lambda w: -w * (math.log(w) + 1),
    "urkl": lambda w: -w * math.log(w),
}


def coefficients(goal: Objective, advantage: float) -> list[float]:
    """- d loss / d log pi at these ratios, in rows of one token."""
    rows, logp = [], {}
    for sample, ratio in enumerate(RATIOS):
        made = episode([1], sample=sample)
        rows.append(Row(made).mark(old=np.array([-2.0 - math.log(ratio)], np.float32), advantage=np.array([advantage])))
        logp[made.request.id] = [-2.0]
    table = Table(logp)
    update(table, pack(rows), goal, SCALE)
    return [-float(table.coefficients[name][0]) * len(RATIOS) for name in logp]


@pytest.mark.parametrize("kind", DIVERGENCES)
@pytest.mark.parametrize("advantage", [1.0, -1.0, 0.0])
def test_outside_the_clip_reward_and_divergence_are_silent(kind: Divergence, advantage: float) -> None:
    """Clips of 0.2 and 0.28, a dual one at 10. Inside, the divergence sees the ratio held in [0.8, 1.28]."""
    whole = RegularisedReinforce(beta=0.3, divergence=kind, low=0.2, high=0.28, dual=10.0)
    expected = []
    for w in RATIOS:
        shut = (advantage > 0 and w > 1.28) or (advantage < 0 and (w < 0.8 or w > 10))
        expected.append(0.0 if shut else w * advantage + 0.3 * PULL[kind](min(max(w, 0.8), 1.28)))
    found = coefficients(Objective(whole=whole, ratio=NoRatio(), gate=Open(), aggregate=SequenceSum()), advantage)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_differentiated_the_divergence_is_clipped_nowhere(kind: Divergence) -> None:
    term = OldKL(weight=0.3, divergence=kind)
    goal = Objective(gate=Clip(low=0.2, high=0.28, dual=10.0), aggregate=SequenceSum(), regularise=(term,))
    expected = [w * (w <= 1.28) + 0.3 * PULL[kind](w) for w in RATIOS]
    np.testing.assert_allclose(coefficients(goal, 1.0), expected, rtol=1e-5, atol=1e-7)


def test_the_recipes_are_the_table() -> None:
    for kind in DIVERGENCES:
        plain, likelihood = (RECIPES[name].mechanism.objective for name in (f"rpg-{kind}", f"rpg-{kind}-reinforce"))
        assert plain.regularise == (OldKL(weight=1e-4, divergence=kind),)
        assert likelihood.whole == RegularisedReinforce(1e-4, kind, low=0.2, high=0.28, dual=10.0)
        assert dataclasses.replace(plain, regularise=()) == Objective(gate=Clip(0.2, 0.28, 10.0))
    assert recipe_of("rpg-fkl").scale.num_minibatches == 2


@pytest.mark.parametrize("name", [f"rpg-{d}{more}" for d in ("ufkl", "urkl") for more in ("", "-reinforce")])
def test_on_policy_a_step_of_rpg_is_reinforce_with_a_baseline(name: str) -> None:
    """Divergences without a normaliser are silent at the old policy, whatever their weight."""
    require_reinforce_with_a_baseline(gradient_of(name), "dr-grpo", TokenMean())
