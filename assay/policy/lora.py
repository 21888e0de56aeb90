"""The settings of a low-rank adapter, read from and written to PEFT's `adapter_config.json`. Imports no torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.host.reach import ADAPTER

CONFIG, WEIGHTS = ADAPTER, "adapter_model.safetensors"
ORIGIN = "assay_adapter.json"  # holds the base's fingerprint, for which PEFT's files have no field
EVERY = "all-linear"

_READ = frozenset(
    ["peft_type", "task_type", "base_model_name_or_path", "r", "lora_alpha", "target_modules", "use_rslora", "bias"]
)
# Fields that say how an adapter was initialised or trained, or where its file came from, but not what it computes.
_HARMLESS = frozenset(
    [
        "alpha",
        "auto_mapping",
        "corda_config",
        "eva_config",
        "inference_mode",
        "init_lora_weights",
        "loftq_config",
        "lora_dropout",
        "lora_ga_config",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "revision",
        "runtime_config",
        "use_qalora",
    ]
)


@dataclass(frozen=True)
class Lora:
    """A low-rank adapter: y = W x + (alpha / rank) B A x, where only A [rank, in] and B [out, rank] are trained.

    Example:
        Lora(rank=16, alpha=32.0, targets=("q_proj", "v_proj"))
    """

    rank: int = 0  # 0: no adapter, all weights are trained
    alpha: float = 32.0
    targets: tuple[str, ...] = ()  # linear layers that get one; () or all-linear: all but the output layer

    def __post_init__(self) -> None:
        if self.targets == (EVERY,):
            object.__setattr__(self, "targets", ())

    @property
    def scale(self) -> float:
        return self.alpha / self.rank


def check(lora: Lora) -> None:
    if lora.rank < 0:
        raise ConfigError(f"lora.rank must be at least 1, or 0 for no adapter, not {lora.rank}.")
    if lora.rank and not 0 < lora.alpha < math.inf:
        raise ConfigError(f"lora.alpha must be positive, not {lora.alpha}.")


def read_config(raw: Mapping[str, Any]) -> tuple[Lora, str]:
    """(the adapter, its base) that an `adapter_config.json` describes. Raises ConfigError
    for fields that would change what the adapter computes and that are not supported.
    """
    kind = raw.get("peft_type")
    if kind != "LORA":
        raise ConfigError(f"{CONFIG}: peft_type = {json.dumps(kind)} is not supported; supported: LORA.")
    if raw.get("task_type") not in (None, "CAUSAL_LM"):
        raise ConfigError(f"{CONFIG}: task_type = {json.dumps(raw['task_type'])} is not supported; take CAUSAL_LM.")
    if raw.get("bias", "none") != "none":
        raise ConfigError(f"{CONFIG}: bias = {json.dumps(raw['bias'])} trains biases of the base; supported: none.")
    for name, value in raw.items():
        if name not in _READ | _HARMLESS and value not in (None, False, [], {}, ""):
            raise ConfigError(
                f"{CONFIG}: {name} = {json.dumps(value)[:80]} is not supported; merge the adapter into its base with "
                "peft (merge_and_unload) and train the merged model."
            )
    base, rank, alpha = raw.get("base_model_name_or_path"), raw.get("r"), raw.get("lora_alpha")
    if not base or not isinstance(base, str):
        raise ConfigError(f"{CONFIG} names no base_model_name_or_path: write the folder or Hub id of the base there.")
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 1:
        raise ConfigError(f"{CONFIG}: r must be a whole number of at least 1, not {json.dumps(rank)}.")
    if not isinstance(alpha, int | float) or not 0 < alpha < math.inf:
        raise ConfigError(f"{CONFIG}: lora_alpha must be a positive number, not {json.dumps(alpha)}.")
    scaled = alpha * math.sqrt(rank) if raw.get("use_rslora") else float(alpha)  # alpha / sqrt(r) = scaled / r
    return Lora(rank, scaled, _targets(raw.get("target_modules"))), base


def _targets(given: Any) -> tuple[str, ...]:
    if given == EVERY:
        return ()
    if not isinstance(given, list) or not given or not all(isinstance(name, str) for name in given):
        raise ConfigError(
            f"{CONFIG}: target_modules = {json.dumps(given)} is not supported; write a list of names of layers, or "
            f'"{EVERY}".'
        )
    return tuple(sorted(given))


def write_config(lora: Lora, base: str) -> dict[str, Any]:
    """The `adapter_config.json` of an adapter; `lora.targets` must name its layers."""
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": 0.0,
        "target_modules": list(lora.targets),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "use_rslora": False,
        "modules_to_save": None,
    }
