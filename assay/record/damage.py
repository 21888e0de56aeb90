"""Whether a run's records were changed after they were written.

A checkpoint holds the length and the SHA-256 of each journal at the time of its save, and the journal `rollouts` lists
size and SHA-256 of every rollout file. Training does not read these records, so a change gives a warning and no error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import StorageError
from assay.host.files import require_regular
from assay.record import disk, jsonl

HASHED = 256 << 20  # bytes of rollout files that are hashed again; of all files after that only the sizes are compared


def changed_journals(folder: Path, manifests: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each journal that was changed. `manifests` are those of the checkpoints, the oldest first."""
    if not manifests:
        return []
    sentences = []
    for name, length in manifests[-1]["journals"].items():
        path = folder / f"{name}.jsonl"
        if not path.exists() or path.stat().st_size < length:
            size = path.stat().st_size if path.exists() else 0
            step = manifests[-1]["step"]
            sentences.append(f"{path.name} has {size:,} bytes, but had {length:,} when step {step} was saved")
            continue
        require_regular(path)
        steps = [entry["step"] for entry in manifests if _is_as_saved(path, name, entry) is False]
        if steps:
            sound = [entry["step"] for entry in manifests if entry["step"] < steps[0]]
            where = f"between the records of steps {sound[-1]} and {steps[0]}" if sound else f"up to step {steps[0]}"
            sentences.append(f"{path.name} was changed after it was written, {where}")
    return sentences


def _is_as_saved(path: Path, name: str, manifest: Mapping[str, Any]) -> bool | None:
    """Whether a journal has the digest that a checkpoint holds; None for a checkpoint of older versions without one."""
    digest = (manifest.get("journal_digests") or {}).get(name)
    return None if digest is None else jsonl.sha_of(path, manifest["journals"][name]).hexdigest() == digest


def changed_rollouts(folder: Path, listed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Sentences about rollout files that are missing or were changed; `listed` are the records of the journal."""
    gone = [entry for entry in listed if not (folder / str(entry["file"])).is_file()]
    if gone:
        yield f"rollouts/ lacks {len(gone)} of {len(listed)} files that were written, first of all {gone[0]['file']}"
    budget = HASHED
    for entry in listed:
        path, size = folder / str(entry["file"]), entry["size"]
        if entry in gone:
            continue
        budget -= size
        if path.stat().st_size != size or (budget >= 0 and disk.digest_file(path) != entry["sha256"]):
            yield f"rollouts/{entry['file']} was changed after it was written"


def listed_rollouts(path: Path) -> list[dict[str, Any]]:
    """The records of the journal `rollouts`; StorageError if they are not such records."""
    if not path.exists():
        return []
    entries = jsonl.read(path)
    for entry in entries:
        if not (isinstance(entry.get("file"), str) and Path(entry["file"]).name == entry["file"]):
            raise StorageError(f"{path} names {entry.get('file')!r}, which is no file of rollouts/.")
        if not (isinstance(entry.get("size"), int) and isinstance(entry.get("sha256"), str)):
            raise StorageError(f"{path}: the record of {entry['file']} lacks its size or its SHA-256.")
    return entries
