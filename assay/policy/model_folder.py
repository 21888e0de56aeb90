"""A whole model in a folder, in the Hugging Face layout: its weights, its configuration and its tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from assay.errors import ConfigError, DataError, EndpointError, StorageError
from assay.host.space import room_of
from assay.policy import lora
from assay.policy.adapted import merged
from assay.policy.config import PolicyConfig, parameters
from assay.policy.hf_config import config_from_hf, read_json
from assay.policy.kinds import kind_in, tokenizer_of
from assay.policy.network import Network
from assay.policy.pictures import SETTINGS
from assay.policy.policy import Policy, allocate, check_vocabulary
from assay.policy.safetensors_folder import numbers_in, read_weights, write_weights
from assay.policy.tokenizer import FILES, Tokenizer, load_tokenizer
from assay.policy.transformer import Transformer

if TYPE_CHECKING:
    from assay.policy.foreign import Foreign

SHARD_BYTES = 5 * 10**9
_HEAD, _EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"


def located(source: str | Path, *, weights: bool = True) -> Path:
    """The folder of a model that is given by its path or as `owner/name`, which is downloaded from the Hub: all of its
    files, or all but the weights.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    if isinstance(source, Path) or source.count("/") != 1 or source.startswith((".", "/", "~")):
        raise StorageError(f"there is no folder {folder}. A model of the Hub is named owner/name.")
    return _download(source, weights=weights)


def _download(name: str, *, weights: bool) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
    except ImportError as error:
        raise ConfigError(
            f"there is no folder {name}; loading it from the Hub needs `pip install huggingface_hub`."
        ) from error
    patterns = ["config.json", "generation_config.json", "model.safetensors.index.json", *FILES]
    patterns += [lora.CONFIG, lora.ORIGIN, *(("model*.safetensors", lora.WEIGHTS) if weights else ())]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except (HFValidationError, LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise EndpointError(
            f"there is no folder {name}, and the Hugging Face Hub did not give a model of that name: {error} "
            "Check the name and the network, or download the model and give its folder."
        ) from error


def load_whole(
    folder: Path, *, dtype: torch.dtype, device: torch.device | str, allow_nonfinite: bool = False
) -> Policy:
    """The policy of a folder that holds all weights, of whatever kind it is."""
    return kind_in(folder).load(folder, dtype=dtype, device=device, allow_nonfinite=allow_nonfinite)


def load_ours(folder: Path, **how: Any) -> Policy:
    """The policy of a folder with a network of ours."""
    return read_ours(folder, partial(load_weights, folder, **how))


def load_theirs(folder: Path, **how: Any) -> Policy:
    """The policy of a folder with a network of `transformers`."""
    from assay.policy.foreign import load_foreign

    return read_theirs(folder, lambda raw: load_foreign(folder, raw, **how))


def read_ours(folder: Path, make: Callable[[PolicyConfig], Transformer]) -> Policy:
    """The policy of a folder whose network is made of what config.json says."""
    raw = read_json(folder / "config.json")
    config = config_from_hf(raw)
    tokenizer = load_tokenizer(folder)
    check_vocabulary(config, tokenizer)
    return _whole(folder, raw, make(config), tokenizer)


def read_theirs(folder: Path, make: Callable[[Mapping[str, Any]], Foreign]) -> Policy:
    """The same for a network of `transformers`, which may see pictures."""
    from assay.policy.foreign import check_foreign, pictures_of

    raw = read_json(folder / "config.json")
    check_foreign(raw)
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).exists() else {}
    tokenizer = replace(load_tokenizer(folder), pictures=pictures_of(raw, settings))
    network = make(raw)
    network.pictures = tokenizer.pictures
    return _whole(folder, raw, network, tokenizer)


def _whole(folder: Path, raw: Mapping[str, Any], network: Transformer | Foreign, tokenizer: Tokenizer) -> Policy:
    check_vocabulary(network.config, tokenizer)
    generation = read_json(folder / "generation_config.json") if (folder / "generation_config.json").exists() else {}
    ends = [*id_list(raw, "eos_token_id"), *id_list(generation, "eos_token_id")]
    return Policy(network, tokenizer.ending(ends), generation)


def load_weights(
    folder: Path, config: PolicyConfig, *, dtype: torch.dtype, device: torch.device | str, allow_nonfinite: bool = False
) -> Transformer:
    """A transformer with the weights of a folder. They are copied tensor by tensor, so no second copy of all exists."""
    require_all(folder, config)
    require_room(parameters(config) * dtype.itemsize, device, what=str(folder))
    transformer = allocate(config, torch.device(device), dtype)
    slots = dict(transformer.named_parameters())
    shapes = {name: tuple(slot.shape) for name, slot in slots.items()}
    twins: dict[str, Tensor] = {}
    broken: list[str] = []
    with torch.no_grad():
        for name, stored in read_weights(folder, shapes, optional=copies(config)):
            if name not in slots:
                twins[name] = stored
                continue
            slots[name].copy_(stored)
            if not torch.isfinite(slots[name]).all():
                broken.append(name)
        for name, stored in twins.items():
            if not torch.equal(slots[_EMBEDDING], stored.to(slots[_EMBEDDING])):
                raise DataError(
                    f"the config.json of {folder} says tie_word_embeddings, but {name} is not {_EMBEDDING}. "
                    "Set tie_word_embeddings to false if the output layer is a matrix of its own."
                )
    if broken and not allow_nonfinite:
        raise DataError(f"weights that are not finite as {dtype}: {', '.join(broken[:8])} ({len(broken)} tensors).")
    return transformer


