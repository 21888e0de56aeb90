"""Trainers of TRL that learn from a data set of preferences, which are made of the same answers."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.credit import Constant
from assay.curate.grouping import MISMATCHED
from assay.curate.pairs import SIDES
from assay.engine.local import LocalEngine
from assay.known import recipe
from assay.part import WholeLoss
from assay.recipe import Mechanism
from assay.types import Row
from bench.trl_ours import GROUP, Taught, assessed, curated, loss_of, packed

LOSSES = {"dpo": ["sigmoid"], "ipo": ["ipo"], "iter-dpo": ["sigmoid", "sft"]}


@dataclass(frozen=True)
class Paired:
    """Settings of the DPO trainer, on the pairs that the recipe marks."""

    recipe: Literal["dpo", "ipo", "iter-dpo"]
    iterations: int = 1
    trainer: str = "DPO"
    parts: int = 1

    @property
    def mechanism(self) -> Mechanism:
        return recipe(self.recipe).mechanism

    @property
    def name(self) -> str:
        kind = " + ".join(LOSSES[self.recipe])
        return ", ".join([f"DPO trainer, {kind}", *["2nd update"] * (self.iterations - 1)])

    @property
    def formulas(self) -> list[str]:
        tokens = "the likelihood: mean over all tokens of the winners; ours over winners of the mean over their tokens"
        return [tokens] * (self.recipe == "iter-dpo")

    def options(self, rows: Sequence[Row]) -> dict[str, Any]:
        whole, kinds = self.mechanism.objective.whole, LOSSES[self.recipe]
        beta = numbers_of(whole)["tau" if self.recipe == "ipo" else "beta"]
        return {"loss_type": kinds, "loss_weights": [1.0] * len(kinds), "beta": beta}

    def data(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        marked = curated(rows, self.mechanism)
        return [
            {
                "prompt": spelt("user", marked[winner].episode.training_context),
                "chosen": spelt("assistant", marked[winner].episode.stream("ids")),
                "rejected": spelt("assistant", marked[loser].episode.stream("ids")),
            }
            for winner, loser in couples(marked)
        ]

    def taught(
        self, rows: Sequence[Row], reference: LocalEngine, seen: dict[str, Any], *, theirs: bool
    ) -> list[Taught]:
        """What these answers teach by the recipe's parts, or with TRL's formulas."""
        mechanism, goal = self.mechanism, self.mechanism.objective
        marked = assessed(curated(rows, mechanism), mechanism, reference)
        batch, whole = packed(marked, mechanism.credit), goal.whole
        likelihood = numbers_of(whole).get("likelihood", 0.0)
        if not (theirs and likelihood):
            return [Taught(batch, goal)]
        alone = dataclasses.replace(goal, whole=dataclasses.replace(whole, likelihood=0.0))  # type: ignore[type-var]
        winners = packed([marked[winner] for winner, _ in couples(marked)], Constant(1.0))
        return [Taught(batch, alone), Taught(winners, recipe("sft").mechanism.objective, likelihood)]

    def loss(self, taught: Sequence[Taught]) -> float | None:
        return sum(map(loss_of, taught)) if self.iterations == 1 else None


def numbers_of(whole: WholeLoss | None) -> dict[str, float]:
    """The hyper-parameters of a loss."""
    assert whole is not None
    return dataclasses.asdict(whole)


def couples(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Winner and loser of all pairs that are marked."""
    found = []
    for k in range(max((len(row.constants[SIDES]) for row in rows), default=0)):
        sides: dict[str, dict[float, int]] = defaultdict(dict)
        for place, row in enumerate(rows):
            sides[row.group][float(row.constants[SIDES][k])] = place
        found += [(both[1.0], both[-1.0]) for both in sides.values() if 1.0 in both]
    return found


def spelt(role: str, ids: np.ndarray) -> list[dict[str, str]]:
    """Messages whose text is ids: what a model answered is not always what its text would be encoded to."""
    return [{"role": role, "content": " ".join(map(str, ids.tolist()))}]


@dataclass(frozen=True)
class Unpaired:
    """Settings of the KTO trainer: the weight of a right answer, and the order of the data, which makes its level."""

    balanced: bool = True  # l = n_wrong / n_right, else 1
    mixed: bool = True  # next to each other are answers to different questions
    iterations: int = 1
    trainer: str = "KTO"
    parts: int = 1
    recipe: str = "kto"

    @property
    def mechanism(self) -> Mechanism:
        return recipe(self.recipe).mechanism

    @property
    def name(self) -> str:
        weight = "l = n_wrong / n_right" if self.balanced else "l = 1"
        together = ["answers to a question together"] * (not self.mixed)
        return ", ".join([f"KTO trainer, {weight}", *together, *["2nd update"] * (self.iterations - 1)])

    @property
    def formulas(self) -> list[str]:
        found = [] if self.balanced else ["l = 1; ours n_wrong / n_right"]
        if not self.mixed:
            found.append("z over answers under the question of the row after, mostly their own; ours the next question")
        return found

    def options(self, rows: Sequence[Row]) -> dict[str, Any]:
        told = {"desirable_weight": 1 / odds(rows) if self.balanced else 1.0, "undesirable_weight": 1.0}
        return told | {"beta": numbers_of(self.mechanism.objective.whole)["beta"]}

    def data(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        starts = range(0, len(rows), GROUP)
        order = [i + start for i in range(GROUP) for start in starts] if self.mixed else range(len(rows))
        return [
            {
                "prompt": spelt("user", rows[i].episode.training_context),
                "completion": spelt("assistant", rows[i].episode.stream("ids")),
                "label": rows[i].episode.right,
            }
            for i in order
        ]

    def taught(
        self, rows: Sequence[Row], reference: LocalEngine, seen: dict[str, Any], *, theirs: bool
    ) -> list[Taught]:
        """What these answers teach by the recipe's parts, or with TRL's formulas."""
        mechanism, goal = self.mechanism, self.mechanism.objective
        if theirs and not self.balanced:
            goal = dataclasses.replace(goal, whole=dataclasses.replace(goal.whole, balance=odds(rows)))  # type: ignore[type-var]
        marked = [*rows, *rotated(rows)] if theirs and not self.mixed else curated(rows, mechanism)
        return [Taught(packed(assessed(marked, mechanism, reference), mechanism.credit), goal)]

    def loss(self, taught: Sequence[Taught]) -> float | None:
        return sum(map(loss_of, taught)) if self.iterations == 1 else None


def odds(rows: Sequence[Row]) -> float:
    """Right answers by wrong ones."""
    right = sum(row.episode.right for row in rows)
    return right / (len(rows) - right)


def rotated(rows: Sequence[Row]) -> list[Row]:
    """Each answer under the question of the row after it, for KTO's level alone."""
    after = [*rows[1:], *rows[:1]]
    moved = [
        dataclasses.replace(row.episode, context=other.episode.training_context)
        for row, other in zip(rows, after, strict=True)
    ]
    return [
        row.mark(episode=episode, in_group=False, in_denominator=False, tag=MISMATCHED)
        for row, episode in zip(rows, moved, strict=True)
    ]
