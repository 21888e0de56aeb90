"""The type of a task: a generator of problems with an exact checker, and splits that cannot overlap.

A task is a record of pure functions over plain JSON data, the *spec* of an instance. The canonical
content of an instance decides its split, so equal content is in the same split, whatever the seeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from assay.errors import DataError
from assay.rng import Key, digest
from assay.tasks.steps import STEP_MARKS as STEP_MARKS
from assay.tasks.steps import Chain, Reading, chain
from assay.types import Problem, Verdict
from assay.verifiers.answers import Wording, find_answer
from assay.worlds import World

if TYPE_CHECKING:
    from assay.tasks.harder import Hardening
    from assay.tasks.pose import Posing

Spec = Mapping[str, Any]
VerifyMany = Callable[[Sequence[tuple[Problem, str]]], list[Verdict]]
Split = Literal["train", "valid", "test"]

SPLITS: dict[Split, range] = {"train": range(80), "valid": range(80, 90), "test": range(90, 100)}
EVOLVED = "evolved"
"""The provenance of a variant that somebody wrote. Its spec is that of its seed, and knows the answer alone."""
_MAX_REDRAWS = 2000
_COMPACT_STEP = re.compile(r"[^,|]*[,|]|[^,|]+$")


@dataclass(frozen=True)
class Solution:
    """A worked solution: its steps, and an answer that the checker accepts.

    In a task with a world, the steps contain the world's replies, each behind its call.

    Example:
        Solution(answer="16", steps="12,16")  # 3 + 9 = 12, 12 + 4 = 16
    """

    answer: str
    steps: str = ""  # in compact wording
    natural_steps: str = ""  # in natural wording; "": as `steps`


@dataclass(frozen=True)
class Task:
    """Problems of one kind. All functions are pure and total; `check` never raises on model output.

    Example:
        problem = COUNTDOWN.problem(Key(0), level=3, split="test")
        COUNTDOWN.verify(problem, "(1+2)*3").status  # "ok" or "fail"
    """

    name: str
    domain: str
    summary: str
    levels: range  # the levels of difficulty; `summary` says what a level means
    instance: Callable[[np.random.Generator, int], Spec]  # draws a random instance of a level
    canonical: Callable[[Spec], str]  # the content that decides identity: equal for instances that are the same problem
    compact: Callable[[Spec], str]  # the question for small proxy models: characters of `assay.tasks.ALPHABET` only
    natural: Callable[[Spec], str]  # the question for real language models; it says how to mark the answer
    solve: Callable[[Spec], Solution]  # one worked solution
    check: Callable[[Spec, str], Verdict]  # the verdict on an answer, without the text around it
    split: Callable[[Spec], Split] | None = None  # the split of an instance; None: the digest of its content decides
    world: World | None = None  # what replies while a policy answers
    others: Callable[[Spec], Sequence[Solution]] | None = None  # worked solutions in other styles than that of `solve`
    steps: Reading | None = None  # the verdicts on the steps of a response; None: it has no steps that can be verified
    rules: Callable[[Spec, str], Sequence[bool]] | None = None  # whether an answer keeps each rule of the problem
    posing: Posing | None = None  # how a policy poses problems of this task
    rows: Callable[[Split], Sequence[Problem]] | None = None  # all problems of a split, for a task with a finite list
    verify_many: VerifyMany | None = None  # verdicts on many whole responses at once; None: `check` on each answer
    second: VerifyMany | None = None  # another oracle: it must agree in exams, and looks at a share of what earned
    first: int | None = None  # the level of a run that names none; None: the easiest
    reworded: Callable[[Spec, np.random.Generator], Spec] | None = None  # the same problem, asked in another way
    picture: Callable[[Spec], np.ndarray] | None = None  # the picture of an instance, as uint8[H, W, 3]
    variant: Callable[[Spec, int], Spec] | None = None  # the same problem at another level
    concepts: Callable[[Spec], Sequence[str]] | None = None  # the knowledge that an instance needs; None: its level
    hardening: Hardening | None = None  # how its problems become harder, for `harder:NAME`
    seconds: float = 0.0  # of the processor, that verifying an answer may take in all; 0: a checker of ours, at once
    unmarked: bool = False  # in natural wording the whole response is the answer, for questions in everyday words
    manner: str = ""  # how to answer, said after a question in natural wording; worked examples show it too
    policy: str = ""  # the kind of policy whose base is trained on it where no model is named; "": a language model
    externals: tuple[str, ...] = ()  # the foreign programs that verify its answers, names in `assay.externals`

    def split_of(self, spec: Spec) -> Split:
        if self.split is not None:
            return self.split(spec)
        bucket = int(digest("split", self.name, self.canonical(spec)), 16) % 100
        return next(split for split, buckets in SPLITS.items() if bucket in buckets)

    def problem(self, key: Key, *, level: int, split: Split = "train", wording: Wording = "compact") -> Problem:
        """The problem that this key names. Instances are drawn until one belongs to the split."""
        if level not in self.levels:
            raise DataError(
                f"task '{self.name}' has levels {self.levels.start} to {self.levels.stop - 1}, not {level}."
            )
        if self.rows is not None:
            rows = self.rows_of(split)
            return rows[key.bits % len(rows)]
        generator = key.generator()
        for _ in range(_MAX_REDRAWS):
            spec = self.instance(generator, level)
            if self.split_of(spec) == split:
                return self.pose(spec, level=level, wording=wording)
        raise DataError(
            f"task '{self.name}' level {level} is too small: no '{split}' instance in {_MAX_REDRAWS} draws."
        )

    def rows_of(self, split: Split) -> Sequence[Problem]:
        """All problems of a split, for a task with a finite list of problems. An empty split is an error."""
        rows = self.rows(split) if self.rows is not None else ()
        if not rows:
            raise DataError(
                f"{self.summary}: none falls into '{split}'. With so few, give held-out rows in a file of their own "
                "with --eval-data."
            )
        return rows

    def pose(self, spec: Spec, *, level: int, wording: Wording = "compact") -> Problem:
        """An instance as a problem: its question, its worked solution, and the spec that its checker needs."""
        solution = self.solve(spec)
        if wording == "compact":
            question, worked = self.compact(spec), compact_text(solution)
        else:
            question = " ".join(filter(None, (self.natural(spec), self.manner)))
            worked = self._written(solution)
        return Problem(
            task=self.name,
            prompt=question if self.picture is None else showing(self.picture(spec), question),
            spec=spec,
            canonical=self.canonical(spec),
            level=level,
            domain=self.domain,
            solution=worked,
            wording=wording,
        )

    def _written(self, solution: Solution) -> str:
        return solution.answer if self.unmarked else natural_text(solution)

    def concepts_of(self, problem: Problem) -> tuple[str, ...]:
        """The knowledge that a problem needs, each item once: the concepts of its instance, or else its level."""
        named = [f"level {problem.level}"] if self.concepts is None else self.concepts(problem.spec)
        return tuple(sorted(set(named)))

    def traces(self, problem: Problem) -> list[str]:
        """All worked solutions of a problem, the one that `solve` gives first."""
        write = compact_text if problem.wording == "compact" else self._written
        own = [] if problem.solution is None else [problem.solution]
        return own + [write(other) for other in (self.others(problem.spec) if self.others else ())]

    def chain(self, problem: Problem, text: str) -> Chain | None:
        """The steps of a whole response, each with a verdict; None for a task whose steps cannot be verified. A variant
        that somebody wrote has the answer of its seed, whose spec it carries, and other steps.
        """
        if self.steps is None or problem.provenance == EVOLVED:
            return None
        return chain(self.steps, problem.spec, text, problem.wording)

    def verify(self, problem: Problem, text: str) -> Verdict:
        """The verdict on a whole response: finds the answer in it, then checks the answer."""
        if self.verify_many is not None:
            return self.verify_many([(problem, text)])[0]
        answer = text.strip() if self.unmarked and problem.wording == "natural" else find_answer(text, problem.wording)
        if answer is None:
            return Verdict.fail("format", "no marked answer")
        if not answer:
            return Verdict.fail("empty")
        return self.check(problem.spec, answer)


def showing(pixels: np.ndarray, question: str) -> tuple[Mapping[str, Any], ...]:
    """A prompt with a picture before the question."""
    from assay.policy.pictures import address_of

    parts = [{"type": "image", "image": address_of(pixels)}, {"type": "text", "text": question}]
    return ({"role": "user", "content": parts},)


def compact_text(solution: Solution) -> str:
    """A solution in compact wording: `steps#answer`, or the answer alone if there are no steps."""
    return f"{solution.steps}#{solution.answer}" if solution.steps else solution.answer


def natural_text(solution: Solution) -> str:
    """A solution in natural wording: the steps, then a line with the answer in `\\boxed{}`."""
    steps = solution.natural_steps or solution.steps
    return f"{steps}\nAnswer: \\boxed{{{solution.answer}}}" if steps else f"Answer: \\boxed{{{solution.answer}}}"


def steps_of(problem: Problem) -> list[str]:
    """The worked solution in pieces, one for each step; the last piece also has
    the answer. Joined, they are the solution.
    """
    solution = problem.solution or ""
    if problem.wording == "natural":
        *lines, answer = solution.splitlines(keepends=True) or [""]
        pieces, end = lines, answer
    else:
        body, mark, answer = solution.rpartition("#")
        pieces, end = _COMPACT_STEP.findall(body), mark + answer
    return [*pieces[:-1], "".join(pieces[-1:]) + end] if solution else []
