"""What more can be done with a task: abilities that no other file has a home for, each with whoever reads it.

`Posing` and `Hardening` stand beside the tasks that are made of them, in `pose.py` and `harder.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.policy.config import EyeShape
from assay.tasks.task import Ability, Spec, Task
from assay.types import Problem


@dataclass(frozen=True)
class Rewording(Ability):
    """The same problem can be asked in another way. Methods that compare answers to two wordings read it.

    Example:
        Rewording(again=lambda spec, generator: {**spec, "numbers": generator.permutation(spec["numbers"]).tolist()})
    """

    again: Callable[[Spec, np.random.Generator], Spec]  # an instance with the same canonical content


@dataclass(frozen=True)
class OtherLevels(Ability):
    """A problem can be asked at other levels. Curricula that change one kind of difficulty at a time read it.

    Example:
        OtherLevels(at=lambda spec, level: {**spec, "key": "names" if level % 2 == 0 else "colours"})
    """

    at: Callable[[Spec, int], Spec]  # the same problem at this level


@dataclass(frozen=True)
class Concepts(Ability):
    """A problem needs knowledge that has names. Methods that write problems for what a policy lacks read it.

    Example:
        Concepts(of=lambda spec: spec["functions"])
    """

    of: Callable[[Spec], Sequence[str]]  # the knowledge that an instance needs


@dataclass(frozen=True)
class Hidden(Ability):
    """What somebody in the world of a task knows and the policy is not told. Critics that learn with more than the
    policy reads are told it.

    Example:
        Hidden(compact=lambda spec: spec["facts"], natural=lambda spec: f"The user has {spec['facts']}.")
    """

    compact: Callable[[Spec], str]  # in characters of compact wording
    natural: Callable[[Spec], str]

    def of(self, problem: Problem) -> str:
        return (self.compact if problem.wording == "compact" else self.natural)(problem.spec)


@dataclass(frozen=True)
class PlayedFrom(Ability):
    """Worked solutions of the task cannot be imitated, because several seats write them. A base of these tasks can play
    all of them, and is the task's own. `assay/run/bases.py` reads it.

    Example:
        PlayedFrom(("wish", "wish-reply"))
    """

    tasks: tuple[str, ...]


@dataclass(frozen=True)
class OwnPolicy(Ability):
    """The task is for a kind of policy of its own: where no model is named, a run begins with an untrained one.

    Example:
        OwnPolicy("pointer")
    """

    kind: str  # a name of `assay.policy.kinds`


@dataclass(frozen=True)
class OwnBase(Ability):
    """A small model learns the task from its worked solutions alone, and is the base of the task's name, from which a
    run can begin. Its training ends early: a third of its answers or less is right, so that reinforcement learning has
    something left to improve. `assay/run/bases.py` makes it.

    Example:
        OwnBase("sums of five digits", levels=(4,), num_steps=200)
    """

    summary: str
    levels: tuple[int, ...]  # one that is named more often is read more often
    num_steps: int  # of imitation
    context: int = 192  # tokens of the longest prompt and solution
    hidden: int = 128
    layers: int = 4
    ffn: int | None = None  # None: three times `hidden`
    learning_rate: float = 1.5e-3
    decays: bool = False  # the learning rate falls to zero; else a base of fewer steps is a longer one's earlier state
    eye: EyeShape | None = None  # of a base that sees pictures


@dataclass(frozen=True)
class Proving(Ability):
    """What can be said of a proof beside its verdict. Both functions are pure and total.

    Example:
        task("metamath").ability(Proving).lemmas(spec, "ABm")  # ("m",)
    """

    lemmas: Callable[[Spec, str], Sequence[str]]  # the lemmas that an answer uses, each once
    proves_else: Callable[[Spec, str], bool]  # whether an answer is a proof, of another statement than was asked


def concepts_of(of: Task, problem: Problem) -> tuple[str, ...]:
    """The knowledge that a problem needs, each item once: the concepts of its instance, or else its level."""
    concepts = of.ability(Concepts)
    named = [f"level {problem.level}"] if concepts is None else concepts.of(problem.spec)
    return tuple(sorted(set(named)))
