"""Every recipe learns a task of letters in a second, and unlearns it with the sign of its advantages turned."""

from __future__ import annotations

import numpy as np
import pytest
from tiny import POOL, Letters, policy, recipe_of, register, run

from assay.engine.interface import Span
from assay.recipe import Recipe
from assay.recipes import RECIPES
from assay.rng import Key

STEPS = 32
RL = ("reinforce", "rloo", "grpo", "dr-grpo", "dapo")


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def small(name: str) -> Recipe:
    samples = {} if RECIPES[name].scale.group_size == 1 else {"group_size": 8}
    rows = {"num_prompts": 64 if not samples else 8}
    return recipe_of(name, max_new=3, num_steps=STEPS, learning_rate=0.02, warmup_steps=2, **rows, **samples)


def quarters(values: np.ndarray) -> tuple[float, float]:
    """By how much the last quarter is above the first, and the standard error of that."""
    first, last = values[: STEPS // 4], values[-STEPS // 4 :]
    error = np.sqrt(first.var(ddof=1) / len(first) + last.var(ddof=1) / len(last))
    return last.mean() - first.mean(), error


@pytest.mark.parametrize("name", RL)
def test_reward_rises(name: str) -> None:
    notes, memory = run(small(name), policy("fp32", init_std=0.1))
    gain, error = quarters(notes.accuracy())
    assert gain > 3 * error and gain > 0.1
    assert memory.step == STEPS


@pytest.mark.parametrize("name", RL)
def test_reward_falls_with_the_sign_turned(name: str) -> None:
    notes, _ = run(small(name), policy("fp32", init_std=0.1), flipped=True)
    gain, error = quarters(notes.accuracy())
    assert gain < -3 * error


@pytest.mark.parametrize("flipped", [False, True])
def test_likelihood_of_solutions_rises_with_sft_and_falls_with_the_sign_turned(flipped: bool) -> None:
    engine, codec = policy("fp32", init_std=0.1), Letters()
    problems = [POOL.problem(Key("held out")(i)) for i in range(8)]
    spans = [Span(codec.render(p.prompt), np.append(codec.encode(p.solution or ""), np.int32(0))) for p in problems]

    def likelihood() -> float:
        return float(np.mean([scores.logp.sum() for scores in engine.score(spans)]))

    before = likelihood()
    notes, memory = run(small("sft"), engine, flipped=flipped)
    assert likelihood() < before - 1 if flipped else likelihood() > before + 1
    assert memory.budget.generated_tokens == 0
    assert all((accuracy == 1.0) for accuracy in notes.accuracy())  # worked solutions are right
