"""MANIFEST.json of a checkpoint: what the checkpoint must contain, and the check whether it does.

The manifest is written last. It lists every file with its size and SHA-256, the identity of the run, the length of each
journal, and the environment. Its field `seal` is the SHA-256 of all other fields, so that damage of the manifest itself
is noticed too. Every future version of the manifest will have the seal.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from assay.errors import ConfigError, StorageError
from assay.host.files import read_json
from assay.record.disk import digest_file

SCHEMA = 1
NAME = "MANIFEST.json"
LARGEST = 64 << 20  # bytes of a manifest, or of run.json


def plain(value: Any) -> Any:
    """JSON data: numpy scalars and arrays become numbers and lists, and a number that is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def canonical(value: Any) -> bytes:
    """JSON data as bytes; equal data give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def fingerprint(value: Any) -> str:
    """The SHA-256 of JSON data."""
    return hashlib.sha256(canonical(value)).hexdigest()


def seal(manifest: Mapping[str, Any]) -> bytes:
    """The content of MANIFEST.json, with its seal."""
    body = plain(manifest)
    return json.dumps({**body, "seal": fingerprint(body)}, indent=1, allow_nan=False).encode() + b"\n"


def environment(place: str) -> dict[str, Any]:
    """The parts of the environment that can change the last bits of a run's numbers."""
    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch else int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    found = {"place": place, "threads": threads, "machine": platform.machine(), "versions": dict(versions())}
    return found | ({"kernels": _kernels(torch, place)} if torch else {})


def _kernels(torch: Any, place: str) -> str:
    """The instructions that torch's kernels use on this processor, and the GPU where the place is one: sums differ
    between them in their last bits.
    """
    device = place.split(" ")[0]
    gpu = torch.cuda.get_device_name(device) if device.startswith("cuda") and torch.cuda.is_available() else ""
    return " ".join(filter(None, (torch.backends.cpu.get_cpu_capability(), gpu)))


@functools.cache
def versions() -> dict[str, str]:
    """The versions of Python, of this package and of the libraries it uses. Imports none of them."""
    versions = {"python": platform.python_version()}
    for name in ("assay-rl", "torch", "numpy", "safetensors", "tokenizers"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "none"
    return versions


def differences(before: Any, now: Any, path: str = "") -> list[str]:
    """`field: before -> now` for each leaf of two trees of JSON data that differs."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        keys = sorted({*before, *now})
        return [line for key in keys for line in differences(before.get(key), now.get(key), f"{path}.{key}".strip("."))]
    return [] if canonical(before) == canonical(now) else [f"{path or 'value'}: {before!r} -> {now!r}"]


def require_same(before: Any, now: Any, *, what: str) -> None:
    """ConfigError that lists the fields in which `before` and `now` differ; `what` names their file or folder."""
    lines = differences(before, now)
    if lines:
        raise ConfigError(f"{what} belongs to another run; these fields differ:\n  " + "\n  ".join(lines))


def require_schema(found: object, *, what: str, known: int = SCHEMA) -> None:
    """ConfigError if a file has another schema version than this program reads."""
    if found == known:
        return
    newer = isinstance(found, int) and found > known
    older = "Read it with the version of assay that wrote it, which the file names."
    todo = "Upgrade assay to read it." if newer else older
    raise ConfigError(f"{what} has schema version {found!r}; this assay reads version {known}. {todo}")


def safe_name(name: str) -> bool:
    """Whether this is a plain relative path: not absolute, without `..`, hidden parts or superfluous characters."""
    path = PurePosixPath(name)
    parts = path.parts
    odd = path.is_absolute() or ".." in parts or str(path) != name or name in ("", ".", NAME)
    return not odd and "\\" not in name and "\0" not in name and not any(part.startswith(".") for part in parts)


@dataclass(frozen=True)
class Fault:
    """Why a checkpoint cannot be used: a word for the new name of its folder, and a sentence.

    Fault("hash", "step-00000010/memory.json does not have the SHA-256 that was written")
    """

    reason: str
    detail: str


def read(folder: Path) -> dict[str, Any] | Fault:
    """The manifest of a checkpoint, or the Fault if it is missing, unreadable or not what was sealed."""
    path = folder / NAME
    if folder.is_symlink() or path.is_symlink():
        return Fault("symlink", f"{path} is reached through a symbolic link")
    try:
        manifest = read_json(path, most=LARGEST)
    except FileNotFoundError:
        return Fault("manifest", f"{path} is missing")
    except StorageError as error:
        return Fault("manifest", str(error))
    if not isinstance(manifest, dict):
        return Fault("manifest", f"{path} is not a JSON object")
    claimed = manifest.pop("seal", None)
    try:
        true = fingerprint(manifest)
    except ValueError as error:
        return Fault("manifest", f"{path} holds a number that is not finite: {error}")
    return manifest if claimed == true else Fault("seal", f"{path} was changed after it was written")


def file_fault(folder: Path, manifest: Mapping[str, Any], *, hashes: bool = True) -> Fault | None:
    """The first difference between the files and the manifest; None if there is none. With `hashes` reads all files."""
    match = re.fullmatch(r"step-(\d{8,})", folder.name)
    if match and manifest.get("step") != int(match[1]):
        return Fault("step", f"{folder} holds the manifest of step {manifest.get('step')}")
    if not well_formed(manifest):
        return Fault("manifest", f"{folder / NAME} lacks fields of schema {SCHEMA}, or has them with other types")
    listed: Mapping[str, Any] = manifest["files"]
    for name, entry in listed.items():
        if not safe_name(name):
            return Fault("path", f"{folder / NAME} lists {name!r}, which is not a plain path below it")
        fault = _entry_fault(folder, name, entry, hashes)
        if fault:
            return fault
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if name not in listed and name != NAME and not hidden and (path.is_symlink() or not path.is_dir()):
            return Fault("extra", f"{path} is not in the manifest")
    return None


def well_formed(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has the fields that every checkpoint of this schema has."""
    files, journals = manifest.get("files"), manifest.get("journals")
    if not (isinstance(files, dict) and isinstance(journals, dict) and isinstance(manifest.get("environment"), dict)):
        return False
    entries = all(
        isinstance(entry, dict) and isinstance(entry.get("size"), int) and isinstance(entry.get("sha256"), str)
        for entry in files.values()
    )
    return entries and all(isinstance(offset, int) and offset >= 0 for offset in journals.values())


def _entry_fault(folder: Path, name: str, entry: Mapping[str, Any], hashes: bool) -> Fault | None:
    path = folder / name
    if any(part.is_symlink() for part in [path, *path.parents][: len(PurePosixPath(name).parts)]):
        return Fault("symlink", f"{path} is reached through a symbolic link")
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Fault("missing", f"{path} is missing")
    if not stat.S_ISREG(status.st_mode):
        return Fault("missing", f"{path} is not a regular file")
    if status.st_size != entry["size"]:
        return Fault("size", f"{path} has {status.st_size} bytes, but {entry['size']} were written")
    if hashes and digest_file(path) != entry["sha256"]:
        return Fault("hash", f"{path} does not have the SHA-256 that was written")
    return None
