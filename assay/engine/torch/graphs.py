"""Decoding by recorded steps: one a bucket of rows and columns, over fixed buffers, recorded once and replayed.

A step of a small model is some hundred short kernels, and starting them one by one takes longer than they do. A CUDA
graph starts them all at once, but knows one shape and one set of addresses. So rows in flight are filled up to a power
of two and columns to an eighth of the cache. Rows that fill up feed some token at position 0 of slots that are free:
they hurt nobody, as a row that is admitted brings its own beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from assay.engine.torch.decode import Decoder

Step = Callable[[Tensor, Tensor, int, bool], Tensor]
"""(ids, positions, longest, level) -> hidden states, as `Decoder.step`."""

Record = Callable[[Callable[[], None]], Callable[[], None]]
"""What makes of a step one that does the same again on whatever its buffers then hold, without having done it yet."""

PARTS, LEAST_COLUMNS = 8, 64


def stepper(decoder: Decoder) -> Step:
    """How this decoder takes its steps: by graphs on a GPU, as they are elsewhere."""
    if decoder.device.type == "cuda":
        return Bucketed(decoder, CudaGraphs()).step
    return decoder.step


class CudaGraphs:
    """Records on a GPU. The graphs share one pool, as they run one after another and leave nothing in it."""

    def __init__(self) -> None:
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            step()
        return graph.replay


class Bucketed:
    """A decoder's steps by bucket. The first of each is taken as it is and loads its kernels, the next is recorded."""

    def __init__(self, decoder: Decoder, record: Record) -> None:
        self.decoder, self.record = decoder, record
        self.ids = torch.zeros(decoder.slots, dtype=torch.int64, device=decoder.device)
        self.positions = torch.zeros_like(self.ids)
        self.hidden = torch.zeros(decoder.slots, decoder.config.hidden, dtype=decoder.dtype, device=decoder.device)
        self.known: dict[tuple[int, int], Callable[[], None] | None] = {}

    def bucket(self, rows: int, longest: int) -> tuple[int, int]:
        """The rows and columns of the smallest bucket that holds so many."""
        stride = max(LEAST_COLUMNS, -(-self.decoder.length // PARTS))
        wide = min(self.decoder.length, -(-longest // stride) * stride)
        return min(self.decoder.slots, 1 << (rows - 1).bit_length()), wide

    def step(self, ids: Tensor, positions: Tensor, longest: int, level: bool) -> Tensor:
        """What `Decoder.step` gives, in a buffer that the next step writes over. Rows are masked even where `level`."""
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
