"""The training loop. The loop knows phases and no algorithm: a recipe decides what each phase does."""

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
    """Watches a run: writes its metrics, rollouts and checkpoints, evaluates the policy, and may stop the run.

    `assay.run.recorder.Recorder` is the one that `assay train` uses; a test may pass one that does nothing.
    """

    def started(self, memory: Memory, models: Models) -> None:
        """Called once, before the first step of this process."""
        ...

    def phase(self, name: str) -> None:
        """Called when a phase of the step begins: "collect", "forwards" or "improve"."""
        ...

    def step(
        self,
        memory: Memory,
        models: Models,
        episodes: Sequence[Episode],
        rows: Sequence[Row],
        batches: Sequence[Batch],
        stats: Stats,
    ) -> None:
        """Called at the end of each step with everything that the step produced; `memory` counts the step as done."""
        ...


def train(stages: Sequence[Phases], models: Models, memory: Memory, recorder: Recorder) -> Memory:
    """Runs the steps from number `memory.step` to the end of the run, and returns the memory after them.

    memory = train(assemble(recipe, ...), models, Memory(seed), recorder)
    """
    recorder.started(memory, models)
    while not stages[-1].over(memory):
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
