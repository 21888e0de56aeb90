"""The workload in this engine's own terms: what both of our measured processes share."""

from __future__ import annotations

import torch

from assay.engine.choose import engine_for
from assay.engine.local import LocalEngine
from assay.policy.checkpoint import load_policy
from assay.policy.policy import Policy
from assay.types import Problem, Request
from bench import checkpoints, workload
from bench.channel import Job


def load(work: Job) -> tuple[LocalEngine, Policy]:
    policy = load_policy(checkpoints.build(work.shape, work.ending))
    precision = work.options.get("precision", "auto")
    engine = engine_for(work.options.get("engine", "auto"), "cpu", precision).engine
    return engine(policy.network, end_ids=policy.end_ids, precision=precision), policy


def requests(work: Job) -> list[Request]:
    shape, asked = work.shape, []
    for ids in workload.prompt_ids(shape):
        text = workload.text(ids)
        problem = Problem("bench", text, {}, text)
        asked += [Request(problem, ids, group=text, max_new=shape.answer, sample=i) for i in range(shape.samples)]
    return asked


def threads(engine: LocalEngine) -> int:
    return getattr(engine, "threads", torch.get_num_threads())


def compute(engine: LocalEngine) -> str:
    return f"{engine.place}, {str(engine.compute).removeprefix('torch.')}"
