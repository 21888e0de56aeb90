"""What has become of a run's records since they were written, by what its checkpoints remember of them.

A checkpoint holds the length and the SHA-256 of each journal at the time of its save; one of the journals lists every
file of rollouts with its own. None of this is needed to train on, so that a difference stops no run: it is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.files import require_regular
from assay.record import disk, jsonl

HASHED = 256 << 20  # bytes of rollouts that are read again; beyond them sizes alone are compared


def changed_journals(folder: Path, manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each journal that is not what it was; `manifests` of the checkpoints, the oldest first."""
    if not manifests:
        return []
    found = []
    for name, length in manifests[-1]["journals"].items():
        path = folder / f"{name}.jsonl"
        if not path.exists() or path.stat().st_size < length:
            size = path.stat().st_size if path.exists() else 0
            found.append(f"{path.name} has {size:,} bytes, and {length:,} when step {manifests[-1]['step']} was saved")
            continue
        require_regular(path)
        steps = [entry["step"] for entry in manifests if _is_as_saved(path, name, entry) is False]
        if steps:
            sound = [entry["step"] for entry in manifests if entry["step"] < steps[0]]
            since = f" behind the records of step {sound[-1]}" if sound else ""
            found.append(f"{path.name} was changed after it was written, up to the records of step {steps[0]}{since}")
    return found


def _is_as_saved(path: Path, name: str, manifest: Mapping[str, Any]) -> bool | None:
    """None of a checkpoint that remembers no digest, as older versions wrote them."""
    digest = (manifest.get("journal_digests") or {}).get(name)
    return None if digest is None else jsonl.sha_of(path, manifest["journals"][name]).hexdigest() == digest


def changed_rollouts(folder: Path, listed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Sentences about files that the journal of rollouts lists, and that are gone or others."""
    gone = [entry for entry in listed if not (folder / str(entry["file"])).is_file()]
    if gone:
        yield f"rollouts/ lacks {len(gone)} of {len(listed)} files that were written, the first {gone[0]['file']}"
    budget = HASHED
    for entry in listed:
        path, size = folder / str(entry["file"]), entry["size"]
        if entry in gone:
            continue
        budget -= size
        if path.stat().st_size != size or (budget >= 0 and disk.digest_file(path) != entry["sha256"]):
            yield f"rollouts/{entry['file']} was changed after it was written"


def listed_rollouts(path: Path) -> list[dict[str, Any]]:
    """The journal of rollouts; StorageError where it says something else."""
    if not path.exists():
        return []
    found = jsonl.read(path)
    for entry in found:
        if not (isinstance(entry.get("file"), str) and Path(entry["file"]).name == entry["file"]):
            raise StorageError(f"{path} names {entry.get('file')!r}, which is no file of rollouts/.")
        if not (isinstance(entry.get("size"), int) and isinstance(entry.get("sha256"), str)):
            raise StorageError(f"{path}: the record of {entry['file']} lacks its size or its SHA-256.")
    return found
