"""The choice of the engine for a parameter set: the compiled core where it can run and is faster, torch elsewhere.

Networks of other families run through `transformers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

from assay.engine.footprint import CORE_LIMIT
from assay.engine.interface import Engine
from assay.engine.local import LocalEngine
from assay.engine.precision import Precision, choose
from assay.errors import ConfigError
from assay.policy.kinds import kind_of
from assay.policy.network import Network

if TYPE_CHECKING:
    from assay.policy.foreign import Foreign
    from assay.policy.policy import Policy
    from assay.policy.transformer import Transformer

Wish = Literal["auto", "native", "torch"]


@contextmanager
def processor_of(engine: Engine) -> Iterator[None]:
    """Inside the block, torch uses one thread if the engine has threads of its own, as the core has.

    Torch's idle threads would spin beside the core's threads and take a third of the processor's time.
    """
    before = torch.get_num_threads()
    if engine.has_threads:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Choice:
    """An engine class, and the reason why a faster one was not taken ("" for the core)."""

    engine: type[LocalEngine]
    reason: str
    refused: bool = False  # the core would have been faster, but it cannot run here


def engine_of(model: Network, wish: Wish, device: str, precision: Precision) -> Choice:
    """The engine class for this network: that of the setting `machine.engine`, or the fastest for `auto`."""
    return kind_of(model).engine(model, wish, device, precision)


def engine_of_ours(model: Transformer, wish: Wish, device: str, precision: Precision) -> Choice:
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return engine_for(wish, device, precision, parameters=parameters)


def engine_of_theirs(model: Foreign, wish: Wish, device: str, precision: Precision) -> Choice:
    from assay.engine.transformers.engine import AdapterEngine

    family = f"our own engines do not run the model family {model.config.family}"
    if wish != "auto":
        raise ConfigError(f"machine.engine is {wish}, but {family}. Set machine.engine to auto.")
    return Choice(AdapterEngine, f"{family}; transformers computes it, which is slower")


def frozen_engine(
    policy: Policy, *, wish: Wish = "auto", device: str, precision: Precision, **settings: Any
) -> LocalEngine:
    """An engine in this process that writes and scores with a policy, and does not train it."""
    about = {**settings_of(policy), "device": device, "precision": precision, "optimiser": None, **settings}
    return engine_of(policy.network, wish, device, precision).engine(policy.network, **about)


def settings_of(policy: Policy) -> dict[str, Any]:
    """What every engine is told of a policy beside its network."""
    return {"end_ids": policy.end_ids, "decode": policy.codec.decode, "vocab": policy.codec.vocab}


def critic_of(engine: type[LocalEngine], *, speaks: bool = False) -> type[LocalEngine]:
    """The class of the critics beside a policy on this class of engine; one that `speaks` also writes and is scored."""
    from assay.engine.native.engine import NativeEngine
    from assay.engine.native.value_engine import NativeSpeakingEngine, NativeValueEngine
    from assay.engine.torch.value_engine import SpeakingEngine, ValueEngine

    if (own := engine.critics()) is not None:
        return own
    if issubclass(engine, NativeEngine):
        return NativeSpeakingEngine if speaks else NativeValueEngine
    return SpeakingEngine if speaks else ValueEngine


def engine_for(wish: Wish, device: str, precision: Precision, *, parameters: int = 0) -> Choice:
    """The engine class for a network of ours. `auto` takes the core where it can run and is faster than torch.

    `native` names the core, and is an error where the core cannot run.
    """
    from assay.engine.native.engine import NativeEngine, refusal
    from assay.engine.torch.engine import TorchEngine

    if wish == "torch":
        return Choice(TorchEngine, "torch was asked for")
    compute, _ = choose(precision, torch.device(device))
    reason = refusal(torch.device(device), compute)
    if reason is None and wish == "auto" and parameters > CORE_LIMIT:
        size = f"{parameters / 1e6:,.0f} million parameters"
        return Choice(TorchEngine, f"with {size} torch is as fast as the core, in less memory")
    if reason is None:
        return Choice(NativeEngine, "")
    if wish == "native":
        raise ConfigError(f"machine.engine is native, but {reason}. Set machine.engine to auto or torch.")
    return Choice(TorchEngine, reason, refused=True)
