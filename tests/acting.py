"""Policies over observations, worlds of numbers and walks in them, made by hand for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from assay.engine.optimiser import AdamW
from assay.engine.steps.engine import StepsEngine, StepsValueEngine
from assay.models import Models
from assay.policy.acting import ActionCodec
from assay.policy.plain_folder import fresh_mlp, fresh_table
from assay.rng import Key
from assay.tasks.control.chain import chain_task
from assay.types import Episode, Origin, Problem, Request, Segment, Verdict
from assay.worlds import Act, Ask, Reply
from assay.worlds.chain import chain

CODEC = ActionCodec(actions=2, observed=5)


def engine_of(name: str = "mlp", *, value: bool = False, precision: str = "fp64", **settings: Any) -> StepsEngine:
    """For five numbers and two actions, with weights of its own everywhere."""
    made = fresh_mlp("6x6:5x2", key=Key(0)) if name == "mlp" else fresh_table("5x2", key=Key(0))
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in made.network.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=draw))
    kind = StepsValueEngine if value else StepsEngine
    engine = kind(made.network, end_ids=frozenset(), precision=precision, **{"optimiser": AdamW(), **settings})  # type: ignore[arg-type]
    if value:
        with torch.no_grad():
            for parameter in engine.model.get_submodule("value_head").parameters():
                parameter.add_(torch.randn(parameter.shape, generator=draw))
    return engine


def models_of(**engines: StepsEngine) -> Models:
    return Models(engines, {"policy": "policy"})


def request_of(start: int = 2, most: int = 15, *, sample: int = 0, max_new: int = 40, **changes: Any) -> Request:
    """For a walk on a chain of five states."""
    spec = {"start": start, "most": most, "seed": sample}
    problem = chain_task("5").pose(spec, level=1)
    about = {"draw": sample, "seat": "policy", **changes}
    return Request(problem, np.zeros(0, np.int32), f"g{sample}", max_new, sample=sample, **about)


def walked_by_hand(actions: Sequence[int], *, start: int = 2, most: int = 15, sample: int = 0) -> Episode:
    """The episode of these actions on a chain of five, as a collector would write it down."""
    request = request_of(start, most, sample=sample)
    play = chain(5).start(request.problem.spec, Key(0))
    reply, seen, earned = play.open(), [], []
    for action in actions:
        assert reply.ask is not None and reply.ask.seen is not None and not reply.end
        seen.append(reply.ask.seen)
        reply = play.step(Act("policy", action=action))
        earned.append(reply.rewards.get("policy", 0.0))
    cut = reply.end == "limit"
    segment = Segment(
        np.array(actions, np.int32),
        np.full(len(actions), Origin.POLICY, np.int8),
        seen=np.stack(seen),
        earned=np.array(earned, np.float32),
        after=reply.ask.seen if cut and reply.ask else None,
    )
    return Episode(request, (segment,), "length" if cut else "stop", verdict=play.judge()["policy"])


class Scripted:
    """A play that replies what it was told to, an error where that is one."""

    def __init__(self, replies: Sequence[Reply | Exception]) -> None:
        self.replies = list(replies)
        self.closed = 0

    def _next(self) -> Reply:
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def open(self) -> Reply:
        return self._next()

    def step(self, act: Act) -> Reply:
        return self._next()

    def judge(self) -> Mapping[str, Verdict]:
        return {"policy": Verdict.ok()}

    def save(self) -> None:
        """It has no state to save."""

    def close(self) -> None:
        self.closed += 1


def shows(*numbers: float, **more: Any) -> Reply:
    return Reply(Ask(seen=np.array(numbers, np.float32)), **more)


def problem_of(task: str) -> Problem:
    return Problem(task, "", {}, task)
