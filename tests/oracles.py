"""Oracles: what a paper says of an optimiser step, in plain Python, which the library is held against.

Beside the tests of a method, `oracle.py` says it for each of its recipes, with what papers share from `formulas`:

    ORACLES = {"calm": Oracle(standardised(), calm, own_mean)}
    TESTED = {"luffy": "test_coefficients_of_a_mixed_group"}   a test of the folder works the coefficients out instead

A loss is written as the source writes it, to be differentiated by autograd, where the library has gates and weights.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from of_methods import folder_of, said
from torch import Tensor

from assay.types import Origin, Row

Rows = Sequence[Sequence[float]]
"""The advantages of the tokens of several answers."""


@dataclass(frozen=True)
class Answer:
    """What a paper knows of an answer; a tensor has a value for each of its tokens."""

    logp: Tensor  # with its graph, as `entropy` and `top`
    old: Tensor
    mu: Tensor  # what the sampler said
    ref: Tensor
    entropy: Tensor
    hesitated: Tensor  # the entropies when it was sampled
    own: Tensor  # bool: the policy wrote it
    given: Tensor  # bool: somebody else wrote it
    trains: Tensor  # bool: it would train, were the answer in the loss
    reward: float
    right: bool
    group: str
    cell: str  # role and task
    hinted: bool  # sampled with a hint that it is not trained with
    in_loss: bool
    counted: bool  # in the denominators
    top: Tensor | None = None  # [T, K] log-probs of the stored candidates
    known: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # constants that parts have filled
    lost: Tensor | None = None  # bool: taken out by chance
    worth: float = 0.0  # its advantage, were it one for all tokens
    advantage: Tensor = dataclasses.field(default_factory=lambda: torch.zeros(0))

    @property
    def trained(self) -> Tensor:
        return self.trains & self.in_loss

    @property
    def length(self) -> int:
        """In tokens that would train."""
        return int(self.trains.sum())

    @property
    def ratio(self) -> Tensor:
        return (self.logp - self.old).exp()


@dataclass(frozen=True)
class Step:
    """All answers of an optimiser step, those that are neither in the loss nor counted included."""

    answers: Sequence[Answer]
    max_new: int

    @property
    def learnt(self) -> list[Answer]:
        return [answer for answer in self.answers if answer.in_loss]

    @property
    def rows(self) -> int:
        return sum(answer.counted for answer in self.answers)

    @property
    def tokens(self) -> int:
        return sum(answer.length for answer in self.answers if answer.counted)

    def groups(self, by: Callable[[Answer], str]) -> list[list[Answer]]:
        found: dict[str, list[Answer]] = {}
        for answer in self.answers:
            found.setdefault(by(answer), []).append(answer)
        return list(found.values())


def by_group(answer: Answer) -> str:
    return answer.group


def even(worth: float, length: int) -> list[float]:
    return [worth] * length


def unshaped(rows: Rows) -> list[list[float]]:
    return [list(row) for row in rows]


@dataclass(frozen=True)
class Oracle:
    """What a paper says of a step: the advantages of answers that are compared with one another, the loss of each token
    of an answer, and the weight of a token of an answer in the sum.
    """

    advantages: Callable[[Sequence[Answer], Step], Sequence[float] | Rows]  # one for all tokens, or one for each
    token_loss: Callable[[Answer, Step], Tensor]
    token_weight: Callable[[Answer, Step], float]
    compared: Callable[[Answer], str] = by_group  # those with one key are compared with one another
    spread: Callable[[float, int], list[float]] = even  # (advantage, tokens) -> of each token
    shape: Callable[[Rows], list[list[float]]] = unshaped  # of all answers in the loss together
    also: Callable[[Step], Tensor] | None = None  # a term of the step beside the sum over tokens
    chance: str = ""  # in the names of the constants by which the library takes tokens out by chance
    rounded: bool = False  # the library keeps a constant of it in single precision

    def estimated(self, step: Step) -> Step:
        """With the advantages of all answers."""
        found: dict[int, float | Sequence[float]] = {}
        for members in step.groups(self.compared):
            found |= dict(zip(map(id, members), self.advantages(members, step), strict=True))
        each = [self._each(found[id(answer)], answer.length) for answer in step.learnt]
        shaped = dict(zip(map(id, step.learnt), self.shape(each), strict=True))
        return dataclasses.replace(step, answers=[self._told(a, found[id(a)], shaped.get(id(a))) for a in step.answers])

    def _each(self, worth: float | Sequence[float], length: int) -> Sequence[float]:
        return self.spread(worth, length) if isinstance(worth, float | int) else worth

    def _told(self, answer: Answer, worth: float | Sequence[float], tokens: Sequence[float] | None) -> Answer:
        each = torch.zeros_like(answer.logp).detach()
        if tokens is not None:
            each[answer.trains] = torch.tensor(tokens, dtype=torch.float32).double()
        single = float(np.float32(worth)) if isinstance(worth, float | int) else 0.0
        return dataclasses.replace(answer, advantage=each, worth=single)

    def loss(self, step: Step) -> Tensor:
        """Of a step whose advantages are estimated."""
        total = torch.zeros((), dtype=torch.float64)
        for answer in (answer for answer in step.answers if answer.trained.any()):
            each = self.token_loss(answer, step)
            total = total + self.token_weight(answer, step) * each[answer.trained].sum()
        return total if self.also is None else total + self.also(step)


def answer_of(
    row: Row,
    logp: Tensor,
    entropy: Tensor,
    *,
    trains: np.ndarray,
    top: Tensor | None = None,
    lost: Tensor | None = None,
) -> Answer:
    """A row as a paper knows it; `trains` are the tokens that the objective trains."""
    origin, request = row.episode.stream("origin"), row.episode.request
    streams = (row.old, row.episode.stream("mu"), row.ref, row.episode.stream("entropy"))
    old, mu, ref, hesitated = (
        torch.zeros_like(logp).detach() if x is None else torch.from_numpy(np.nan_to_num(np.asarray(x, np.float64)))
        for x in streams
    )
    return Answer(
        logp,
        old,
        mu,
        ref,
        entropy,
        hesitated,
        own=torch.from_numpy(origin == Origin.POLICY),
        given=torch.from_numpy(origin == Origin.INJECTED),
        trains=torch.from_numpy(trains),
        reward=row.reward or 0.0,
        right=row.episode.right,
        group=row.group,
        cell=f"{row.role}/{request.problem.task}",
        hinted=row.tag == "hint",
        in_loss=row.in_loss,
        counted=row.in_denominator,
        top=top,
        known={stream.name: value for stream, value in row.constants.items()},
        lost=lost,
    )


def oracles() -> dict[str, Oracle]:
    """Recipe -> its oracle, of all that have one."""
    return said("ORACLES")


def elsewhere() -> dict[str, str]:
    """Recipe -> the test of its method that works its coefficients out."""
    return said("TESTED")


def oracle_of(name: str) -> Oracle:
    """The oracle of a recipe; what to write where there is none."""
    if name not in oracles():
        raise AssertionError(
            f"the recipe '{name}' has no oracle: write {folder_of(name)}/oracle.py, or into its tests,\n\n"
            f'    ORACLES = {{"{name}": Oracle(advantages, token_loss, token_weight)}}\n\n'
            "    advantages(answers, step) -> [A] of the answers of a group, or [[A of each token]]\n"
            "    token_loss(answer, step) -> Tensor[T], to be differentiated\n"
            "    token_weight(answer, step) -> float\n\n"
            "as the paper writes them, worked out without the library. tests/oracles.py has the types, "
            "tests/formulas.py what papers share. Where the loss is no sum over tokens: "
            f'TESTED = {{"{name}": "the test of this folder that works its coefficients out"}}.'
        )
    return oracles()[name]
