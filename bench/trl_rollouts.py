"""Trainers of TRL that ask for answers to prompts: what they are told, and what they compute otherwise."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.credit import GroupRelative
from assay.engine.local import LocalEngine
from assay.forwards import TokenKL
from assay.known import recipe
from assay.objective import Bounded, Clip, Objective, SequenceRatio
from assay.part import Gate
from assay.types import Batch, Row
from bench.trl_ours import GROUP, MAX_NEW, Taught, assessed, loss_of, packed

CLIP = 0.2
EPSILON = 1e-4  # TRL adds it to a standard deviation
CAP = 1.1  # of CISPO's weights, so that some are above it
RECIPES = {"grpo": "grpo", "dr_grpo": "dr-grpo", "bnpo": "dapo", "dapo": "dapo", "cispo": "cispo", "sapo": "sapo"}
ASKING = {"num_generations": GROUP, "max_completion_length": MAX_NEW, "temperature": 1.0, "shuffle_dataset": False}


@dataclass(frozen=True)
class Rollout:
    """Settings of the GRPO trainer and its kin, and the formula by which it differs from the recipe's parts."""

    loss_type: Literal["grpo", "dr_grpo", "bnpo", "dapo", "cispo", "sapo"]
    scale_rewards: Literal["group", "none", "batch"]
    parts: int = 1  # micro-batches of an update
    mask_truncated: bool = False
    iterations: int = 1
    trainer: Literal["GRPO", "GMPO"] = "GRPO"
    level: Literal["token", "sequence"] = "token"
    high: float = CLIP  # of the clip, or CISPO's cap

    @property
    def recipe(self) -> str:
        """Whose objective these settings mean."""
        if self.trainer == "GMPO":
            return "gmpo"
        return "gspo" if self.level == "sequence" else RECIPES[self.loss_type]

    @property
    def name(self) -> str:
        extra = [f"{self.parts} micro-batches"] * (self.parts > 1) + ["cut answers masked"] * self.mask_truncated
        kind = {"gmpo": "GMPO trainer", "gspo": "grpo of whole answers"}.get(self.recipe, self.loss_type)
        return ", ".join([kind, f"scale {self.scale_rewards}", *extra, *["2nd update"] * (self.iterations - 1)])

    @property
    def formulas(self) -> list[str]:
        found = []
        if self.scale_rewards == "group":
            found.append("A: (r - mean) / (s_g + 1e-4), ours 1e-6")
        if self.scale_rewards == "batch":
            found.append("A: (r - mean_g) / (s_B + 1e-4), s_B of all rewards, ddof 1; no part of ours, here dr-grpo's")
        if self.mask_truncated:
            rows = "in B" if self.loss_type in ("grpo", "dr_grpo") else "not in N"
            found.append(f"a cut answer stays in its group's mean and s_g, {rows}; ours leaves it out of all")
        if self.loss_type == "bnpo" and self.parts > 1:
            found.append("mean over K micro-batches of sum / N_k, ours sum / N")
        return found

    def options(self, rows: Sequence[Row]) -> dict[str, Any]:
        return ASKING | {
            "num_iterations": self.iterations,
            "loss_type": self.loss_type,
            "scale_rewards": self.scale_rewards,
            "mask_truncated_completions": self.mask_truncated,
            "beta": 0.0,
            "epsilon": CLIP,
            "epsilon_high": self.high,
            "importance_sampling_level": self.level,
        }

    def data(self, rows: Sequence[Row]) -> None:
        """It asks for answers."""

    def taught(
        self, rows: Sequence[Row], reference: LocalEngine, seen: dict[str, Any], *, theirs: bool
    ) -> list[Taught]:
        """What these answers teach by the recipe's parts, or with TRL's formulas."""
        batch, goal = batch_of(self, rows, theirs=theirs), objective_of(self)
        split = split_of(self, batch, seen) if theirs else [batch]
        return [Taught(part, goal, 1 / len(split)) for part in split]

    def loss(self, taught: Sequence[Taught]) -> float | None:
        """None in a second update, whose ratios are not 1."""
        return sum(map(loss_of, taught)) if self.iterations == 1 else None


