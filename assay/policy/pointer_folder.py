"""A pointer policy on disk: config.json and model.safetensors."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.errors import ConfigError, DataError
from assay.policy.hf_config import read_json
from assay.policy.model_folder import as_json, require_room, stored_weights, writing
from assay.policy.pointer import PointerConfig, PointerNetwork, config_of
from assay.policy.policy import Policy
from assay.policy.routes import RouteCodec
from assay.policy.safetensors_folder import read_weights, require_tensors, write_weights
from assay.rng import Key

_SHAPE = re.compile(r"(\d{1,5})x(\d{1,3})")


def fresh(shape: str, *, key: Key) -> Policy:
    """A policy with random weights, which depend on the key and the shape alone. `64x3`: 64 wide, 3 encoder layers."""
    said = _SHAPE.fullmatch(shape)
    if said is None:
        raise ConfigError(f"the shape of a pointer policy is WIDTHxLAYERS, such as pointer:128x6, not pointer:{shape}.")
    network = PointerNetwork(PointerConfig(hidden=int(said[1]), layers=int(said[2])))
    return _policy(network.initialise(torch.Generator().manual_seed(key.bits & (2**63 - 1))))


def load(folder: Path, *, dtype: torch.dtype, device: torch.device | str, allow_nonfinite: bool = False) -> Policy:
    """The policy of a folder."""
    with torch.device("meta"):
        network = PointerNetwork(config_of(read_json(folder / "config.json")))
    size = sum(parameter.numel() for parameter in network.parameters())
    require_room(size * dtype.itemsize, device, what=str(folder))
    slots = _shapes(network)
    network = network._apply(lambda tensor: torch.empty(tensor.shape, dtype=dtype, device=device))
    with torch.no_grad():
        for name, tensor in read_weights(folder, slots, optional={}):
            network.get_parameter(name).copy_(tensor)
    broken = [name for name, parameter in network.named_parameters() if not parameter.isfinite().all()]
    if broken and not allow_nonfinite:
        raise DataError(f"weights that are not finite as {dtype}: {', '.join(broken[:8])} ({len(broken)} tensors).")
    return _policy(network)


def outline(folder: Path, *, here: bool) -> Policy:
    """The same on torch's meta device, with the headers of its weights compared with config.json."""
    with torch.device("meta"):
        network = PointerNetwork(config_of(read_json(folder / "config.json")))
    if here:
        require_tensors(folder, _shapes(network), optional={})
    return _policy(network)


def _shapes(network: PointerNetwork) -> dict[str, tuple[int, ...]]:
    return {name: tuple(slot.shape) for name, slot in network.named_parameters()}


def _policy(network: PointerNetwork) -> Policy:
    shape = json.dumps(dataclasses.asdict(network.config), sort_keys=True)
    return Policy(network, RouteCodec(network.config.places, about=shape))


def files(policy: Policy) -> dict[str, bytes]:
    """The files of a folder beside the weights."""
    return _files(policy, "float32")


def _files(policy: Policy, dtype: str) -> dict[str, bytes]:
    return {"config.json": as_json(policy.network.described(dtype, {}))}


def save(
    policy: Policy,
    folder: Path,
    *,
    weights: Mapping[str, Tensor] | None,
    dtype: torch.dtype | None,
    max_shard_bytes: int,
    merge: bool,
) -> None:
    """As `save_policy`. There is never an adapter to merge."""
    stored: dict[str, Any] = stored_weights(policy.network, weights, dtype)
    kinds = {str(tensor.dtype).removeprefix("torch.") for tensor in stored.values()}
    with writing(folder):
        write_weights(folder, stored, max_shard_bytes=max_shard_bytes)
        for name, content in _files(policy, kinds.pop() if len(kinds) == 1 else "float32").items():
            (folder / name).write_bytes(content)
