"""Named tensors <-> a folder of safetensors: one file, or shards with `model.safetensors.index.json`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from assay.errors import DataError, StorageError
from assay.host.files import read_json, require_regular

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
HEADER = 16 << 20  # the most bytes of a file's header: enough for some hundred thousand tensors
_FLOATS = ("F64", "F32", "F16", "BF16")
_SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
# Old Llama checkpoints store the frequencies of the default rope beside the weights; ours are computed from the config.
_DERIVED = re.compile(r"model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq")


def read_weights(
    folder: Path, shapes: Mapping[str, Sequence[int]], *, optional: Mapping[str, str]
) -> Iterator[tuple[str, Tensor]]:
    """Yields (name, tensor) for each name in `shapes`. All names and shapes are
    checked before the first tensor is read.

    `optional` maps names that may be stored too, to the names of the tensors that they are copies of.
    """
    stored = _fitting(folder, shapes, optional)
    for path in dict.fromkeys(home for home, _, _ in stored.values()):
        with opened(path) as shard:
            for name, (home, _, _) in stored.items():
                if home == path and (name in shapes or name in optional):
                    yield name, shard.get_tensor(name)


def require_tensors(folder: Path, shapes: Mapping[str, Sequence[int]], *, optional: Mapping[str, str]) -> None:
    """Refuses a folder that does not hold these tensors and no others; only the headers of its files are read."""
    _fitting(folder, shapes, optional)


def _fitting(
    folder: Path, shapes: Mapping[str, Sequence[int]], optional: Mapping[str, str]
) -> dict[str, tuple[Path, list[int], str]]:
    """What the folder stores, if that is what is wanted."""
    stored = _stored(folder, _files(folder))
    _check(folder, stored, {**shapes, **{name: shapes[twin] for name, twin in optional.items()}}, optional)
    return stored


def numbers_in(folder: Path) -> tuple[int, int]:
    """(how many tensors, how many numbers) the weight files of a folder hold; only their headers are read."""
    found = _stored(folder, _files(folder))
    return len(found), sum(math.prod(shape) for _, shape, _ in found.values())


def _stored(folder: Path, files: Sequence[Path]) -> dict[str, tuple[Path, list[int], str]]:
    """(file, shape, number format) of each stored tensor."""
    found: dict[str, tuple[Path, list[int], str]] = {}
    for path in files:
        with opened(path) as shard:
            for name in shard.keys():  # noqa: SIM118 (a safetensors handle is no mapping)
                if name in found:
                    raise StorageError(f"tensor {name} is in {found[name][0].name} and in {path.name} of {folder}.")
                part = shard.get_slice(name)
                found[name] = (path, list(part.get_shape()), part.get_dtype())
    return found


def write_weights(folder: Path, weights: Mapping[str, Tensor], *, max_shard_bytes: int) -> None:
    """Writes the tensors in their order. A shard holds at most `max_shard_bytes`, or one larger tensor.

    Weight files of an older save that are not overwritten are removed, so that nobody can read a mixture of both.
    """
    if max_shard_bytes < 1:
        raise DataError(f"max_shard_bytes must be at least 1, not {max_shard_bytes}.")
    shards = _split({name: tensor.nbytes for name, tensor in weights.items()}, max_shard_bytes)
    many = len(shards) > 1
    names = [f"model-{i + 1:05}-of-{len(shards):05}.safetensors" if many else SINGLE for i in range(len(shards))]
    stale = {p.name for p in folder.iterdir() if p.name in (SINGLE, INDEX) or _SHARD.fullmatch(p.name)} - set(names)
    for name in stale:
        (folder / name).unlink()
    for file, shard in zip(names, shards, strict=True):
        tensors = {name: weights[name].detach().cpu().contiguous() for name in shard}
        try:
            save_file(tensors, folder / file, metadata={"format": "pt"})
        except (OSError, SafetensorError) as error:
            raise StorageError(f"{folder / file} could not be written: {error}") from error
    if many:
        index: dict[str, Any] = {"metadata": {"total_size": sum(tensor.nbytes for tensor in weights.values())}}
        index["weight_map"] = {name: file for file, shard in zip(names, shards, strict=True) for name in shard}
        (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n")


def _split(sizes: Mapping[str, int], limit: int) -> list[list[str]]:
    shards: list[list[str]] = [[]]
    filled = 0
    for name, size in sizes.items():
        if shards[-1] and filled + size > limit:
            shards.append([])
            filled = 0
        shards[-1].append(name)
        filled += size
    return shards


def _files(folder: Path) -> list[Path]:
    """The weight files of a folder: those that the index names, or the single one."""
    if (folder / INDEX).is_file():
        return [_inside(folder, name) for name in _indexed(folder)]
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    pickled = sorted(p.name for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pth"))
    if pickled:
        raise StorageError(
            f"{folder} holds {pickled[0]} but no {SINGLE}. Pickled weights can run code and are not read; convert them "
            "with transformers: AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder)."
        )
    raise StorageError(f"{folder} holds neither {SINGLE} nor {INDEX}.")


def _indexed(folder: Path) -> list[str]:
    try:
        places = read_json(folder / INDEX, most=HEADER)["weight_map"]
        return sorted(set(places.values()))
    except (KeyError, TypeError, AttributeError) as error:
        raise StorageError(f"{folder / INDEX} is not an index of safetensors: {error!r}") from error


def _inside(folder: Path, name: str) -> Path:
    pure, windows = PurePosixPath(name), PureWindowsPath(name)
    if pure.is_absolute() or windows.drive or windows.root or ".." in windows.parts or ".." in pure.parts:
        raise StorageError(f"{folder / INDEX} points to {name!r}, which is outside its folder; it is not read.")
    if pure.suffix != ".safetensors":
        raise StorageError(f"{folder / INDEX} points to {name!r}; only .safetensors files are read.")
    if not (folder / name).is_file():
        raise StorageError(f"{folder} lacks {name}, which {INDEX} names.")
    return folder / name


def require_header(path: Path) -> None:
    """Raises StorageError for a file whose header claims to be larger than any
    model's; reading it could fill the memory.
    """
    require_regular(path)
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
    if size > HEADER:
        raise StorageError(
            f"{path} is damaged or not a safetensors file: its header would have {size:,} bytes, and at most "
            f"{HEADER:,} are read."
        )


class opened:
    """As `safe_open`, with errors that name the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Any:
        try:
            require_header(self.path)
            self.handle = safe_open(self.path, framework="pt", device="cpu")
            return self.handle.__enter__()
        except (SafetensorError, OSError, MemoryError) as error:  # mapping the file can fail under a limit of addresses
            raise StorageError(f"{self.path} is damaged or not a safetensors file: {error}") from error

    def __exit__(self, *failure: Any) -> None:
        self.handle.__exit__(*failure)


def _check(
    folder: Path,
    found: Mapping[str, tuple[Path, list[int], str]],
    shapes: Mapping[str, Sequence[int]],
    optional: Mapping[str, str],
) -> None:
    problems = {
        "missing tensors": sorted(set(shapes) - set(found) - set(optional)),
        "unexpected tensors": sorted(name for name in set(found) - set(shapes) if not _DERIVED.fullmatch(name)),
        "wrong shapes": [
            f"{name} is {found[name][1]}, expected {list(shapes[name])}"
            for name in sorted(set(found) & set(shapes))
            if found[name][1] != list(shapes[name])
        ],
        "types that are no floats": [
            f"{name} is {found[name][2]}" for name in sorted(set(found) & set(shapes)) if found[name][2] not in _FLOATS
        ],
    }
    complaints = [f"{kind}: {listed(names)}" for kind, names in problems.items() if names]
    if complaints:
        raise DataError(f"the weights in {folder} do not fit its config.json; {'; '.join(complaints)}.")


def listed(names: Sequence[str]) -> str:
    """The first eight names, and how many more there are."""
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
