"""The type of a task: a generator of problems with an exact checker, and splits that cannot overlap.

A task is made of records of pure functions over plain JSON data, the *spec* of an instance: a generator draws
instances, wordings ask them, a checker verifies answers, and abilities are what more can be done with them. The
canonical content of an instance decides its split, so equal content is in the same split, whatever the seeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from assay.errors import ConfigError, DataError
from assay.rng import Key, digest
from assay.tasks.steps import STEP_MARKS as STEP_MARKS
from assay.tasks.steps import Chain, Reading, ReadingMany, chain, chains
from assay.types import Problem, Verdict
from assay.verifiers.answers import Wording, find_answer
from assay.worlds import World

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
    natural_answer: str = ""  # in natural wording; "": as `answer`


@dataclass(frozen=True)
class Generator:
    """Where the problems of a task come from. All functions are pure.

    Example:
        Generator(levels=range(3, 7), instance=_instance, canonical=lambda spec: spec["question"])
    """

    levels: range  # the levels of difficulty; the task's `summary` says what a level means
    instance: Callable[[np.random.Generator, int], Spec]  # draws a random instance of a level
    canonical: Callable[[Spec], str]  # the content that decides identity: equal for instances that are the same problem
    first: int | None = None  # the level of a run that names none; None: the easiest
    split: Callable[[Spec], Split] | None = None  # the split of an instance; None: the digest of its content decides
    rows: Callable[[Split], Sequence[Problem]] | None = None  # all problems of a split, for a task with a finite list

    @property
    def first_level(self) -> int:
        """The level of a run that names none."""
        return self.levels[0] if self.first is None else self.first


@dataclass(frozen=True)
class Wordings:
    """How an instance is asked, and how an answer to it is written. All functions are pure.

    Example:
        Wordings(compact=_compact, natural=_natural, solve=lambda spec: Solution(spec["sum"]))
    """

    compact: Callable[[Spec], str]  # the question for small proxy models: characters of `assay.tasks.ALPHABET` only
    natural: Callable[[Spec], str]  # the question for real language models; it says how to mark the answer
    solve: Callable[[Spec], Solution]  # one worked solution
    others: Callable[[Spec], Sequence[Solution]] | None = None  # worked solutions in other styles than that of `solve`
    manner: str = ""  # how to answer, said after a question in natural wording; worked examples show it too
    unmarked: bool = False  # in natural wording the whole response is the answer, for questions in everyday words
    called: bool = False  # a worked solution is a call that ends the play, and stands without a mark in both wordings
    picture: Callable[[Spec], np.ndarray] | None = None  # the picture of an instance, as uint8[H, W, 3]

    def asked(self, spec: Spec, wording: Wording) -> str:
        """The question in this wording, with how to answer it."""
        return self.compact(spec) if wording == "compact" else " ".join(filter(None, (self.natural(spec), self.manner)))

    def written(self, solution: Solution, wording: Wording) -> str:
        """A solution as a response in this wording."""
        if wording == "compact":
            return compact_text(solution)
        return solution.answer if self.unmarked or self.called else natural_text(solution)

    def answer_in(self, text: str, wording: Wording) -> str | None:
        """The answer in a whole response; None if nothing marks one."""
        return text.strip() if self.unmarked and wording == "natural" else find_answer(text, wording)


@dataclass(frozen=True)
class Checker:
    """How answers are verified. All functions are pure and total: none raises on model output.

    Example:
        Checker(check=lambda spec, text: Verdict.ok(text) if text == spec["sum"] else Verdict.fail("wrong"))
    """

    check: Callable[[Spec, str], Verdict]  # the verdict on an answer, without the text around it
    verify_many: VerifyMany | None = None  # verdicts on many whole responses at once; None: `check` on each answer
    second: VerifyMany | None = None  # another oracle: it must agree in exams, and looks at a share of what earned
    externals: tuple[str, ...] = ()  # the foreign programs that verify its answers, names in `assay.externals`
    seconds: float = 0.0  # of the processor, that verifying an answer may take in all; 0: a checker of ours, at once
    steps: Reading | None = None  # the verdicts on the steps of a response; None: it has no steps that can be verified
    steps_many: ReadingMany | None = None  # the same for many responses at once, for steps that are run; None: `steps`
    rules: Callable[[Spec, str], Sequence[bool]] | None = None  # whether an answer keeps each rule of the problem


class Ability:
    """Something that a task can do beside asking and verifying. Each kind is a frozen record of this class, which says
    who reads it: `Posing`, `Hardening`, and those of `assay/tasks/abilities.py`. A package may have kinds of its own.
    """


AbilityT = TypeVar("AbilityT", bound=Ability)


@dataclass(frozen=True)
class Task:
    """Problems of one kind: what generates them, how they are asked, what verifies answers to them, and what more they
    are good for. Its methods are what a run needs; whoever reads one of the records takes it alone.

    Example:
        problem = COUNTDOWN.problem(Key(0), level=3, split="test")
        COUNTDOWN.verify(problem, "(1+2)*3").status  # "ok" or "fail"
    """

    name: str
    domain: str
    summary: str
    generator: Generator
    wordings: Wordings
    checker: Checker
    abilities: tuple[Ability, ...] = ()  # at most one of a kind
    world: World | None = None  # what replies while a policy answers

    def __post_init__(self) -> None:
        kinds = [type(one).__name__ for one in self.abilities]
        if twice := sorted({kind for kind in kinds if kinds.count(kind) > 1}):
            raise ConfigError(f"task '{self.name}' has {twice[0]} twice: expected at most one ability of a kind.")

    def ability(self, kind: type[AbilityT]) -> AbilityT | None:
        """The task's ability of this kind; None if it has none.

        task("countdown").ability(Rewording)
        """
        return next((one for one in self.abilities if isinstance(one, kind)), None)

    def split_of(self, spec: Spec) -> Split:
        if self.generator.split is not None:
            return self.generator.split(spec)
        bucket = int(digest("split", self.name, self.generator.canonical(spec)), 16) % 100
        return next(split for split, buckets in SPLITS.items() if bucket in buckets)

    def problem(self, key: Key, *, level: int, split: Split = "train", wording: Wording = "compact") -> Problem:
        """The problem that this key names. Instances are drawn until one belongs to the split."""
        levels = self.generator.levels
        if level not in levels:
            raise DataError(f"task '{self.name}' has levels {levels.start} to {levels.stop - 1}, not {level}.")
        if self.generator.rows is not None:
            rows = self.rows_of(split)
            return rows[key.bits % len(rows)]
        generator = key.generator()
        for _ in range(_MAX_REDRAWS):
            spec = self.generator.instance(generator, level)
            if self.split_of(spec) == split:
                return self.pose(spec, level=level, wording=wording)
        raise DataError(
            f"task '{self.name}' level {level} is too small: no '{split}' instance in {_MAX_REDRAWS} draws."
        )

    def rows_of(self, split: Split) -> Sequence[Problem]:
        """All problems of a split, for a task with a finite list of problems. An empty split is an error."""
        rows = () if self.generator.rows is None else self.generator.rows(split)
        if not rows:
            raise DataError(
                f"{self.summary}: none falls into '{split}'. With so few, give held-out rows in a file of their own "
                "with --eval-data."
            )
        return rows

    def pose(self, spec: Spec, *, level: int, wording: Wording = "compact") -> Problem:
        """An instance as a problem: its question, its worked solution, and the spec that its checker needs. Where a
        solution has no answer, nobody knows one.
        """
        asked, picture = self.wordings.asked(spec, wording), self.wordings.picture
        solved = self.wordings.solve(spec)
        return Problem(
            task=self.name,
            prompt=asked if picture is None else showing(picture(spec), asked),
            spec=spec,
            canonical=self.generator.canonical(spec),
            level=level,
            domain=self.domain,
            solution=self.wordings.written(solved, wording) if solved.answer else None,
            wording=wording,
        )

    def traces(self, problem: Problem) -> list[str]:
        """All worked solutions of a problem, the one that `solve` gives first."""
        own = [] if problem.solution is None else [problem.solution]
        others = () if self.wordings.others is None else self.wordings.others(problem.spec)
        return own + [self.wordings.written(other, problem.wording) for other in others]

    def chain(self, problem: Problem, text: str) -> Chain | None:
        """The steps of a whole response, each with a verdict; None for a task whose steps cannot be verified. A variant
        that somebody wrote has the answer of its seed, whose spec it carries, and other steps.
        """
        return self.chains([(problem, text)])[0]

    def chains(self, pairs: Sequence[tuple[Problem, str]]) -> list[Chain | None]:
        """The same for many responses: those whose steps are run are run beside each other. None also for steps of
        which we failed to find out anything.
        """
        own, many = self.checker.steps, self.checker.steps_many
        asked: Sequence[tuple[Spec, str, Wording]]
        asked = [(p.spec, text, p.wording) for p, text in pairs if p.provenance != EVOLVED]
        if many is not None:
            found = iter(chains(many, asked))
        else:
            found = iter([chain(own, *one) for one in asked] if own is not None else [None] * len(asked))
        return [None if problem.provenance == EVOLVED else next(found) for problem, _ in pairs]

    def verify(self, problem: Problem, text: str) -> Verdict:
        """The verdict on a whole response: finds the answer in it, then checks the answer."""
        if self.checker.verify_many is not None:
            return self.checker.verify_many([(problem, text)])[0]
        answer = self.wordings.answer_in(text, problem.wording)
        if answer is None:
            return Verdict.fail("format", "no marked answer")
        if not answer:
            return Verdict.fail("empty")
        return self.checker.check(problem.spec, answer)


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
    steps, answer = solution.natural_steps or solution.steps, solution.natural_answer or solution.answer
    return f"{steps}\nAnswer: \\boxed{{{answer}}}" if steps else f"Answer: \\boxed{{{answer}}}"


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
