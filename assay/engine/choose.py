"""Which engine runs a parameter set: the compiled core where it can, torch everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch

from assay.engine.footprint import CORE_LIMIT
from assay.engine.interface import Engine
from assay.engine.local import LocalEngine
from assay.engine.precision import Precision, choose
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.policy.foreign import Foreign
    from assay.policy.transformer import Transformer

Kind = Literal["auto", "native", "torch"]


@contextmanager
def processor_of(engine: Engine) -> Iterator[None]:
    """Inside, the processor is the engine's. The core has threads of its own; those that torch's own operations leave
    behind would spin beside them, and take a third of the processor's time."""
    before = torch.get_num_threads()
    if isinstance(engine, LocalEngine) and engine.has_threads:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Choice:
    """An engine, and why it is not the faster one where it is not."""

    engine: type[LocalEngine]
    reason: str
    refused: bool = False  # the core would have been faster


def engine_of(model: Transformer | Foreign, kind: Kind, device: str, precision: Precision) -> Choice:
    """The engine for this network."""
    from assay.policy.transformer import Transformer

    if not isinstance(model, Transformer):
        from assay.engine.transformers.engine import AdapterEngine

        family = f"{model.config.family} is none of the families that the engines of ours run"
        if kind != "auto":
            raise ConfigError(f"machine.engine is {kind}, but {family}. Take machine.engine auto.")
        return Choice(AdapterEngine, f"{family}; transformers computes it, which is slower")
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return engine_for(kind, device, precision, parameters=parameters, adapted=model.lora is not None)


def engine_for(kind: Kind, device: str, precision: Precision, *, parameters: int = 0, adapted: bool = False) -> Choice:
    """`auto` takes the core where it is faster; a core that is asked for by name and cannot be had is an error."""
    from assay.engine.native.engine import NativeEngine, refusal
    from assay.engine.torch.engine import TorchEngine

    if kind == "torch":
        return Choice(TorchEngine, "torch was asked for")
    compute, _ = choose(precision, torch.device(device))
    reason = "the core has no low-rank adapters" if adapted else refusal(torch.device(device), compute)
    if reason is None and kind == "auto" and parameters > CORE_LIMIT:
        size = f"{parameters / 1e6:,.0f} million parameters"
        return Choice(TorchEngine, f"with {size} torch trains faster than the core, and in less memory")
    if reason is None:
        return Choice(NativeEngine, "")
    if kind == "native":
        raise ConfigError(f"machine.engine is native, but {reason}. Take machine.engine auto or torch.")
    return Choice(TorchEngine, reason, refused=True)
