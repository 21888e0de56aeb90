"""Stage `kernels` of `bench.gpu`: each Triton kernel of the engine beside the same in torch's own operations.

A case that cannot run here is a row with its reason. On a processor kernels run by Triton's interpreter alone, at toy
size and with TRITON_INTERPRET=1: a rehearsal that says whether they start and agree, and nothing about speed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.gpu_device import Ceiling, empty, now

KERNELS = "assay.engine.torch.kernels"
BATCH = 0.01  # seconds of calls between two looks at the clock
MOST, REPEATS = 50, 5  # calls in a batch, and batches


@dataclass(frozen=True)
class Shape:
    """The sizes of the inputs: of a micro-batch that learns, and of the rows in flight while sampling."""

    tokens: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    read: int  # tokens whose log-probabilities are read
    prompts: int
    samples: int
    prompt: int
    columns: int  # tokens that each row has written


# A model of 1.5 billion parameters: at these sizes no input stays in the cache of a card.
FULL = Shape(16_384, 1536, 12, 2, 128, 8960, 151_936, read=4096, prompts=64, samples=8, prompt=128, columns=192)
TOY = Shape(5, 32, 4, 2, 16, 48, 199, read=6, prompts=2, samples=2, prompt=5, columns=4)


@dataclass(frozen=True)
class Case:
    """One of our kernels and the same in torch, on the same inputs, and the work that neither can do without."""

    name: str
    inputs: Callable[[Shape, str], tuple[Any, ...]]
    ours: Callable[..., Any]
    torchs: Callable[..., Any]
    bytes_moved: Callable[..., int] | None = None
    operations: Callable[..., int] | None = None


@dataclass(frozen=True)
class KernelRow:
    """Seconds of a call of each, the share of what this card reaches, and the greatest difference of the results."""

    name: str
    inputs: str = ""
    ours_s: float | None = None
    torch_s: float | None = None
    bytes_moved: int | None = None
    operations: int | None = None
    share: float | None = None
    difference: float | None = None  # as a share of the largest number of torch's result
    why: str = ""
    failed: bool = False


def kernel(module: str, name: str) -> Callable[..., Any]:
    """A function of the engine's kernels, imported when it is called: Triton may be missing."""

    def call(*arguments: Any, **settings: Any) -> Any:
        return getattr(importlib.import_module(f"{KERNELS}.{module}"), name)(*arguments, **settings)

    return call


def rows(cases: Sequence[Case], device: str, *, toy: bool, until: float, ceiling: Ceiling) -> Iterator[KernelRow]:
    """A row for each case, in their order."""
    reason = missing(device)
    for case in cases:
        if reason or time.monotonic() > until:
            yield KernelRow(case.name, why=reason or "the time was up")
            continue
        try:
            yield measured(case, device, ceiling, toy=toy)
        except ModuleNotFoundError as error:
            yield KernelRow(case.name, why=f"{error.name} is not there")
        except Exception as error:
            yield KernelRow(case.name, why=f"{type(error).__name__}: {error}"[:200], failed=True)
        finally:
            empty(device)


def missing(device: str) -> str:
    """Why no kernel can run here; nothing where they can."""
    if importlib.util.find_spec("triton") is None:
        return "no triton here"
    if device == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        return "no GPU here, and no TRITON_INTERPRET=1"
    return ""


def measured(case: Case, device: str, ceiling: Ceiling, *, toy: bool) -> KernelRow:
    """Both results on copies, since a kernel may overwrite what it is given, and then the seconds of both."""
    inputs, repeats = case.inputs(TOY if toy else FULL, device), 1 if toy else REPEATS
    ours, torchs = case.ours(*_copied(inputs)), case.torchs(*_copied(inputs))
    gap = difference(ours, torchs)
    del ours, torchs
    seconds = seconds_of(lambda: case.ours(*inputs), device, repeats)
    other = seconds_of(lambda: case.torchs(*inputs), device, repeats)
    moved = None if case.bytes_moved is None else case.bytes_moved(*inputs)
    work = None if case.operations is None else case.operations(*inputs)
    share = share_of(seconds, moved, work, ceiling)
    return KernelRow(case.name, _told(inputs), seconds, other, moved, work, share, gap)


def share_of(seconds: float, moved: int | None, work: int | None, ceiling: Ceiling) -> float:
    """The least seconds in which this card moves these bytes and does these operations, by the seconds it took."""
    return max((moved or 0) / ceiling.memory, (work or 0) / ceiling.products) / seconds


def difference(ours: Any, torchs: Any) -> float:
    """The greatest difference of two results, as a share of the largest number in torch's; of several, the greatest."""
    pairs = list(zip(_tensors(ours), _tensors(torchs), strict=True))
    if not pairs:
        raise ValueError("there is nothing to compare")
    gaps = []
    for a, b in pairs:
        largest = float(b.double().abs().max())
        gaps.append(float((a.double() - b.double()).abs().max()) / (largest or 1.0))
    return max(gaps)


def seconds_of(work: Callable[[], Any], device: str, repeats: int) -> float:
    """Of one call: the median of some batches, each long enough for the clock."""
    work()
    began = now(device)
    work()
    count = max(1, min(MOST, int(BATCH / max(now(device) - began, 1e-7))))
    times = []
    for _ in range(repeats):
        began = now(device)
        for _ in range(count):
            work()
        times.append((now(device) - began) / count)
    return statistics.median(times)


def _tensors(result: Any) -> list[Any]:
    import torch

    if isinstance(result, torch.Tensor):
        return [result]
    return [one for one in result if isinstance(one, torch.Tensor)]


def _copied(inputs: tuple[Any, ...]) -> list[Any]:
    import torch

    return [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]


def _told(inputs: tuple[Any, ...]) -> str:
    """`16384x1536 bfloat16`, of the largest tensor."""
    import torch

    largest = max((one for one in inputs if isinstance(one, torch.Tensor)), key=lambda one: one.nbytes)
    return f"{'x'.join(map(str, largest.shape))} {str(largest.dtype).removeprefix('torch.')}"
