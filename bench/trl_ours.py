"""Our side of `bench.trl_gradient`: answers of the base, batches by the parts of a recipe, gradients of an update."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.collect import generate
from assay.credit import BatchRule, credit
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.engine.torch.engine import TorchEngine
from assay.forwards import run_forwards
from assay.memory import Memory
from assay.models import Models
from assay.objective import NoRatio, Objective
from assay.objective.improve import improve
from assay.objective.view import view_of_batch
from assay.part import Part, bind
from assay.policy import Policy, load_policy, save_policy
from assay.recipe import Mechanism
from assay.rng import Key
from assay.run import bases
from assay.run.base_training import ready
from assay.scale import Scale
from assay.types import Batch, Request, Reward, Row, Verdict
from bench import countdown_reward

PROMPTS, GROUP, MAX_NEW = 32, 8, 11  # a limit that cuts some answers
LEARNING_RATE = 1e-3  # one that leaves the clip's range within one update
NOISE = 0.3  # of a parameter's standard deviation, between the base and the reference

Gradient = dict[str, np.ndarray]


@dataclass(frozen=True)
class Taught:
    """A batch under an objective, and what its gradient and loss count in the whole."""

    batch: Batch
    objective: Objective
    weight: float = 1.0


def policy_folder() -> str:
    return ready("countdown")


def fresh(folder: str | Path) -> TorchEngine:
    policy = load_policy(folder)
    return TorchEngine(policy.network, end_ids=policy.end_ids, precision="fp32")


def write_reference(folder: Path) -> None:
    """The base with noise: a policy that its own answers tell from it."""
    policy, generator = load_policy(policy_folder()), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in policy.network.parameters():
            spread = NOISE * (parameter.std() if parameter.numel() > 1 else 0.0)
            parameter += spread * torch.randn(parameter.shape, generator=generator)
    save_policy(policy, folder)


def answers(policy: Policy) -> list[Row]:
    """What the base says to prompts of its pool, with the reward of `countdown_reward`."""
    engine = TorchEngine(policy.network, end_ids=policy.end_ids, optimiser=None, precision="fp32")
    key = Key(0)("trl-gradient")
    pool = bases.base("countdown").pool
    asked = []
    for problem in (pool.problem(key("problem", i)) for i in range(PROMPTS)):
        context = policy.codec.render(problem.prompt)
        asked += [Request(problem, context, problem.id, MAX_NEW, sample=i) for i in range(GROUP)]
    models = Models({"policy": engine}, {"policy": "policy"})
    made = generate(models, asked, key, policy.codec)
    values = countdown_reward.score(
        [[{"content": episode.text}] for episode in made],
        [episode.request.problem.spec["numbers"] for episode in made],
        [episode.request.problem.spec["target"] for episode in made],
    )
    judged = [
        {"rewards": (Reward("score", v),), "verdict": Verdict.ok() if v else Verdict.fail("wrong")} for v in values
    ]
    return [Row(dataclasses.replace(episode, **found)) for episode, found in zip(made, judged, strict=True)]


def packed(rows: Sequence[Row], part: Part) -> Batch:
    """The batch of these rows with the advantages of this credit."""
    (batch,) = credit(rows, Memory(0), rule_of=lambda role: BatchRule((partial(bind(part)),), role))
    return batch


def assessed(rows: Sequence[Row], mechanism: Mechanism, reference: LocalEngine) -> list[Row]:
    """The rows with what the recipe's parts and objective want of policy and reference before the first update."""
    models = Models({"policy": fresh(policy_folder()), "reference": reference}, {"policy": "policy"})
    found, _ = run_forwards(
        models,
        rows,
        Memory(0),
        objective=lambda role: mechanism.objective,
        batch_of=lambda role: role,
        num_updates=1,
        parts=[bind(part) for part in mechanism.forwards],
    )
    return found


def curated(rows: Sequence[Row], mechanism: Mechanism) -> list[Row]:
    """The rows as the recipe's parts mark them."""
    for part in mechanism.curate:
        rows = bind(part)(rows, memory=Memory(0))
    return list(rows)


def gradient_of(taught: Sequence[Taught], *, updates: int) -> Gradient:
    found = [(one.weight, gradients(one.batch, one.objective, updates=updates)[0]) for one in taught]
    return {name: sum(weight * gradient[name] for weight, gradient in found) for name in found[0][1]}  # pyright: ignore


def gradients(batch: Batch, objective: Objective, *, updates: int = 1) -> tuple[Gradient, float]:
    """The gradient of the last of these updates on a batch, and the share of tokens that its gate shut."""
    engine = fresh(policy_folder())
    if updates > 1:
        batch = dataclasses.replace(batch, old=scores_of(engine, batch))
    scale = Scale(PROMPTS, GROUP, MAX_NEW, LEARNING_RATE, num_steps=1, num_epochs=updates, clip_norm=None)
    found = kept_gradients(engine)
    stats = improve(engine, batch, objective=objective, scale=scale, key=Key(0), micro_tokens=2048)
    return found[-1], stats.get("policy/clip_fraction", 0.0) * updates


def loss_of(taught: Taught) -> float:
    """The value before the first update: of a loss of whole rows, of a likelihood, or where all ratios are 1 of
    - sum of weight x advantage; what is minimised of the latter is a sum of weight x advantage x log p.
    """
    batch, objective = taught.batch, taught.objective
    weight = bind(objective.aggregate)(batch, max_new=MAX_NEW)
    if objective.whole is not None:
        logp = torch.from_numpy(scores_of(fresh(policy_folder()), batch))
        value = bind(objective.whole)(view_of_batch(batch, key=Key(0), logp=logp), weight=torch.tensor(weight))
        return taught.weight * float(value)
    each = weight * batch.mask * batch.advantage
    if isinstance(objective.ratio, NoRatio):
        each = each * scores_of(fresh(policy_folder()), batch)
    return -taught.weight * float(each.sum())


def scores_of(engine: LocalEngine, batch: Batch) -> np.ndarray:
    """An engine's log-probabilities of every token."""
    contexts = np.split(batch.context, batch.context_at[1:-1])
    spans = [Span(c, ids, 1.0) for c, ids in zip(contexts, np.split(batch.ids, batch.at[1:-1]), strict=True)]
    return np.concatenate([scores.logp for scores in engine.score(spans)])


def kept_gradients(engine: LocalEngine) -> list[Gradient]:
    """A list to which every step of this engine adds the gradient that it is about to use."""
    found: list[Gradient] = []
    step = engine.step

    def kept(*, lr: float, clip: float | None, moments: str = "") -> Any:
        engine.hand_out()
        found.append({name: p.grad.numpy().copy() for name, p in engine.model.named_parameters() if p.grad is not None})
        return step(lr=lr, clip=clip, moments=moments)

    engine.step = kept
    return found


def compared(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> dict[str, float]:
    """|a - b| / |b| and the cosine, over all parameters."""
    if set(a) != set(b):
        raise ValueError(f"gradients of different parameters: {sorted(set(a) ^ set(b))[:4]}")
    x, y = (np.concatenate([side[name].ravel() for name in sorted(b)]).astype(np.float64) for side in (a, b))
    norms = np.linalg.norm(x), np.linalg.norm(y)
    return {"distance": float(np.linalg.norm(x - y) / norms[1]), "cosine": float(x @ y / (norms[0] * norms[1]))}