def batch_of(case: Rollout, rows: Sequence[Row], *, theirs: bool) -> Batch:
    """The batch of these answers, as the recipe's parts make it or with TRL's formulas."""
    named = recipe("dr-grpo" if case.scale_rewards != "group" else "grpo").mechanism.credit
    assert isinstance(named, GroupRelative)
    if case.mask_truncated:
        counted = theirs and case.loss_type in ("grpo", "dr_grpo")
        marks = {"in_loss": False, "in_denominator": counted, "in_group": theirs}
        rows = [row.mark(**marks) if row.episode.finish == "length" else row for row in rows]
    batch = packed(rows, dataclasses.replace(named, epsilon=EPSILON) if theirs else named)
    if theirs and case.scale_rewards == "batch":
        spread = np.array([row.reward for row in rows]).std(ddof=1)
        batch = dataclasses.replace(batch, advantage=(batch.advantage / (spread + EPSILON)).astype(np.float32))
    return batch


def objective_of(case: Rollout) -> Objective:
    """The recipe's ratio and aggregate under the bounds that TRL was told; no reference."""
    goal = recipe(case.recipe).mechanism.objective
    gate: Gate = Bounded(least=0.0, most=case.high) if case.recipe == "cispo" else Clip(low=CLIP, high=case.high)
    if case.recipe == "gmpo":
        gate = dataclasses.replace(goal.gate, low=CLIP, high=case.high)  # type: ignore[call-arg]
    elif case.recipe == "sapo":
        gate = goal.gate
    return Objective(ratio=goal.ratio, gate=gate, aggregate=goal.aggregate)


def split_of(case: Rollout, batch: Batch, seen: dict[str, Any]) -> list[Batch]:
    """The batches whose means TRL averages: its micro-batches for bnpo, else the whole."""
    if case.loss_type != "bnpo" or case.parts == 1:
        return [batch]
    return [batch.select(places) for places in places_of(batch, [part["rows"] for part in seen["parts"]])]


def places_of(batch: Batch, parts: Sequence[Sequence[Sequence[int]]]) -> list[list[int]]:
    """The rows of our batch that are in each of TRL's micro-batches; which of equal rows it is does not matter."""
    waiting: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in range(len(batch)):
        context = batch.context[batch.context_at[row] : batch.context_at[row + 1]]
        answer = batch.ids[batch.at[row] : batch.at[row + 1]]
        waiting[tuple(int(token) for token in (*context, *answer))].append(row)
    return [[waiting[tuple(tokens)].pop() for tokens in part] for part in parts]


@dataclass(frozen=True)
class LeaveOneOut:
    """Settings of the RLOO trainer: the recipe's weight of the KL in the reward, or none."""

    penalised: bool = True
    iterations: int = 1
    trainer: str = "RLOO"
    parts: int = 1
    recipe: str = "rloo"

    @property
    def beta(self) -> float:
        (penalty,) = recipe(self.recipe).mechanism.forwards
        assert isinstance(penalty, TokenKL)
        return penalty.weight * self.penalised

    @property
    def name(self) -> str:
        return ", ".join(["RLOO trainer", f"beta {self.beta:g}", *["2nd update"] * (self.iterations - 1)])

    @property
    def formulas(self) -> list[str]:
        clipped = "- mean min(W A, clip(W, 1 - 0.2, 1 + 0.2) A), W = exp(sum_t (log pi - log pi_old)); ours no ratio"
        return [clipped] * (self.iterations > 1)

    def options(self, rows: Sequence[Row]) -> dict[str, Any]:
        return ASKING | {"num_iterations": self.iterations, "beta": self.beta, "epsilon": CLIP, "epsilon_high": CLIP}

    def data(self, rows: Sequence[Row]) -> None:
        """It asks for answers."""

    def taught(
        self, rows: Sequence[Row], reference: LocalEngine, seen: dict[str, Any], *, theirs: bool
    ) -> list[Taught]:
        mechanism = recipe(self.recipe).mechanism
        parts = mechanism if self.penalised else dataclasses.replace(mechanism, forwards=())
        goal = mechanism.objective
        if theirs and self.formulas:
            clip = Clip(low=CLIP, high=CLIP)
            goal = dataclasses.replace(goal, ratio=SequenceRatio(of="product"), gate=clip)
        return [Taught(packed(assessed(rows, parts, reference), mechanism.credit), goal)]

    def loss(self, taught: Sequence[Taught]) -> None:
        """TRL's is a mean of W A, which is 0 where all W are 1; ours is the likelihood weighted by A."""
