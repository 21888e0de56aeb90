"""The loop. It knows phases and no algorithm; a method is what its recipe puts into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from assay.assemble import Phases
from assay.host.failpoint import failpoint
from assay.memory import Memory
from assay.models import Models
from assay.stages import current
from assay.types import Batch, Episode, Row, Stats, joined


class Recorder(Protocol):
    """What watches a run: it writes metrics, rollouts and checkpoints, evaluates when due, and may stop the run."""

    def started(self, memory: Memory, models: Models) -> None: ...
    def phase(self, name: str) -> None: ...
    def step(
        self,
        memory: Memory,
        models: Models,
        episodes: Sequence[Episode],
        rows: Sequence[Row],
        batches: Sequence[Batch],
        stats: Stats,
    ) -> None: ...


def train(stages: Sequence[Phases], models: Models, memory: Memory, recorder: Recorder) -> Memory:
    """Runs all stages from where `memory` stands to their end."""
    recorder.started(memory, models)
    while memory.step < stages[-1].end:
        recorder.phase("collect")
        stage, memory = current(stages, models, memory)
        requests = stage.ask(models, stage.source(memory), memory)
        failpoint("loop.collect")
        episodes, memory = stage.collect(models, requests, memory)
        failpoint("loop.verify")

        recorder.phase("forwards")
        rows, stats = stage.forwards(models, stage.curate(models, episodes, memory), memory)

        recorder.phase("improve")
        batches = stage.credit(rows, memory)
        for batch in batches:
            failpoint("loop.update")
            stats = joined(stats, stage.improve(models, batch, memory))

        memory = stage.remember(memory, models, episodes, rows, stats)
        failpoint("loop.record")
        recorder.step(memory, models, episodes, rows, batches, stats)
    return memory
