"""Worked examples of posing: problems are shown, and another one of the generator is what a policy could pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.memory import Memory
from assay.part import Proportion
from assay.rng import Key
from assay.source.pose import Posing
from assay.tasks import posing_of, task
from assay.tasks.abilities import Proving
from assay.tasks.pose import PREFIX
from assay.tasks.task import Spec, Task
from assay.types import Problem

if TYPE_CHECKING:
    from assay.source import Pool

_TRIES = 30


def lemmas_of(of: Task, spec: Spec, answer: str) -> Sequence[str]:
    """The lemmas that an answer uses; none where the task does not tell."""
    proving = of.ability(Proving)
    return proving.lemmas(spec, answer) if proving is not None else ()


def pose_examples(
    memory: Memory, first: int, count: int, *, pool: Pool, shown: int, lemma: float, proofs: bool
) -> list[Problem]:
    """Prompts for new problems of the pool's tasks, each with a problem that answers it."""
    return [
        example(memory.key("pose-examples", memory.step, i), pool, shown=shown, lemma=lemma, proofs=proofs)
        for i in range(first, first + count)
    ]


def example(key: Key, pool: Pool, *, shown: int, lemma: float, proofs: bool) -> Problem:
    """A prompt that shows drawn problems, with their proofs or without, and another drawn problem as its answer: one
    whose proof uses the lemma, where the prompt names one.
    """
    seed = pool.problem(key("seed"))
    of = task(seed.task)
    posing, poses = posing_of(of), task(PREFIX + of.name)
    above = [of.problem(key("shown", i), level=seed.level).spec for i in range(max(shown, posing.shown))]
    answers = [_solved(of, spec) if proofs else "" for spec in above]
    used = lemmas_of(of, above[0], answers[0]) if proofs and key("lemma").bits < lemma * 2**64 else ()
    named = used[key("which").bits % len(used)] if used else ""
    drawn = [of.problem(key("example", i), level=seed.level).spec for i in range(_TRIES if named else 1)]
    answer = next((spec for spec in drawn if not named or named in lemmas_of(of, spec, _solved(of, spec))), None)
    given = [{**spec, "proof": proof, "lemma": ""} for spec, proof in zip(above, answers, strict=True)]
    given[0]["lemma"] = named if answer is not None else ""
    spec = {"shown": given, "example": drawn[0] if answer is None else answer}
    return poses.pose(spec, level=poses.generator.levels[0], wording=pool.wording)


def _solved(of: Task, spec: Spec) -> str:
    return of.wordings.solve(spec).answer


class PoseExamples(Posing):
    """Prompts for new problems that show problems of the pool's tasks, each with another problem as its worked answer:
    what a policy imitates before it poses problems itself.

        source=PoseExamples(lemma=0.5)
        --mechanism.source pose-examples --mechanism.source.lemma 0.5
    """

    shown: int = 1  # problems, or as many as posing a problem of the task takes
    lemma: Proportion = 0.0  # of the prompts name a lemma, which the proof of the first problem and of the answer use
    proofs: bool = True  # whether the problems that are shown have their solutions
    does = pose_examples
    needs = ("texts",)
