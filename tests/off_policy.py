"""Ragged answers off policy, what a formula knows of them, and the coefficients that the library finds.

There are tokens of an environment, a row of nothing else, an empty and a truncated answer, one right of eight, a group
that is all right, one that is all wrong, one in which nothing trains and one that shrank to a single answer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tiny import Table, episode, segment, update
from torch import Tensor

from assay.credit import pack
from assay.engine.interface import Chunk, Outputs, Want
from assay.known import PARTS
from assay.objective import Objective
from assay.scale import Scale
from assay.streams import Stream
from assay.types import Origin, Row

DECLARED = {
    stream.name: stream
    for kind in PARTS.values()
    for part in kind.values()
    for stream in part.writes
    if isinstance(stream, Stream)
}
"""What parts find out for each other, by name: a method that is deleted takes its own along."""

SCALE = Scale(num_prompts=2, group_size=3, max_new=8, learning_rate=0.5, num_steps=10)


@dataclass
class Answer:
    """What a formula knows of a row. Tensors [T] of its tokens that train; the log-probs are leaves."""

    group: str
    right: bool
    advantage: float
    logp: Tensor
    old: Tensor
    ref: Tensor
    drift: Tensor  # mean over the vocabulary of log pi - log pi_old
    partition: float

    @property
    def length(self) -> int:
        return len(self.logp)


@dataclass
class World:
    rows: list[Row]
    answers: list[Answer]
    table: Callable[[int | None], Table]

    def learnt(self, objective: Objective, *, cut: int | None = None) -> list[np.ndarray]:
        """The coefficients of the tokens that train, row by row."""
        table = self.table(cut)
        batch = pack(self.rows)
        update(table, batch, objective, SCALE)
        found = []
        for i, name in enumerate(batch.request):
            mask = batch.mask[batch.at[i] : batch.at[i + 1]]
            whole = table.coefficients.get(name, np.zeros(len(mask)))
            assert not whole[~mask].any()
            found.append(whole[mask])
        return found

    def require(self, objective: Objective, formula: Callable[[Sequence[Answer]], Tensor]) -> None:
        """In chunks of any size, the derivative of the formula."""
        formula(self.answers).backward()
        for cut in (None, 1, 3):
            for one, answer in zip(self.learnt(objective, cut=cut), self.answers, strict=True):
                expected = np.zeros(len(one)) if answer.logp.grad is None else answer.logp.grad.numpy()
                np.testing.assert_allclose(one, expected, rtol=2e-5, atol=1e-7)


class Averaged(Table):
    """A table that knows the means over the vocabulary too."""

    means: dict[str, Sequence[float]]

    def forward(self, chunk: Chunk, want: Want) -> Outputs:
        out = super().forward(chunk, want)
        mean = torch.tensor([x for name in chunk.batch.request for x in self.means[name]], dtype=torch.float64)
        return dataclasses.replace(out, mean_logp=mean if want.mean_logp else None)


Shapes = Mapping[str, Sequence[tuple[str, bool]]]
SHAPES: Shapes = {
    "one of eight": [("p" * n, n == 3) for n in (2, 4, 3, 1, 5, 2, 2, 1)],
    "all right": [("pp", True), ("p", True), ("ppp", True)],
    "all wrong": [("p", False), ("pp", False)],
    "silent": [("ee", True), ("", False)],
    "tools": [("pepp", True), ("ee", False), ("epp", False), ("", False)],
    "alone": [("ppp", True)],
}


def world(
    seed: int = 0, *, on_policy: bool = False, shapes: Mapping[str, Sequence[tuple[str, bool]]] = SHAPES
) -> World:
    random = np.random.default_rng(seed)
    rows, answers, logps, means = [], [], {}, {}
    for group, members in shapes.items():
        for i, (parts, right) in enumerate(members):
            size, known = len(parts), {"old": None, "mu": None}
            pieces = [segment([1], origin=Origin.ENV if c == "e" else Origin.POLICY) for c in parts]
            pieces = [dataclasses.replace(piece, **known) for piece in pieces]
            logp, advantage = random.uniform(-4, -0.1, size), float(np.float32(random.normal()))
            log_ratio = 0.0 if on_policy else random.uniform(math.log(0.2), math.log(5), size)
            old, ref = ((logp - x).astype(np.float32) for x in (log_ratio, random.normal(0, 0.5, size)))
            before = random.uniform(-9, -5, size).astype(np.float32)
            mean = before + (0.0 if on_policy else random.normal(0, 0.3, size))
            own = float(np.float32(random.normal()))
            made = episode(pieces, group=group, sample=i, reward=float(right), finish="length" if i == 2 else "stop")
            found_out = {
                DECLARED[name]: x for name, x in {"mean_logp": before, "log_z": own}.items() if name in DECLARED
            }
            row = Row(made, advantage=np.full(size, advantage), old=old, ref=ref, constants=found_out)
            rows.append(row)
            logps[made.request.id], means[made.request.id] = logp.tolist(), mean.tolist()
            mine = np.array([c == "p" for c in parts], bool)
            given = [torch.from_numpy(np.asarray(x)[mine].astype(np.float64)) for x in (logp, old, ref, mean - before)]
            leaf, *others = given
            answers.append(Answer(group, right, advantage, leaf.requires_grad_(), others[0], others[1], others[2], own))

    def table(cut: int | None) -> Table:
        found = Averaged(logps, rows=cut)
        found.means = means
        return found

    return World(rows, answers, table)


def groups(answers: Sequence[Answer]) -> list[list[Answer]]:
    """Members with a token, of groups of two or more."""
    names = dict.fromkeys(a.group for a in answers)
    found = [[a for a in answers if a.group == name and a.length] for name in names]
    return [members for members in found if len(members) > 1]
