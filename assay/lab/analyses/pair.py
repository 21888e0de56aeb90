"""A base and what was trained from it, as measures see them: banks of answers, weights, checkpoints and rollouts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import AssayError, DataError
from assay.lab.analyses.measure import Lacking
from assay.rng import Key
from assay.run.configure import from_data
from assay.scoring.boundary import Counts, counts_of
from assay.scoring.samples import SampleBank
from assay.source import Pool
from assay.types import Problem

if TYPE_CHECKING:
    from assay.policy import Policy
    from assay.scoring.bank import Bank
    from assay.tasks.task import Split

MOST = 4096  # problems of an exam among which those of a bank are looked for
STEP = "step-"  # how the folders of checkpoints begin


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two: a bank, a model, or both.

    Side("base.parquet", bank=SampleBank.read(Path("base.parquet")))
    """

    name: str
    bank: SampleBank | None = None
    model: str = ""  # a folder, a base or a run; "" where only the bank is known

    @functools.cached_property
    def policy(self) -> Policy:
        """The model. A bank names one, which counts only if its weights are those that answered."""
        from assay.policy import fingerprint, load_policy
        from assay.run.base_training import ready

        named = self.model or (self.bank.asked.model if self.bank is not None else "")
        inner = Path(named) / "policy"
        try:
            policy = load_policy(inner if inner.is_dir() else ready(named))
        except AssayError as error:
            raise Lacking(f"the model of {self.name} cannot be opened: {error}") from error
        if not self.model and self.bank is not None and fingerprint(policy) != self.bank.asked.weights:
            raise Lacking(
                f"{self.name} was answered by other weights than '{named}' has now: name the model, not its bank."
            )
        if policy.adapter is not None:
            raise Lacking(f"{named} is an adapter: merge it first with `assay export {named} FOLDER --merge`.")
        return policy

    @functools.cached_property
    def weights(self) -> Mapping[str, np.ndarray]:
        """Name -> float64 array, of every parameter; one that two names share stands under the first alone."""
        held = self.policy.weights()
        first = {tensor.data_ptr(): name for name, tensor in reversed(held.items())}
        own = {name: tensor for name, tensor in held.items() if first[tensor.data_ptr()] == name}
        return {name: tensor.double().cpu().numpy() for name, tensor in own.items()}

    @property
    def checkpoints(self) -> list[Path]:
        """The checkpoints of a run, from the first to the last."""
        folder = Path(self.model) / "ckpt"
        return sorted(path for path in folder.glob(f"{STEP}*") if (path / "policy").is_dir()) if self.model else []


@dataclass(frozen=True, eq=False)
class Pair:
    """A base and its child, on the problems of both.

    Pair(Side("countdown", model="countdown"), Side("runs/grpo-countdown-1", model="runs/grpo-countdown-1"))
    """

    base: Side
    child: Side

    @functools.cached_property
    def banks(self) -> tuple[SampleBank, SampleBank]:
        """The answers of both to the same problems, which were asked alike."""
        if self.base.bank is None or self.child.bank is None:
            raise Lacking("there are no banks of answers: give two banks, or let them be sampled.")
        first, other = self.base.bank, self.child.bank
        if unlike := first.unlike(other):
            names = ", ".join(sorted(unlike))
            raise DataError(
                f"the banks of {self.base.name} and {self.child.name} were not asked alike ({names}): a difference "
                "between them would be one of the asking too. Sample one of them again."
            )
        both = [problem for problem in first.asked.problems if problem in other.asked.problems]
        if len(both) < 2:
            raise DataError(
                f"{self.base.name} and {self.child.name} share {len(both)} problems, and two are the least."
            )
        return first.select(both), other.select(both)

    @functools.cached_property
    def problems(self) -> Mapping[str, Problem]:
        """The problems of both banks, made anew from what was asked."""
        return posed(self.banks[0])

    @functools.cached_property
    def tallies(self) -> tuple[Bank, Bank]:
        """The banks as counts with their answers, on problems with verdicts in both, in one order."""
        first, other = (bank.counts() for bank in self.banks)
        valid = np.flatnonzero((first.n > 0) & (other.n > 0))
        return first.select(valid), other.select(valid)

    @functools.cached_property
    def counts(self) -> tuple[Counts, Counts]:
        return counts_of(*self.tallies)

    @property
    def samples(self) -> int:
        """The fewest samples of a problem, in either bank."""
        return min(one.samples for one in self.counts)

    @functools.cached_property
    def weights(self) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
        """The parameters of both, which must be those of one architecture."""
        first, other = self.base.weights, self.child.weights
        unlike = sorted(
            name for name in first.keys() | other.keys() if _shape(first.get(name)) != _shape(other.get(name))
        )
        if unlike:
            raise Lacking(
                f"{self.base.name} and {self.child.name} are unlike models: '{unlike[0]}' is "
                f"{_shape(first.get(unlike[0]))} and {_shape(other.get(unlike[0]))}. Give a run and its own base."
            )
        return first, other


def posed(bank: SampleBank) -> dict[str, Problem]:
    """The problems of a bank by their ids, drawn again as they were when it was sampled."""
    asked = bank.asked
    pool = pool_of(bank)
    split: Split = asked.split  # type: ignore[assignment] # a bank keeps it as text
    drawn, missing = dict[str, Problem](), list(asked.problems)
    for count in (len(asked.problems), MOST):  # a bank may hold a part of an exam
        drawn = {problem.id: problem for problem in pool.held_out(Key("exam", split), count, split, least=1)}
        missing = [name for name in asked.problems if name not in drawn]
        if not missing or pool.finite:
            break
    if missing:
        raise Lacking(
            f"{len(missing)} problems of the bank of {asked.model} are not those that its tasks pose now: it was "
            f"sampled by another version ({asked.version})."
        )
    return {name: drawn[name] for name in asked.problems}


def pool_of(bank: SampleBank) -> Pool:
    return from_data(Pool, bank.asked.pool)


def _shape(array: np.ndarray | None) -> tuple[int, ...] | None:
    return None if array is None else array.shape
