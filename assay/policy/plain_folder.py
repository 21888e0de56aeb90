"""Policies that read no words on disk: config.json, and model.safetensors with each parameter under its own name."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.errors import ConfigError, DataError
from assay.policy import acting, mlp, pointer, tabular
from assay.policy.acting import ActingConfig, ActionCodec
from assay.policy.hf_config import read_json
from assay.policy.model_folder import as_json, require_room, save_whole
from assay.policy.network import PlainNetwork
from assay.policy.pointer import PointerConfig, PointerNetwork
from assay.policy.policy import Policy
from assay.policy.routes import RouteCodec
from assay.policy.safetensors_folder import read_weights, require_tensors
from assay.rng import Key

NETWORKS: Mapping[str, Callable[[Any], PlainNetwork]] = {
    mlp.FAMILY: mlp.Mlp,
    tabular.FAMILY: tabular.Tabular,
    pointer.FAMILY: PointerNetwork,
}
_SHAPE_OF_POINTERS = re.compile(r"(\d{1,5})x(\d{1,3})")


def fresh_mlp(shape: str, *, key: Key) -> Policy:
    """A multilayer perceptron with random weights, which depend on the key and the shape alone."""
    return _fresh(mlp.shape_of(shape), key)


def fresh_table(shape: str, *, key: Key) -> Policy:
    """A table of zeros."""
    return _fresh(tabular.shape_of(shape), key)


def fresh_pointer(shape: str, *, key: Key) -> Policy:
    """A policy with random weights, which depend on the key and the shape alone. `64x3`: 64 wide, 3 encoder layers."""
    said = _SHAPE_OF_POINTERS.fullmatch(shape)
    if said is None:
        raise ConfigError(f"the shape of a pointer policy is WIDTHxLAYERS, such as pointer:128x6, not pointer:{shape}.")
    return _fresh(PointerConfig(hidden=int(said[1]), layers=int(said[2])), key)


def _fresh(config: ActingConfig | PointerConfig, key: Key) -> Policy:
    network = NETWORKS[config.family](config)
    return _policy(network.initialise(torch.Generator().manual_seed(key.bits & (2**63 - 1))))


def load(folder: Path, *, dtype: torch.dtype, device: torch.device | str, allow_nonfinite: bool = False) -> Policy:
    """The policy of a folder."""
    network = _empty(folder)
    require_room(_count(network) * dtype.itemsize, device, what=str(folder))
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
    network = _empty(folder)
    if here:
        require_tensors(folder, _shapes(network), optional={})
    return _policy(network)


def _empty(folder: Path) -> PlainNetwork:
    """The network on torch's meta device."""
    return _of(read_json(folder / "config.json"))


def _of(raw: Mapping[str, Any]) -> PlainNetwork:
    read = pointer.config_of if raw.get("model_type") == pointer.FAMILY else acting.config_of
    config = read(raw)
    with torch.device("meta"):
        return NETWORKS[config.family](config)


def size(raw: Mapping[str, Any]) -> int:
    """How many parameters the policy of this `config.json` has."""
    return _count(_of(raw))


def _count(network: PlainNetwork) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def _shapes(network: PlainNetwork) -> dict[str, tuple[int, ...]]:
    return {name: tuple(slot.shape) for name, slot in network.named_parameters()}


def _policy(network: PlainNetwork) -> Policy:
    config = network.config
    if isinstance(config, PointerConfig):
        about = json.dumps(dataclasses.asdict(config), sort_keys=True)
        return Policy(network, RouteCodec(config.places, about=about))
    return Policy(network, ActionCodec(config.actions, config.observed))


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
    save_whole(policy, folder, _files, weights=weights, dtype=dtype, max_shard_bytes=max_shard_bytes)
