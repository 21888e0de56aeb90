"""Decoding by CUDA graphs: a decoding step is recorded once for each bucket of shapes, and then replayed.

A step of a small model runs some hundred short kernels, and launching them one by one takes longer than running them. A
CUDA graph launches all of them at once, but it is recorded for one shape and fixed addresses. So the number of rows is
padded to a power of two, and the number of columns to a multiple of an eighth of the cache. A padding row feeds some
token at position 0 of a free slot. That does no harm, because a new row overwrites its slot with its own prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from assay.engine.torch.decode import Decoder

DecodeStep = Callable[[Tensor, Tensor, int, bool], Tensor]
"""(ids, positions, longest, level) -> hidden states, as `Decoder.step`."""

Record = Callable[[Callable[[], None]], Callable[[], None]]
"""Records a step without running it. Returns a function that runs it on the content of its buffers at that time."""

PARTS, LEAST_COLUMNS = 8, 64


def stepper(decoder: Decoder) -> DecodeStep:
    """The decoder's step function: by CUDA graphs on a GPU, its plain `step` on other devices."""
    if decoder.device.type == "cuda":
        return Bucketed(decoder, CudaGraphs()).step
    return decoder.step


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
    """A decoder's steps by bucket. A bucket's first step runs plainly, to load its kernels; the second is recorded."""

    def __init__(self, decoder: Decoder, record: Record) -> None:
        self.decoder, self.record = decoder, record
        self.ids = torch.zeros(decoder.slots, dtype=torch.int64, device=decoder.device)
        self.positions = torch.zeros_like(self.ids)
        self.hidden = torch.zeros(decoder.slots, decoder.config.hidden, dtype=decoder.dtype, device=decoder.device)
        self.known: dict[tuple[int, int], Callable[[], None] | None] = {}

    def bucket(self, rows: int, longest: int) -> tuple[int, int]:
        """The rows and columns of the smallest bucket that holds so many."""
        stride = max(LEAST_COLUMNS, -(-self.decoder.length // PARTS))
        columns = min(self.decoder.length, -(-longest // stride) * stride)
        return min(self.decoder.slots, 1 << (rows - 1).bit_length()), columns

    def step(self, ids: Tensor, positions: Tensor, longest: int, level: bool) -> Tensor:
        """As `Decoder.step`. The result is a buffer that the next step overwrites; rows are masked even if `level`."""
        n, bucket = len(ids), self.bucket(len(ids), longest)
        self.ids[:n].copy_(ids)
        self.positions[:n].copy_(positions)
        self.positions[n : bucket[0]].zero_()
        taken = partial(self._take, *bucket)
        if bucket not in self.known:
            self.known[bucket] = None
            taken()
        else:
            replay = self.known[bucket] or self.record(taken)
            self.known[bucket] = replay
            replay()
        return self.hidden[:n]

    def _take(self, rows: int, columns: int) -> None:
        positions = self.positions[:rows]
        mask = self.decoder.mask(positions, columns)
        self.hidden[:rows].copy_(self.decoder.feed(self.ids[:rows], positions, columns, mask))
