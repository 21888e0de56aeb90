"""GPUs as their makers publish them, and the constants of the plan, each with where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
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


CONSTANTS = {
    "train_share": Constant(0.4, "assumed", "share of the published products that training reaches"),
    "prefill_share": Constant(0.5, "assumed", "share of the published products that reading prompts reaches"),
    "decode_share": Constant(0.7, "assumed", "share of the published memory bandwidth that decoding reaches"),
    "launch": Constant(0.002, "assumed", "seconds of a decoding step beside its reading"),
    "slots": Constant(256, "assumed", "answers that a server writes at a time for each GPU, where its memory has room"),
    "spread": Constant(0.9, "assumed", "standard deviation of the logarithm of an answer's length"),
    "files": Constant(2e9, "assumed", "bytes a second at which weights are written to, or read from, a shared folder"),
    "network": Constant(50e9, "published", "bytes a second between nodes: a network card of 400 Gbit/s a GPU"),
    "reserve": Constant(700 << 20, "assumed", "bytes that driver and libraries take of each GPU"),
    "kept": Constant(0.1, "assumed", "share of a GPU's memory that the plan leaves free, for fragments"),
}
NODE = 8  # GPUs of a node
