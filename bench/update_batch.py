"""The rows of `bench.update_cost`: random answers with every number that an objective may ask of a token."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.collect.lagged import Frozen, Lagged
from assay.credit.pack import pack
from assay.curate import Pairs
from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.known import RECIPES
from assay.memory import Memory
from assay.objective import Objective, Tagged
from assay.objective.preference import Preference
from assay.part import bind, parts_of
from assay.recipe import Mechanism, Recipe
from assay.streams import Stream
from assay.types import Batch, Episode, Origin, Problem, Request, Reward, Row, Segment, Verdict
from bench.micro_engine import Shape

CANDIDATES = 3
STALE = -1  # a version that no engine has


@dataclass(frozen=True)
class Case:
    """An objective of a recipe, and where it learns."""

    name: str
    recipe: Recipe
    mechanism: Mechanism
    role: str
    objective: Objective


def cases() -> Iterator[Case]:
    """Every recipe; where stages or roles have objectives of their own, each of these, numbered."""
    for name, recipe in RECIPES.items():
        found: dict[Objective, Case] = {}
        for mechanism in recipe.mechanisms:
            for role in recipe.roles:
                goal = mechanism.rule(role).objective
                label = f"{name} ({len(found) + 1})" if found else name
                found.setdefault(goal, Case(label, recipe, mechanism, role, goal))
        yield from found.values()


def rows_of(engine: LocalEngine, shape: Shape, case: Case) -> list[Row]:
    """Random answers, of which every second is right, as this objective gets them."""
    random = np.random.default_rng(0)
    rows = []
    for prompt in range(shape.prompts):
        problem = Problem("bench", str(prompt), {}, str(prompt))
        context = random.integers(0, shape.vocab, shape.prompt).astype(np.int32)
        for sample in range(shape.samples):
            request = Request(problem, context, str(prompt), shape.answer, sample=sample, role=case.role)
            ids = random.integers(0, shape.vocab, shape.answer).astype(np.int32)
            right = sample % 2 == 0
            verdict = Verdict.ok() if right else Verdict.fail("wrong")
            segment = Segment(ids, np.full(len(ids), Origin.POLICY, np.int8), version=engine.version)
            rows.append(Row(Episode(request, (segment,), "stop", "", verdict, (Reward("outcome", float(right)),))))
    return as_asked(engine, rows, case)


def as_asked(engine: LocalEngine, rows: list[Row], case: Case) -> list[Row]:
    """Answers as they come to `forwards`: sampled by the weights of now, or by others where another set writes.

    Where an objective imitates, every eighth answer is somebody else's, and where it tells a tag apart, every fourth
    has it. Preferences are marked by the parts of the recipes that mark them.
    """
    injected = case.objective.injected == "train"
    tags = [part.tag for part in case.objective.parts if isinstance(part, Tagged)]
    stale = any(isinstance(part, Lagged | Frozen) for part in case.mechanism.collect)
    result = []
    for row in rows:
        (segment,), sample = row.episode.segments, row.episode.request.sample
        origin = Origin.INJECTED if injected and sample % 8 == 7 else Origin.POLICY
        version = STALE if stale else engine.version
        segment = dataclasses.replace(segment, origin=np.full(len(segment), origin, np.int8), version=version)
        episode = dataclasses.replace(row.episode, segments=(segment,))
        result.append(row.mark(episode=episode, tag=tags[0] if tags and sample % 4 == 0 else ""))
    if isinstance(case.objective.whole, Preference):
        most = max(row.episode.request.sample for row in rows) // 2 + 1
        for part in case.mechanism.curate:
            marks = dataclasses.replace(part, most=most) if isinstance(part, Pairs) else part
            result = bind(marks, memory=Memory(0))(result)
    return _sampled(engine, result)


def _sampled(engine: LocalEngine, rows: list[Row]) -> list[Row]:
    """With what a sampler says of the tokens that the policy wrote."""
    result = []
    for row, score in zip(rows, engine.score(_spans(rows), entropy=True), strict=True):
        (segment,) = row.episode.segments
        known = {"old": score.logp, "mu": score.logp, "entropy": score.entropy}
        if segment.origin[0] != Origin.POLICY:
            known = dict.fromkeys(known)
        segment = dataclasses.replace(segment, **known)
        result.append(row.mark(episode=dataclasses.replace(row.episode, segments=(segment,))))
    return result


def batch_of(engine: LocalEngine, rows: list[Row], case: Case, *, vocab: int, moved: float = 0.15) -> Batch:
    """Their batch a few updates later: log-ratios with a deviation of `moved`, which is on both sides of every clip, a
    reference that is twice as far away, and no advantage that is 0, so that no objective has less to compute.
    """
    random = np.random.default_rng(1)
    learnt = []
    for row, score in zip(rows, engine.score(_spans(rows)), strict=True):
        count = len(score.logp)
        far, other, away, worth, value = (random.normal(size=count).astype(np.float32) for _ in range(5))
        (segment,) = row.episode.segments
        mu = None if segment.old is None else score.logp + np.float32(moved) * other
        stale = dataclasses.replace(segment, mu=mu, version=STALE)
        top = np.stack([random.choice(vocab, CANDIDATES, replace=False) for _ in range(count)])
        known = {"gamma": 0.7, "log_z": 0.3, "mean_logp": np.full(count, -np.log(vocab))}
        written = [thing for part in parts_of(case.mechanism) for thing in part.writes if isinstance(thing, Stream)]
        filled = [stream for stream in written if stream.name in known]
        learnt.append(
            row.mark(
                episode=dataclasses.replace(row.episode, segments=(stale,)),
                old=score.logp + np.float32(moved) * far,
                ref=score.logp + np.float32(2 * moved) * away,
                advantage=worth if row.in_denominator else None,
                value=value,
                top_ids=top.astype(np.int32),
                constants={**row.constants, **{stream: known[stream.name] for stream in filled}},
            )
        )
    return pack(learnt, injected={case.role} if case.objective.injected == "train" else ())


def _spans(rows: list[Row]) -> list[Span]:
    return [Span(row.episode.training_context, row.episode.stream("ids").astype(np.int32)) for row in rows]
