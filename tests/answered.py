"""Pairs of banks for measures: of verdicts alone, or of answers that functions write to problems of a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from banked import LIKE, RIGHT, WRONG, made

from assay.lab.analyses.pair import Pair, Side
from assay.rng import Key
from assay.run.configure import to_data
from assay.scoring.samples import SampleBank, told
from assay.source import Pool, Share
from assay.tasks import task
from assay.types import Episode, Origin, Problem, Request, Segment, Verdict

Write = Callable[[Problem, int], str]
"""(problem, number of the sample) -> the text of an answer."""


def of_banks(base: SampleBank, child: SampleBank) -> Pair:
    return Pair(Side("base", bank=base), Side("child", bank=child))


def of_counts(right: Sequence[int], samples: int, **changes: Any) -> SampleBank:
    """A bank with so many right answers to each of the problems 0, 1, 2, ..., the right ones in an order by chance."""
    generator = np.random.default_rng(sum(right) + samples)
    rows = {str(i): generator.permutation([1] * c + [0] * (samples - c)).tolist() for i, c in enumerate(right)}
    return made(rows, **changes)


def drawn(chances: np.ndarray, samples: int, seed: int) -> SampleBank:
    """A bank of answers that are right with these chances."""
    return of_counts(np.random.default_rng(seed).binomial(samples, chances).tolist(), samples)


def voted(answers: Mapping[str, Sequence[str | None]], right: str = "24") -> SampleBank:
    """A bank of these answers to each problem, of which `right` is the right one."""
    verdicts: dict[str, list[Verdict | int]] = {
        name: [RIGHT if a == right else WRONG if a is None else Verdict.fail("wrong", answer=a) for a in row]
        for name, row in answers.items()
    }
    return made(verdicts)


def posed(name: str, level: int, count: int, *, wording: Any = "compact") -> tuple[Pool, list[Problem]]:
    pool = Pool((Share(name, (level,)),), wording=wording)
    return pool, pool.held_out(Key("exam", "test"), count, "test")


def written(pool: Pool, problems: Sequence[Problem], samples: int, write: Write, **changes: Any) -> SampleBank:
    """The bank of the texts that `write` gives, verified by the tasks. Every character is a token."""
    context, episodes = np.array([1], dtype=np.int32), []
    for problem in problems:
        for sample in range(samples):
            text = write(problem, sample)
            ids = np.array([ord(character) for character in text], dtype=np.int32)
            old = np.full(len(ids), -0.5, dtype=np.float32)
            segment = Segment(ids, np.full(len(ids), Origin.POLICY, dtype=np.int8), old)
            request = Request(problem, context, problem.id, 512, sample=sample)
            verdict = task(problem.task).verify(problem, text)
            episodes.append(Episode(request, (segment,), "stop", text, verdict))
    asked = dataclasses.replace(LIKE, pool=to_data(pool), samples=samples, problems=told(problems), **changes)
    return SampleBank.of(asked, episodes)
