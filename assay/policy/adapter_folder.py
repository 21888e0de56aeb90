"""An adapter on disk in PEFT's layout: configuration, tensors and tokenizer. Its base model lies in another folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file

from assay.errors import AssayError, ConfigError, StorageError
from assay.policy.adapted import attach, stored, take
from assay.policy.hf_config import read_json
from assay.policy.lora import CONFIG, ORIGIN, WEIGHTS, Lora, read_config, write_config
from assay.policy.model_folder import as_json, load_whole, located, model_files, write_files, writing
from assay.policy.policy import AdapterBase, Policy, base_fingerprint
from assay.policy.safetensors_folder import opened
from assay.policy.tokenizer import load_tokenizer
from assay.rng import Key


def put_on(policy: Policy, lora: Lora, *, place: str, key: Key) -> Policy:
    """The policy with a fresh adapter on its network. `place` says where the base is.

    The adapter's B is zero, so the policy computes what it computed before.
    """
    base = AdapterBase(place, base_fingerprint(policy))
    attach(policy.network, lora, key=key)
    return dataclasses.replace(policy, base=base)


def load_adapted(folder: Path, **how: Any) -> Policy:
    """The base model that the folder names, with the folder's adapter on it."""
    policy, lora, base = below(folder, lambda name: load_whole(located(name), **how))
    policy = put_on(policy, lora, place=base, key=Key("adapter"))
    assert policy.base is not None
    if (folder / ORIGIN).is_file():
        fingerprint = read_json(folder / ORIGIN).get("fingerprint")
        if fingerprint != policy.base.fingerprint:
            raise ConfigError(
                f"the base {base} is not the one that the adapter {folder} was trained on: its fingerprint is "
                f"{policy.base.fingerprint}, {ORIGIN} says {fingerprint}. Put the old base back; or remove {ORIGIN} if "
                "the new one is what you want."
            )
    take(policy.network, _tensors(folder), place=str(folder))
    return policy


def below(folder: Path, load: Callable[[str], Policy]) -> tuple[Policy, Lora, str]:
    """(the base that an adapter's folder names, loaded, with the adapter's tokenizer; the adapter; the base's name)."""
    if (folder / "config.json").exists():
        raise ConfigError(
            f"{folder} holds a whole model (config.json) and an adapter ({CONFIG}). Move one of them to another folder."
        )
    lora, base = read_config(read_json(folder / CONFIG))
    try:
        policy = None if (located(base, weights=False) / CONFIG).is_file() else load(base)
    except AssayError as error:
        raise type(error)(f"the base model that {folder / CONFIG} names cannot be loaded: {error}") from error
    if policy is None:
        raise ConfigError(f"the base of the adapter {folder} is {base}, an adapter itself; merge that one first.")
    if (folder / "tokenizer.json").is_file():
        policy = dataclasses.replace(policy, codec=load_tokenizer(folder).ending(policy.end_ids))
    _require_rank(folder, lora)
    return policy, lora, base


def _require_rank(folder: Path, lora: Lora) -> None:
    """Refuses a rank that is larger than every dimension of the stored tensors, before an adapter is allocated."""
    _require_tensors(folder)
    with opened(folder / WEIGHTS) as stored:
        shapes = [stored.get_slice(name).get_shape() for name in stored.keys()]  # noqa: SIM118 (it is no mapping)
    if lora.rank > (most := max((max(shape, default=0) for shape in shapes), default=0)):
        raise ConfigError(f"{folder / CONFIG}: r is {lora.rank:,}, and no tensor of {WEIGHTS} is wider than {most:,}.")


def _require_tensors(folder: Path) -> None:
    if not (folder / WEIGHTS).is_file():
        pickled = [path.name for path in folder.glob("adapter_model.*")]
        raise StorageError(
            f"{folder} has no {WEIGHTS}" + (f", only {pickled[0]}; save it again with peft." if pickled else ".")
        )


def _tensors(folder: Path) -> dict[str, Any]:
    with opened(folder / WEIGHTS) as stored:
        return {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118


def adapter_files(policy: Policy) -> dict[str, bytes]:
    """All files of an adapter's folder except its tensors, by name."""
    lora, base = policy.network.lora, policy.base
    assert lora is not None and base is not None
    files = {name: content for name, content in model_files(policy).items() if name != "config.json"}
    origin = {"base": base.place, "fingerprint": base.fingerprint}
    return files | {CONFIG: as_json(write_config(lora, base.place)), ORIGIN: as_json(origin)}


def save_adapted(policy: Policy, folder: Path) -> None:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in stored(policy.network).items()}
    with writing(folder):
        try:
            save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
        except SafetensorError as error:
            raise StorageError(f"{folder / WEIGHTS} could not be written: {error}") from error
        write_files(folder, adapter_files(policy))