def copies(config: PolicyConfig) -> dict[str, str]:
    """Name of a tensor that files may hold though it is a copy -> the name of the tensor that it is a copy of."""
    return {_HEAD: _EMBEDDING} if config.tied else {}


def require_all(folder: Path, config: PolicyConfig) -> None:
    """Refuses a config.json that describes far more parameters than the folder stores, before any are allocated."""
    tensors, numbers = numbers_in(folder)
    if config.layers > tensors or parameters(config) > 2 * numbers:
        raise DataError(
            f"the weights in {folder} do not fit its config.json: it describes {parameters(config):,} numbers in "
            f"{config.layers:,} layers, and {numbers:,} numbers in {tensors:,} tensors are stored."
        )


def require_room(size: int, device: torch.device | str, *, what: str) -> None:
    """Raises ConfigError if weights of `size` bytes do not fit into the free memory of the device."""
    room = room_of(str(device))
    if size > room.bytes:
        raise ConfigError(
            f"the weights of {what} take {size / 2**30:,.2f} GiB, and {room.bytes / 2**30:,.2f} GiB are free "
            f"{room.where}: take a smaller model or a larger machine."
        )


def save_whole(
    policy: Policy,
    folder: Path,
    files: Callable[[Policy, str], Mapping[str, bytes]],
    *,
    weights: Mapping[str, Tensor] | None,
    dtype: torch.dtype | None,
    max_shard_bytes: int,
) -> None:
    """Writes a policy as a whole model; an adapter is merged into its base. `files` gives those beside the weights, for
    the number format in which these are stored.
    """
    stored = stored_weights(policy.network, weights, dtype)
    types = {tensor.dtype for tensor in stored.values()}
    name = str(types.pop()).removeprefix("torch.") if len(types) == 1 else "float32"
    with writing(folder):
        write_weights(folder, stored, max_shard_bytes=max_shard_bytes)
        write_files(folder, files(policy, name))


def model_files(policy: Policy, dtype: str = "float32") -> dict[str, bytes]:
    """All files of the Hugging Face layout except the weights, by name. `dtype` is the number format of the weights."""
    tokenizer = tokenizer_of(policy, "a folder in the Hugging Face layout")
    ends = sorted(policy.end_ids)
    ids = {
        "bos_token_id": tokenizer.id_of("bos_token"),
        "eos_token_id": ends[0] if len(ends) == 1 else ends or None,
        "pad_token_id": tokenizer.pad_id,
    }
    config = policy.network.described(dtype, ids)
    generation = dict(policy.generation) if policy.generation else {k: v for k, v in ids.items() if v is not None}
    if frozenset(id_list(generation, "eos_token_id")) != policy.end_ids:
        generation["eos_token_id"] = ids["eos_token_id"]
    documents = {"config.json": config, "generation_config.json": generation}
    return dict(tokenizer.files) | {name: as_json(document) for name, document in documents.items()}


def as_json(document: Any) -> bytes:
    return (json.dumps(document, indent=2) + "\n").encode()


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Makes the folder that a policy is written into; an error while writing becomes a StorageError that names it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StorageError(f"the policy could not be written to {folder}: {error}") from error


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Writes small files, and removes tokenizer files of an older save that are not among them."""
    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def stored_weights(
    network: Network, weights: Mapping[str, Tensor] | None, dtype: torch.dtype | None
) -> dict[str, Tensor]:
    """The tensors of a folder: those of the network, with its adapter merged, or others of the same names and shapes
    in their place.
    """
    slots = network.tensors() if network.lora is None else merged(network)
    given = slots if weights is None else dict(weights)
    if _HEAD not in slots:
        given = {name: tensor for name, tensor in given.items() if name != _HEAD}
    problems = [f"{name} is missing" for name in slots if name not in given]
    problems += [f"{name} is unexpected" for name in given if name not in slots]
    problems += [
        f"{name} is {list(given[name].shape)}, expected {list(slots[name].shape)}"
        for name in slots
        if name in given and given[name].shape != slots[name].shape
    ]
    if problems:
        raise DataError(f"these weights are not those of the policy: {'; '.join(problems[:8])}.")
    return {name: given[name].detach().to(dtype or given[name].dtype) for name in slots}


def id_list(raw: Mapping[str, Any], name: str) -> list[int]:
    value = raw.get(name)
    ids = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in ids):
        raise ConfigError(f"{name} must be a token id or a list of them, not {json.dumps(value)[:80]}.")
    return ids
