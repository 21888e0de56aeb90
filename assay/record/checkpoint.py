"""Checkpoints that are whole or absent.

A save writes `ckpt/.tmp-*`, forces every file to the disk, and renames the folder to `ckpt/step-N`: the rename is the
commit. Only when the new one was read back are older ones removed. A load takes the newest checkpoint whose every byte
has the hash that was written; damaged ones are set aside by a rename, never deleted.
"""

from __future__ import annotations

import errno
import json
import logging
import math
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

from assay.errors import StorageError, UsageError
from assay.host.files import parse_json, read_json
from assay.record import disk, manifest, tensors
from assay.record.manifest import Fault

log = logging.getLogger(__name__)

KEEP = 2
RESERVE = 64 << 20

Pieces = Callable[[], Iterable[Any]]
T = TypeVar("T")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose hashes were verified."""

    step: int
    path: Path
    manifest: Mapping[str, Any]
    rejected: tuple[str, ...] = ()  # one sentence for each newer checkpoint that could not be used

    def tensors(self, name: str, *, framework: Literal["numpy", "torch"] = "numpy") -> dict[str, Any]:
        return tensors.decode(self.file(name), framework)

    def document(self, name: str) -> Any:
        path = self.file(name)
        try:
            return parse_json(path.read_bytes())
        except ValueError as error:
            raise StorageError(f"{path} cannot be read as JSON: {error}.") from error

    def read(self, name: str, make: Callable[[Any], T]) -> T:
        """What a document stands for; StorageError where it stands for no such thing."""
        try:
            return make(self.document(name))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StorageError(
                f"{self.path / name} is not what this assay writes there ({type(error).__name__}: {error!s:.200})."
            ) from error

    def file(self, name: str) -> Path:
        if name not in self.names:
            raise StorageError(f"{self.path} holds no {name}; it holds {', '.join(self.names)}.")
        return self.path / name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.manifest["files"])

    @property
    def score(self) -> float | None:
        """Held-out score at the save, if it was known."""
        return self.manifest.get("score")

    @property
    def journals(self) -> Mapping[str, int]:
        """Bytes of each journal at the time of the save."""
        return self.manifest["journals"]

    def environment_changes(self, place: str) -> list[str]:
        """What differs from the machine that saved it; if anything does, the same bits are no longer promised."""
        return manifest.differences(self.manifest["environment"], manifest.environment(place))


@dataclass(frozen=True)
class Best:
    step: int
    score: float


@dataclass(frozen=True)
class Store:
    """The checkpoints of one run, in `path`. Writing methods want the run's lock to be held."""

    path: Path
    identity: Mapping[str, Any]  # JSON data; a checkpoint of another identity is refused
    keep: int = KEEP
    reserve: int = RESERVE  # bytes that a save leaves free
    reread: int = 256 << 20  # a checkpoint up to this size is hashed again after the commit
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        if self.keep < 2:
            raise UsageError(f"keep={self.keep}: the newest checkpoint may turn out damaged, so keep at least 2.")
        object.__setattr__(self, "fingerprint", manifest.fingerprint(manifest.plain(self.identity)))

    def folder(self, step: int) -> Path:
        return self.path / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """Steps that have a committed checkpoint, ascending; their bytes are not looked at."""
        found = self.path.iterdir() if self.path.is_dir() else ()  # a copy may lack a folder that was empty
        names = (re.fullmatch(r"step-(\d{8,})", path.name) for path in found)
        return sorted(int(match[1]) for match in names if match)

    def save(
        self,
        step: int,
        *,
        tensors: Mapping[str, Mapping[str, Any]],
        documents: Mapping[str, Any] | None = None,
        files: Mapping[str, Path | bytes] | None = None,
        journals: Mapping[str, int] | None = None,
        digests: Mapping[str, str] | None = None,
        score: float | None = None,
        place: str = "cpu",
    ) -> Path:
        """Commit a checkpoint. Names are paths below it: `policy/model.safetensors`. A step that is there stays.

        Raises OSError when the disk fails (nothing is left behind, an older checkpoint is never touched) and
        StorageError for what must never be committed.
        """
        final = self.folder(step)
        if final.exists():
            disk.fsync_folder(self.path, point="checkpoint", call="fsync_store")
            return final
        if score is not None and not math.isfinite(score):
            raise UsageError(f"the score of step {step} is {score}; leave it out where there is none.")
        contents = _contents(tensors, documents or {}, files or {})
        self._require_space(sum(size for size, _ in contents.values()))
        temporary = self.path / f".tmp-{step}-{uuid.uuid4().hex}"
        head = {
            "schema": manifest.SCHEMA,
            "step": step,
            "parent": max(self.steps(), default=None),
            "score": score,
            "identity": self.fingerprint,
            "identity_fields": self.identity,
            "journals": dict(journals or {}),
            "journal_digests": dict(digests or {}),
            "environment": manifest.environment(place),
        }
        try:
            _write_tree(temporary, contents, head)
            disk.rename(temporary, final, point="checkpoint")
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        disk.fsync_folder(self.path, point="checkpoint", call="fsync_store")
        self._reread(final)
        return final

    def _require_space(self, size: int) -> None:
        needed, free = int(1.25 * size) + self.reserve, shutil.disk_usage(self.path).free
        if free < needed:
            raise OSError(errno.ENOSPC, f"a save wants {needed:,} bytes free, and {free:,} are", str(self.path))

    def _reread(self, folder: Path) -> None:
        found = manifest.read(folder)
        if isinstance(found, dict):
            size = sum(entry["size"] for entry in found["files"].values())
            found = manifest.file_fault(folder, found, hashes=size <= self.reread)
        if isinstance(found, Fault):
            self._set_aside(folder, f"corrupt-{found.reason}")
            raise OSError(errno.EIO, f"what was written reads back differently: {found.detail}")

    def retain(self) -> None:
        """Remove all but the newest `keep` and the best."""
        best, steps = self.best(), self.steps()
        kept = {*steps[-self.keep :], *([best.step] if best else [])}
        for step in steps:
            if step not in kept:
                disk.rename(self.folder(step), self.path / f".trash-{uuid.uuid4().hex}", point="retention")
        for trash in sorted(self.path.glob(".trash-*")):
            disk.remove(trash, point="retention")

    def best(self) -> Best | None:
        """The saved step with the highest score, the earliest of equals.

        Scores given to `save` are read from the manifests, so a crash between a save and its mark loses nothing.
        """
        hint, steps = self._hint(), self.steps()
        scored = [hint] if hint and hint.step in steps else []
        for step in steps:
            found = manifest.read(self.folder(step))
            if isinstance(found, dict) and isinstance(found.get("score"), float | int):
                scored.append(Best(step, float(found["score"])))
        return max(scored, key=lambda best: (best.score, -best.step), default=None)

    def _hint(self) -> Best | None:
        try:
            content = read_json(self.path / "BEST")
            return Best(int(content["step"]), float(content["score"]))
        except (FileNotFoundError, StorageError, ValueError, KeyError, TypeError):  # garbage in a hint means no hint
            return None

    def mend_best(self) -> None:
        """Makes `BEST` say what the manifests say: a kill may have come between a save and its mark."""
        best = self.best()
        if best is not None and best != self._hint():
            self._write_best(best)
        elif best is None:
            (self.path / "BEST").unlink(missing_ok=True)

    def mark_best(self, step: int, score: float) -> bool:
        """Protect a saved step from removal if its score is above that of every other; True if it is.

        False for a step that was not saved, as after a failed save: there is nothing to protect.
        """
        if not math.isfinite(score):
            raise UsageError(f"the score of step {step} is {score}; a best checkpoint wants a finite one.")
        if not self.folder(step).is_dir():
            return False
        best = self.best()
        if best is not None and best.step != step and score <= best.score:
            return False
        self._write_best(Best(step, float(score)))
        return True

    def _write_best(self, best: Best) -> None:
        content = json.dumps({"step": best.step, "score": best.score}).encode() + b"\n"
        disk.replace(self.path / "BEST", content, point="best")

    def load(self, step: int | None = None, *, repair: bool = True) -> Checkpoint | None:
        """The newest checkpoint that is whole, or exactly `step`; None if none was ever saved.

        With `repair` damaged ones are renamed `step-N.corrupt-<reason>`. An explicit step never falls back.
        """
        if step is not None:
            found = self._verify(step)
            if isinstance(found, Checkpoint):
                return found
            saved = ", ".join(map(str, self.steps())) or "none"
            raise StorageError(f"The checkpoint of step {step} cannot be used: {found.detail}. Steps there: {saved}.")
        rejected: list[str] = []
        for candidate in reversed(self.steps()):
            found = self._verify(candidate)
            if isinstance(found, Checkpoint):
                return Checkpoint(candidate, found.path, found.manifest, tuple(rejected))
            message = f"checkpoint of step {candidate}: {found.detail}"
            if repair:
                aside = self._set_aside(self.folder(candidate), f"corrupt-{found.reason}")
                message += f"; set aside as {aside.name}"
            log.warning("%s", message)
            rejected.append(message)
        aside = sorted(path.name for path in self.path.glob("step-*.corrupt-*"))
        if rejected or aside:
            why = "; ".join(rejected) or "set aside: " + ", ".join(aside)
            raise StorageError(
                f"No checkpoint in {self.path} can be used ({why}). "
                "Start a new run, or remove those folders to start this one over."
            )
        return None

    def _verify(self, step: int) -> Checkpoint | Fault:
        folder = self.folder(step)
        try:
            found = manifest.read(folder)
            if isinstance(found, Fault):
                return found
            manifest.require_schema(found.get("schema"), what=str(folder))
            if found["identity"] != self.fingerprint:
                manifest.require_same(found["identity_fields"], manifest.plain(self.identity), what=str(folder))
            fault = manifest.file_fault(folder, found)
        except OSError as error:
            if error.errno != errno.EIO:  # a missing permission says nothing about the bytes
                raise StorageError(f"{folder} cannot be read: {error}.") from error
            return Fault("unreadable", f"{folder}: {error}")
        return fault or Checkpoint(step, folder, found)

    def forget_after(self, step: int) -> None:
        """Set later checkpoints aside: after a resume from `step` they belong to a future that will not be."""
        hint = self._hint()
        if hint and hint.step > step:
            (self.path / "BEST").unlink()
        for later in self.steps():
            if later > step:
                aside = self._set_aside(self.folder(later), "orphan", point="rewind")
                log.warning("the checkpoint of step %d is later than the resumed one; kept as %s", later, aside.name)
        self.mend_best()

    def _set_aside(self, folder: Path, why: str, *, point: str = "quarantine") -> Path:
        target = folder.with_name(f"{folder.name}.{why}")
        if os.path.lexists(target):
            target = disk.free_name(folder.parent, target.name)
        disk.rename(folder, target, point=point)
        return target


