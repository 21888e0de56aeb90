"""Sample banks made of verdicts, small enough to be reckoned by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assay.scoring.samples import Asked, SampleBank, told
from assay.types import Episode, Finish, Origin, Problem, Request, Segment, Verdict

LIKE = Asked("small", "0123", {"shares": []}, "test", 1, 1.0, 1.0, 8, 0, "", (), {})
RIGHT, WRONG = Verdict.ok("24"), Verdict.fail("wrong", answer="23")
CUT, LOST = Verdict.fail("truncated"), Verdict.invalid("bug")

SMALL = {"a": [RIGHT, RIGHT, WRONG, CUT], "b": [0, 0, 0, 0]}
FIRST = {"a": [0, 0], "b": [1, 0], "c": [0, 1], "d": [1, 1]}
OTHER = {"a": [1, 1], "b": [0, 0], "c": [0, 1], "d": [1, 1]}


def problem(name: str) -> Problem:
    return Problem("toy", f"make {name}", {}, name, level=3)


def episode(name: str, sample: int, verdict: Verdict, *, old: Sequence[float] | None = (-0.5, -0.25)) -> Episode:
    finish: Finish = "length" if verdict.kind == "truncated" else "stop"
    context = np.array([1], dtype=np.int32)
    segment = Segment(
        np.array([5, 6], dtype=np.int32),
        np.full(2, Origin.POLICY, dtype=np.int8),
        None if old is None else np.array(old, dtype=np.float32),
    )
    request = Request(problem(name), context, name, 8, sample=sample)
    return Episode(request, (segment,), finish, "an answer", verdict)


def made(verdicts: Mapping[str, Sequence[Verdict | int]], **changes: Any) -> SampleBank:
    """The bank of these verdicts by problem; 1 is right and 0 wrong."""
    judged = {name: [(WRONG, RIGHT)[v] if isinstance(v, int) else v for v in row] for name, row in verdicts.items()}
    episodes = [episode(name, i, verdict) for name, row in judged.items() for i, verdict in enumerate(row)]
    samples = len(next(iter(judged.values())))
    asked = dataclasses.replace(LIKE, samples=samples, problems=told(map(problem, judged)), **changes)
    return SampleBank.of(asked, episodes)


def flips(model: str, heat: float, split: str) -> SampleBank:
    """A base that is right when cold alone, and a child whose best on valid, 0.8, is of no use on test."""
    right = {"base": heat == 0.4, "child": heat == 1.0 or (heat == 0.8 and split == "valid")}[model]
    if split == "valid" and model == "child" and heat == 1.0:
        right = False
    return made({f"{split}{i}": [int(right)] * 2 for i in range(20)}, model=model, temperature=heat, split=split)
