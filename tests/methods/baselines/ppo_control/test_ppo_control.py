"""PPO for control: on a chain of five states it finds what dynamic programming finds; and what plain policy gradients
are there, summed over all episodes.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from acting import CODEC, engine_of, walked_by_hand
from tiny import Notes
from torch import Tensor

from assay.assemble import assemble
from assay.collect.spoken import earned_by_turn
from assay.credit import pack
from assay.engine.interface import Want
from assay.engine.optimiser import AdamW
from assay.engine.steps.engine import StepsEngine, StepsValueEngine
from assay.known import RECIPES
from assay.loop import train
from assay.memory import Memory
from assay.models import Models
from assay.objective.improve import accumulate
from assay.part import bind
from assay.policy.plain_folder import fresh_table
from assay.rng import Key
from assay.source import Pool, Share
from assay.types import Row, changed
from assay.worlds.chain import FAR, LEFT, NEAR, RIGHT

STATES, START, MOST = 5, 2, 6


def every_episode() -> list[list[int]]:
    """All sequences of actions from the start of the chain to an end, or to the limit."""
    found, open_ = [], [([], START)]
    while open_:
        actions, state = open_.pop()
        if state in (0, STATES - 1) or len(actions) == MOST:
            found.append(actions)
        else:
            open_ += [([*actions, LEFT], state - 1), ([*actions, RIGHT], state + 1)]
    return found


def paid(actions: list[int]) -> float:
    state = START + sum(1 if action == RIGHT else -1 for action in actions)
    return {0: NEAR, STATES - 1: FAR}.get(state, 0.0)


def chances(logits: Tensor, actions: list[int]) -> Tensor:
    """log-prob of these actions under a table of logits [states, actions]."""
    logp, state, total = torch.log_softmax(logits, -1), START, torch.zeros((), dtype=torch.float64)
    for action in actions:
        total, state = total + logp[state, action], state + (1 if action == RIGHT else -1)
    return total


def test_all_episodes_are_listed() -> None:
    """Of 2^6 sequences those that end early are prefixes of several: their chances sum to one."""
    uniform = torch.zeros(STATES, 2, dtype=torch.float64)
    assert sum(float(chances(uniform, actions).exp()) for actions in every_episode()) == pytest.approx(1, abs=1e-15)


def test_the_expected_gradient_of_reinforce_is_the_exact_one() -> None:
    """Every episode of the chain as a row, its advantage weighted by its chance: the sum over all of them is the
    gradient of J = sum_episodes chance * return, to ten digits.
    """
    engine = engine_of("tabular")
    logits = engine.model.head.weight.detach().T.clone().requires_grad_(True)
    value = sum((chances(logits, actions).exp() * paid(actions) for actions in every_episode()), torch.zeros(()))
    (exact,) = torch.autograd.grad(value, logits)
    recipe, found = RECIPES["reinforce"], torch.zeros_like(exact)
    episodes = [walked_by_hand(actions, most=MOST, sample=i) for i, actions in enumerate(every_episode())]
    rows = [Row.of(changed(episode, rewards=earned_by_turn(episode))) for episode in episodes]
    rows = bind(recipe.mechanism.credit, group_size=1)(rows, memory=Memory(0))
    for row, actions in zip(rows, every_episode(), strict=True):
        assert row.advantage is not None and set(row.advantage.tolist()) == {paid(actions)}
        engine.optimiser.clear()  # type: ignore[union-attr]
        accumulate(engine, pack([row]), np.ones(len(actions)), recipe.mechanism.objective, 1 << 20)
        gradient = engine.model.head.weight.grad
        assert gradient is not None
        found -= chances(logits, actions).exp().detach() * gradient.T
    np.testing.assert_allclose(found.numpy(), exact.numpy(), rtol=0, atol=1e-10)
    assert exact.abs().max() > 1e-3


GAMMA = 0.4  # so that the near end is best next to it, and the far end elsewhere


def best() -> tuple[np.ndarray, list[int]]:
    """Dynamic programming without a limit: the value of each state, and the best action in each between the ends."""
    value, actions = np.zeros(STATES), [0] * STATES
    for _ in range(100):
        choices = [(left_of(value, s), right_of(value, s)) for s in range(1, STATES - 1)]
        value[1:-1], actions = [max(pair) for pair in choices], [int(right > left) for left, right in choices]
    return value, actions


def left_of(value: np.ndarray, state: int) -> float:
    return NEAR if state == 1 else GAMMA * value[state - 1]


def right_of(value: np.ndarray, state: int) -> float:
    return FAR if state == STATES - 2 else GAMMA * value[state + 1]


def worth(chance_of_right: np.ndarray) -> np.ndarray:
    """The exact value of each state between the ends under these chances to go right."""
    value = np.zeros(STATES)
    for _ in range(200):
        inner = zip(chance_of_right, range(1, STATES - 1), strict=True)
        value[1:-1] = [(1 - p) * left_of(value, s) + p * right_of(value, s) for p, s in inner]
    return value


@pytest.mark.slow
def test_it_reaches_the_optimum_of_dynamic_programming() -> None:
    """Right in two of the three states and left in the third; each value within a hundredth of the best one's."""
    value, actions = best()
    assert actions == [LEFT, RIGHT, RIGHT] and value[1:-1].tolist() == [0.25, 0.4, 1.0]
    recipe = dataclasses.replace(RECIPES["ppo-control"])
    (critic,) = recipe.mechanism.forwards
    mechanism = dataclasses.replace(
        recipe.mechanism,
        forwards=(dataclasses.replace(critic, gamma=GAMMA),),
        credit=dataclasses.replace(recipe.mechanism.credit, gamma=GAMMA),
    )
    scale = dataclasses.replace(recipe.scale, learning_rate=0.05, num_steps=40, num_epochs=10)
    recipe = dataclasses.replace(recipe, mechanism=mechanism, scale=scale)
    engine = StepsEngine(fresh_table("5x2", key=Key(0)).network, end_ids=frozenset(), optimiser=AdamW())
    valued = StepsValueEngine(fresh_table("5x2", key=Key(0)).network, end_ids=frozenset(), optimiser=AdamW())
    models = Models({"policy": engine, "critic": valued}, recipe.roles, recipe.models)
    stages = assemble(recipe, pool=Pool((Share("chain:5", (1,)),)), codec=CODEC, micro_tokens=2048)
    memory = train(stages, models, Memory(0), Notes())
    assert memory.budget.generated_tokens == 40 * 8 * 32
    chances_ = torch.softmax(engine.model.head.weight.detach().T, -1).numpy()[1:-1, RIGHT]
    assert [int(p > 0.5) for p in chances_] == actions
    np.testing.assert_allclose(worth(chances_), value, atol=0.01)
    (chunk,) = valued.chunks(pack([Row.of(walked_by_hand([LEFT, RIGHT, RIGHT, RIGHT]))]), tokens=64)
    said = valued.forward(chunk, Want(value=True)).value
    assert said is not None  # of the states 2, 1, 2, 3
    np.testing.assert_allclose(said.detach().numpy(), value[[2, 1, 2, 3]], atol=0.05)
