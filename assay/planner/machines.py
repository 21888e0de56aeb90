"""GPUs as their makers publish them, and the constants of the plan, each with its source."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from assay.errors import ConfigError

Source = Literal["published", "measured", "assumed"]


@dataclass(frozen=True)
class Gpu:
    """A kind of GPU. All numbers are those that its maker publishes.

    Example:
        gpu("h100").memory
    """

    name: str
    memory: float  # bytes
    flops: float  # dense bf16 products a second
    bandwidth: float  # bytes a second of its own memory
    link: float  # bytes a second to another GPU of the same node, in one direction


GPUS = {
    one.name: one
    for one in (
        Gpu("a100", 80e9, 312e12, 2.04e12, 300e9),
        Gpu("h100", 80e9, 989e12, 3.35e12, 450e9),
        Gpu("h200", 141e9, 989e12, 4.8e12, 450e9),
        Gpu("b200", 180e9, 2250e12, 8e12, 900e9),
        Gpu("l40s", 48e9, 362e12, 0.864e12, 32e9),
    )
}


def gpu(name: str) -> Gpu:
    if name.lower() not in GPUS:
        raise ConfigError(f"--gpu is {name!r}: the plan knows {', '.join(GPUS)}.")
    return GPUS[name.lower()]


@dataclass(frozen=True)
class Constant:
    """A number that the plan depends on beside shapes."""

    value: float
    source: Source
    says: str
    known: float = 2.0  # the truth may be so many times the value, or the value so many times the truth
    most: float = math.inf  # that it can be

    @property
    def edges(self) -> tuple[Constant, Constant]:
        """The least and the most that it may be, as far as it is known."""
        low, high = self.value / self.known, min(self.most, self.value * self.known)
        return replace(self, value=low), replace(self, value=high)


def _share(value: float, says: str, known: float) -> Constant:
    return Constant(value, "assumed", says, known, most=1.0)


CONSTANTS = {
    # Small models on an H200 trained at 0.25 and sampled at 0.22 (bench/RESULTS.md).
    "train_share": _share(0.4, "share of the published products that training reaches", 1.6),
    "prefill_share": _share(0.5, "share of the published products that reading prompts reaches", 2.0),
    "decode_share": _share(0.7, "share of the published memory bandwidth that decoding reaches", 3.2),
    "launch": Constant(0.002, "assumed", "seconds of a decoding step beside its reading"),
    "reduce": Constant(10e-6, "assumed", "seconds of a sum over the GPUs of a server, beside its bytes", 3.0),
    "slots": Constant(256, "assumed", "answers that a server writes at a time for each GPU, where its memory has room"),
    "spread": Constant(0.9, "assumed", "standard deviation of the logarithm of an answer's length", 1.5),
    "files": Constant(2e9, "assumed", "bytes a second at which weights are written to, or read from, a shared folder"),
    "gloo": Constant(
        2.9e9,
        "published",
        "bytes a second by gloo: 8 billion weights in bf16 in 5 to 6 s (vllm-project/vllm #5723)",
    ),
    "nccl": Constant(
        6.7e9, "published", "bytes a second by NCCL: 0.6 billion weights in bf16 in 0.18 s (huggingface/trl #5892)"
    ),
    "network": Constant(50e9, "published", "bytes a second between nodes: a network card of 400 Gbit/s a GPU", 1.0),
    "reserve": Constant(700 << 20, "assumed", "bytes that driver and libraries take of each GPU"),
    "kept": Constant(0.1, "assumed", "share of a GPU's memory that the plan leaves free, for fragments", 1.0),
}
NODE = 8  # GPUs of a node
