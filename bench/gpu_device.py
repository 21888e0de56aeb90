"""The device that `bench.gpu` measures: its clock, its memory, what it reaches, and how much is done on it."""

from __future__ import annotations

import platform
import resource
import time
from dataclasses import dataclass

MODELS = {  # hidden, layers, heads, key-value heads, gated unit, vocabulary
    "0.1B": (512, 12, 8, 2, 2048, 151_936),
    "0.5B": (896, 24, 14, 2, 4864, 151_936),
    "1.5B": (1536, 28, 12, 2, 8960, 151_936),
}
TOY = {"toy": (32, 2, 4, 2, 64, 199)}
WARM_UP, ROUNDS = 1, 3


@dataclass(frozen=True)
class Sizes:
    """How much is done: on a GPU, or as a rehearsal."""

    groups: int
    samples: int
    prompt: int
    answer: int
    micro_tokens: int

    @property
    def answers(self) -> int:
        return self.groups * self.samples


FULL = Sizes(groups=64, samples=8, prompt=128, answer=384, micro_tokens=16_384)
REHEARSAL = Sizes(groups=2, samples=2, prompt=5, answer=6, micro_tokens=256)


def machine(device: str) -> dict[str, str]:
    """Versions, and the name and memory of the device."""
    import torch

    facts = {"python": platform.python_version(), "torch": torch.__version__, "device": platform.processor() or "cpu"}
    if device == "cuda":
        total = torch.cuda.get_device_properties(0).total_memory
        facts |= {
            "device": f"{torch.cuda.get_device_name(0)}, {total / 2**30:.0f} GiB",
            "cuda": str(torch.version.cuda),
        }
    return facts


@dataclass(frozen=True)
class Ceiling:
    """What this device reaches: products in operations a second, reading and writing in bytes a second."""

    products: float
    memory: float

    @classmethod
    def of(cls, device: str, *, size: int, rounds: int = 5) -> Ceiling:
        import torch

        kind = torch.bfloat16 if device == "cuda" else torch.float32
        a = torch.ones(size, size, dtype=kind, device=device)
        b, out = torch.ones_like(a), torch.empty_like(a)
        times: dict[str, list[float]] = {"products": [], "memory": []}
        for _ in range(rounds):
            for name, work in (("products", lambda: torch.mm(a, b, out=out)), ("memory", lambda: out.copy_(a))):
                began = now(device)
                work()
                times[name].append(now(device) - began)
        return cls(2 * size**3 / min(times["products"]), 2 * a.nbytes / min(times["memory"]))

    @property
    def facts(self) -> dict[str, str]:
        return {"products": f"{self.products / 1e12:.3g} TFLOP/s", "memory": f"{self.memory / 1e12:.3g} TB/s"}


def now(device: str) -> float:
    """Seconds, when the device has done what it was asked for."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
    return time.perf_counter()


def peak(device: str) -> int:
    """The most bytes that were allocated since `empty`, with what the driver takes; of a process on a processor."""
    if device == "cuda":
        import torch

        from assay.engine.footprint import CONTEXT

        return torch.cuda.max_memory_allocated() + CONTEXT
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def empty(device: str) -> None:
    """Gives back what nothing holds any more, and counts the peak anew."""
    if device == "cuda":
        import gc

        import torch

        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
