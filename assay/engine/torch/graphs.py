"""Decoding by CUDA graphs: a decoding step is recorded once for each bucket of shapes, and then replayed.

A step of a small model runs some hundred short kernels, and launching them one by one takes longer than running them. A
CUDA graph launches all of them at once, from the token that is fed to the token that is drawn, but it is recorded for
one shape and fixed addresses. So the number of rows is padded to a power of two, and the number of columns to a
multiple of an eighth of the cache. A padding row feeds some token at position 0 of a free slot and records nothing.
That does no harm, because a new row overwrites its slot with its own prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from assay.engine.torch.flight import Needs

Step = Callable[[int, int, Needs], None]
"""(rows, longest, needs): feeds a token to each of the first rows, whose positions are below `longest`, and draws."""

Record = Callable[[Callable[[], None]], Callable[[], None]]
"""Records a step without running it. Returns a function that runs it on the content of its buffers at that time."""

PARTS, LEAST_COLUMNS = 8, 64


class CudaGraphs:
    """Records steps on a GPU. All graphs share one memory pool: they run one after another and leave nothing in it."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            step()
        return graph.replay


class Bucketed:
    """Steps by bucket. A bucket's first step runs plainly, to load its kernels; the second is recorded."""

    def __init__(self, step: Step, record: Record, *, slots: int, room: int) -> None:
        self.step, self.record, self.slots, self.room = step, record, slots, room
        self.recorded: dict[tuple[int, int, Needs, int], Callable[[], None] | None] = {}

    def bucket(self, rows: int, longest: int) -> tuple[int, int]:
        """The rows and columns of the smallest bucket that holds so many."""
        stride = max(LEAST_COLUMNS, -(-self.room // PARTS))
        columns = min(self.room, -(-longest // stride) * stride)
        return min(self.slots, 1 << (rows - 1).bit_length()), columns

    def __call__(self, rows: int, longest: int, needs: Needs, variant: int = 0) -> None:
        """Takes a step, or replays it; one of another variant is another step."""
        wide, columns = self.bucket(rows, longest)
        bucket, taken = (wide, columns, needs, variant), partial(self.step, wide, columns, needs)
        if bucket not in self.recorded:
            self.recorded[bucket] = None
            taken()
            return
        replay = self.recorded[bucket] or self.record(taken)
        self.recorded[bucket] = replay
        replay()

    def forget(self) -> None:
        """Steps that bar tokens are recorded anew, because what they bar lies elsewhere now."""
        for bucket in [bucket for bucket in self.recorded if bucket[2].barred]:
            del self.recorded[bucket]