def _contents(
    named: Mapping[str, Mapping[str, Any]], documents: Mapping[str, Any], files: Mapping[str, Path | bytes]
) -> dict[str, tuple[int, Pieces]]:
    """For each file its size and its pieces, checked before anything is written."""
    names = [*named, *documents, *files]
    odd = [name for name in names if not manifest.safe_name(name)]
    if odd or len(set(names)) < len(names):
        raise UsageError(f"names in a checkpoint are distinct relative paths; {odd or names} are not.")
    contents: dict[str, tuple[int, Pieces]] = {}
    for name, mapping in named.items():
        bad = tensors.first_non_finite(mapping)
        if bad is not None:
            raise StorageError(f"tensor {bad} of {name} holds a value that is not finite; it is not saved.")
        contents[name] = (tensors.nbytes(mapping), lambda mapping=mapping: tensors.encode(mapping))
    for name, value in documents.items():
        try:
            data = json.dumps(value, indent=1, allow_nan=False).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise StorageError(f"{name} is not JSON data: {error}.") from error
        contents[name] = (len(data), lambda data=data: [data])
    for name, blob in files.items():
        data = blob if isinstance(blob, bytes) else blob.read_bytes()
        contents[name] = (len(data), lambda data=data: [data])
    return contents


def _write_tree(folder: Path, contents: Mapping[str, tuple[int, Pieces]], head: Mapping[str, Any]) -> None:
    disk.make_folder(folder, point="checkpoint")
    nested = {parent for name in contents for parent in PurePosixPath(name).parents if str(parent) != "."}
    for parent in sorted(nested):
        disk.make_folder(folder / parent, point="checkpoint")
    entries = {}
    for name, (_, pieces) in contents.items():
        size, sha = disk.write_new(folder / name, pieces(), point="checkpoint")
        entries[name] = {"size": size, "sha256": sha}
    for parent in sorted(nested):
        disk.fsync_folder(folder / parent, point="checkpoint")
    disk.write_new(folder / manifest.NAME, [manifest.seal({**head, "files": entries})], point="checkpoint")
    disk.fsync_folder(folder, point="checkpoint")
