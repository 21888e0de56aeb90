"""Checkpoints that are whole or absent.

A save writes `ckpt/.tmp-*`, forces every file to the disk, and renames the folder to `ckpt/step-N`: the rename is the
commit. Older checkpoints are removed only after the new one was read back. A load takes the newest checkpoint whose
files all have the hashes that were written; a damaged checkpoint is renamed, never deleted.
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from assay.errors import StorageError, UsageError
from assay.host import tensors
from assay.host.files import parse_json, read_json
from assay.record import disk, manifest
from assay.record.manifest import Fault

if TYPE_CHECKING:
    from assay.engine.interface import Stored

log = logging.getLogger(__name__)

KEEP = 2
RESERVE = 64 << 20


Pieces = Callable[[], Iterable[Any]]
T = TypeVar("T")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint whose hashes were verified.

    checkpoint = RunFolder.read_only("runs/first").load()
    weights = checkpoint.tensors("policy/model.safetensors", framework="torch")
    """

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
        """`make` applied to the data of a JSON document; StorageError if `make` cannot use the data."""
        try:
            return make(self.document(name))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StorageError(
                f"{self.path / name} does not have the fields that Assay writes ({type(error).__name__}: "
                f"{error!s:.200})."
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
        """The held-out score of this step, or None if the step was not evaluated."""
        return self.manifest.get("score")

    @property
    def journals(self) -> Mapping[str, int]:
        """Journal -> its length in bytes at the time of the save."""
        return self.manifest["journals"]

    def environment_changes(self, place: str) -> list[str]:
        """How this machine differs from the one that saved the checkpoint; any difference may change the last bits."""
        saved, now = self.manifest["environment"], manifest.environment(place)
        return manifest.differences(saved, {name: value for name, value in now.items() if name in saved})


def room_for(size: int, reserve: int) -> int:
    """The bytes of the disk that must be free for a save of `size` bytes: a quarter more, and the reserve."""
    return int(1.25 * size) + reserve


@dataclass(frozen=True)
class Prepared:
    """A checkpoint before it is written: `store.commit(store.prepared(10, tensors=tensors))`."""

    step: int
    states: Sequence[Stored]
    contents: Mapping[str, tuple[int, Pieces]]
    head: Mapping[str, Any]

    @property
    def nbytes(self) -> int:
        return sum(size for size, _ in self.contents.values()) + sum(state.nbytes for state in self.states)

    @property
    def has_room(self) -> bool:
        """Whether memory has room for a copy of it."""
        return all(state.has_room(self.nbytes) for state in self.states)

    def kept(self) -> Prepared:
        """The same as a copy in memory, which no later step changes."""
        contents = {name: _copied(content) for name, content in self.contents.items()}
        return replace(self, states=tuple(state.kept() for state in self.states), contents=contents)


def _copied(content: tuple[int, Pieces]) -> tuple[int, Pieces]:
    size, pieces = content
    held = [bytes(piece) for piece in pieces()]
    return size, lambda: held


@dataclass(frozen=True)
class Best:
    """The checkpoint with the highest held-out score: `Best(step=75, score=0.41)`."""

    step: int
    score: float


@dataclass(frozen=True)
class Store:
    """The checkpoints of one run, in `path`. The caller of a method that writes must hold the run's lock.

    store = Store(Path("runs/first/ckpt"), identity)
    store.save(10, tensors={"policy/model.safetensors": weights}); newest = store.load()
    """

    path: Path
    identity: Mapping[str, Any]  # JSON data; a checkpoint of another identity is refused
    keep: int = KEEP  # the newest checkpoints that are kept beside the best one
    reserve: int = RESERVE  # bytes of the disk that a save leaves free
    reread: int = 256 << 20  # a checkpoint of at most so many bytes is read back and hashed after the commit
    fingerprint: str = field(init=False)

    def __post_init__(self) -> None:
        if self.keep < 2:
            raise UsageError(f"keep={self.keep}: keep at least 2 checkpoints, because the newest may be damaged.")
        object.__setattr__(self, "fingerprint", manifest.fingerprint(manifest.plain(self.identity)))

    def folder(self, step: int) -> Path:
        return self.path / f"step-{step:08d}"

    def steps(self) -> list[int]:
        """The steps of all committed checkpoints, ascending. Their files are not read."""
        folders = self.path.iterdir() if self.path.is_dir() else ()  # a copied run may lack its empty folders
        names = (re.fullmatch(r"step-(\d{8,})", path.name) for path in folders)
        return sorted(int(match[1]) for match in names if match)

    def save(
        self,
        step: int,
        *,
        states: Sequence[Stored] = (),
        tensors: Mapping[str, Mapping[str, Any]],
        documents: Mapping[str, Any] | None = None,
        files: Mapping[str, Path | bytes] | None = None,
        journals: Mapping[str, int] | None = None,
        digests: Mapping[str, str] | None = None,
        score: float | None = None,
        place: str = "cpu",
    ) -> Path:
        """Commit a checkpoint and return its folder. Names are paths in it, such as `policy/model.safetensors`;
        `states` write files of their own.

        A step with a checkpoint keeps it. Raises OSError if the disk fails: nothing is left behind then, and older ones
        stay. Raises StorageError for values that must not be saved, such as weights that are NaN.
        """
        content = {"states": states, "tensors": tensors, "documents": documents, "files": files}
        about = {"journals": journals, "digests": digests, "score": score, "place": place}
        return self.committed(step) or self.commit(self.prepared(step, **content, **about))

    def committed(self, step: int) -> Path | None:
        """The folder of a step's checkpoint, forced to the disk; None for a step without one."""
        final = self.folder(step)
        if not final.exists():
            return None
        disk.fsync_folder(self.path, point="checkpoint", call="fsync_store")
        return final

    def prepared(
        self,
        step: int,
        *,
        states: Sequence[Stored] = (),
        tensors: Mapping[str, Mapping[str, Any]],
        documents: Mapping[str, Any] | None = None,
        files: Mapping[str, Path | bytes] | None = None,
        journals: Mapping[str, int] | None = None,
        digests: Mapping[str, str] | None = None,
        score: float | None = None,
        place: str = "cpu",
    ) -> Prepared:
        """A checkpoint for `commit` to write. It is examined, and nothing is written yet. The arguments are those of
        `save`.
        """
        if score is not None and not math.isfinite(score):
            raise UsageError(f"the score of step {step} is {score}: pass a finite number, or None for no score.")
        contents = _contents(tensors, documents or {}, files or {})
        for state in states:
            if (bad := state.broken()) is not None:
                raise StorageError(f"tensor {bad} holds a value that is not finite; it is not saved.")
        self._require_space(sum(size for size, _ in contents.values()) + sum(state.nbytes for state in states))
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
        return Prepared(step, tuple(states), contents, head)

    def commit(self, prepared: Prepared) -> Path:
        """Writes a checkpoint that was prepared; the errors are those of `save`."""
        final = self.folder(prepared.step)
        temporary = self.path / f".tmp-{prepared.step}-{uuid.uuid4().hex}"
        try:
            _write_tree(temporary, prepared.states, prepared.contents, prepared.head)
            disk.rename(temporary, final, point="checkpoint")
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        disk.fsync_folder(self.path, point="checkpoint", call="fsync_store")
        self._reread(final)
        return final

    def _require_space(self, size: int) -> None:
        needed, free = room_for(size, self.reserve), shutil.disk_usage(self.path).free
        if free < needed:
            told = f"a save of {size:,} bytes needs {needed:,} free ones, of which {self.reserve:,} stay free"
            raise OSError(errno.ENOSPC, f"{told} for the records of the run; there are {free:,}", str(self.path))

    def _reread(self, folder: Path) -> None:
        found = manifest.read(folder)
        if isinstance(found, dict):
            size = sum(entry["size"] for entry in found["files"].values())
            found = manifest.file_fault(folder, found, hashes=size <= self.reread)
        if isinstance(found, Fault):
            self._set_aside(folder, f"corrupt-{found.reason}")
            raise OSError(errno.EIO, f"the checkpoint that was written reads back differently: {found.detail}")

    def retain(self) -> None:
        """Remove all checkpoints but the newest `keep` and the best one."""
        best, steps = self.best(), self.steps()
        kept = {*steps[-self.keep :], *([best.step] if best else [])}
        for step in steps:
            if step not in kept:
                disk.rename(self.folder(step), self.path / f".trash-{uuid.uuid4().hex}", point="retention")
        for trash in sorted(self.path.glob(".trash-*")):
            disk.remove(trash, point="retention")

    def best(self) -> Best | None:
        """The saved step with the highest score, the earliest of equals.

        The scores are read from the manifests and from the file `BEST`, so that a crash between a save and the writing
        of `BEST` loses nothing.
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
        except (FileNotFoundError, StorageError, ValueError, KeyError, TypeError):  # an unreadable BEST is ignored
            return None

    def mend_best(self) -> None:
        """Writes `BEST` anew from the manifests, because a crash may have come between a save and writing `BEST`."""
        best = self.best()
        if best is not None and best != self._hint():
            self._write_best(best)
        elif best is None:
            (self.path / "BEST").unlink(missing_ok=True)

    def mark_best(self, step: int, score: float) -> bool:
        """Marks a saved step as the best, which is never removed, if its score is above all others; True if it is.

        False for a step without a checkpoint, for example because its save failed.
        """
        if not math.isfinite(score):
            raise UsageError(f"the score of step {step} is {score}; the score of a best checkpoint must be finite.")
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
        """The newest undamaged checkpoint, or the one of `step`; None if no checkpoint was ever saved.

        With `repair` damaged checkpoints are renamed to `step-N.corrupt-<reason>`. If `step` is given and damaged, that
        is an error; no other checkpoint is loaded in its place.
        """
        if step is not None:
            checked = self._verify(step)
            if isinstance(checked, Checkpoint):
                return checked
            saved = ", ".join(map(str, self.steps())) or "none"
            raise StorageError(f"The checkpoint of step {step} cannot be used: {checked.detail}. Saved steps: {saved}.")
        rejected: list[str] = []
        for candidate in reversed(self.steps()):
            checked = self._verify(candidate)
            if isinstance(checked, Checkpoint):
                return Checkpoint(candidate, checked.path, checked.manifest, tuple(rejected))
            message = f"checkpoint of step {candidate}: {checked.detail}"
            if repair:
                aside = self._set_aside(self.folder(candidate), f"corrupt-{checked.reason}")
                message += f"; set aside as {aside.name}"
            log.warning("%s", message)
            rejected.append(message)
        aside = sorted(path.name for path in self.path.glob("step-*.corrupt-*"))
        if rejected or aside:
            why = "; ".join(rejected) or "set aside: " + ", ".join(aside)
            raise StorageError(
                f"No checkpoint in {self.path} can be used ({why}). "
                "Start a new run, or remove these folders to start this run from the beginning."
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
            if error.errno != errno.EIO:  # for example a missing permission, which does not mean damage
                raise StorageError(f"{folder} cannot be read: {error}.") from error
            return Fault("unreadable", f"{folder}: {error}")
        return fault or Checkpoint(step, folder, found)

    def forget_after(self, step: int) -> None:
        """Sets aside the checkpoints after `step`, because a run resumed from `step` will do these steps again."""
        hint = self._hint()
        if hint and hint.step > step:
            (self.path / "BEST").unlink()
        for later in self.steps():
            if later > step:
                aside = self._set_aside(self.folder(later), "orphan", point="rewind")
                log.warning("the checkpoint of step %d, after the resumed step, was renamed to %s", later, aside.name)
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
    """File name -> (size, function that gives its bytes in pieces). All content is checked before any is written."""
    names = [*named, *documents, *files]
    unsafe = [name for name in names if not manifest.safe_name(name)]
    if unsafe or len(set(names)) < len(names):
        raise UsageError(f"names in a checkpoint must be distinct relative paths; {unsafe or names} are not.")
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


def _write_tree(
    folder: Path, states: Sequence[Stored], contents: Mapping[str, tuple[int, Pieces]], head: Mapping[str, Any]
) -> None:
    disk.make_folder(folder, point="checkpoint")
    above = {PurePosixPath(name).parent for name in contents}
    above |= {PurePosixPath(name) for state in states for name in state.folders}
    nested = {path for directory in above for path in (directory, *directory.parents) if str(path) != "."}
    for parent in sorted(nested):
        disk.make_folder(folder / parent, point="checkpoint")
    entries = {}
    write = partial(disk.write_new, point="checkpoint")
    for state in states:
        for name, (size, sha) in state.write(folder, write).items():
            entries[name] = {"size": size, "sha256": sha}
    for name, (_, pieces) in contents.items():
        size, sha = write(folder / name, pieces())
        entries[name] = {"size": size, "sha256": sha}
    for parent in sorted(nested):
        disk.fsync_folder(folder / parent, point="checkpoint")
    disk.write_new(folder / manifest.NAME, [manifest.seal({**head, "files": entries})], point="checkpoint")
    disk.fsync_folder(folder, point="checkpoint")
