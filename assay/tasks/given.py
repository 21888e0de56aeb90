"""Problems with the pages from which they can be answered in view: `given:NAME` asks a problem of NAME behind its pages
and some that have nothing to do with it, in an order by chance. There is no world: who can read needs no search.

Such tasks are made on demand and are not listed among the tasks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.tasks.task import Ability, Generator, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict

if TYPE_CHECKING:
    from assay.verifiers.answers import Wording

GIVEN = "given:"
NOISE = 4
"""Pages beside those from which a problem can be answered."""


@dataclass(frozen=True)
class Pages(Ability):
    """A problem, whose spec has an `answer`, can be answered from pages. Methods that check whether a question has its
    answer in them read it.

    Example:
        Pages(of=lambda spec: spec["pages"], others=draw_pages, question=lambda spec: spec["question"])
    """

    of: Callable[[Spec], Sequence[str]]  # the pages from which the answer to an instance can be read
    others: Callable[[np.random.Generator, int], Sequence[str]]  # so many pages by chance
    question: Callable[[Spec], str]  # the question in natural wording, of tools apart
    through: Callable[[Spec], str] = lambda spec: ""  # what a worked solution reads in them before it answers


def with_pages(of: Task, spec: Spec, generator: np.random.Generator) -> Spec:
    """An instance of `given:NAME`: that of NAME, with its pages among others. A task without pages is asked alone."""
    pages = of.ability(Pages)
    if pages is None:
        return {"spec": dict(spec), "pages": []}
    every = list(dict.fromkeys([*pages.of(spec), *pages.others(generator, NOISE)]))
    return {"spec": dict(spec), "pages": [every[i] for i in generator.permutation(len(every))]}


def given(of: Task) -> Task:
    """The task of answering problems of `of` from pages that are in view."""
    pages = of.ability(Pages)

    def instance(generator: np.random.Generator, level: int) -> Spec:
        return with_pages(of, of.generator.instance(generator, level), generator)

    def compact(spec: Spec) -> str:
        return ";".join([*spec["pages"], of.wordings.compact(spec["spec"])])

    def natural(spec: Spec) -> str:
        if pages is None:
            return of.wordings.natural(spec["spec"])
        told = "\n\n".join(spec["pages"])
        asked = pages.question(spec["spec"])
        return f"These pages were found:\n\n{told}\n\n{asked} Give the answer alone in \\boxed{{...}}."

    def solve(spec: Spec) -> Solution:
        return (
            of.wordings.solve(spec["spec"])
            if pages is None
            else Solution(spec["spec"]["answer"], pages.through(spec["spec"]))
        )

    def check(spec: Spec, text: str) -> Verdict:
        return of.checker.check(spec["spec"], text)

    def inner(problem: Problem) -> Problem:
        wording: Wording = problem.wording
        return of.pose(problem.spec["spec"], level=problem.level, wording=wording)

    def verify_many(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
        assert of.checker.verify_many is not None
        return of.checker.verify_many([(inner(problem), text) for problem, text in pairs])

    return dataclasses.replace(
        of,
        name=GIVEN + of.name,
        summary=f"Answer problems of {of.name} from pages that are in view; the level is that of the problem.",
        generator=Generator(
            levels=of.generator.levels,
            first=of.generator.first,
            instance=instance,
            canonical=lambda spec: of.generator.canonical(spec["spec"]),
            split=lambda spec: of.split_of(spec["spec"]),
        ),
        wordings=Wordings(compact=compact, natural=natural, solve=solve),
        checker=dataclasses.replace(
            of.checker,
            check=check,
            verify_many=None if of.checker.verify_many is None else verify_many,
            second=None,
            rules=None,
            steps=None,
            steps_many=None,
        ),
        abilities=(),
        world=None,
    )
