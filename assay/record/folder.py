"""The run folder: everything that a run is, in one place that can be moved and read without this program.

    run.json  metrics.jsonl  evals.jsonl  rollouts.jsonl  learnt.txt  rollouts/  ckpt/  orphans/  lock

`create` and `open` hold the lock for as long as the folder is entered; `read_only` takes none and writes nothing.
Order within a step: append its records, write its rollouts, then `save`: a checkpoint remembers how long the journals
were, and `rewind` cuts them back to it, so that after any number of crashes there is one record a step.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from assay.errors import StorageError, UsageError
from assay.host.files import read_json
from assay.record import damage, disk, jsonl, manifest, rollouts
from assay.record.checkpoint import KEEP, RESERVE, Best, Checkpoint, Store
from assay.record.jsonl import PATIENCE, Journal
from assay.record.lock import Lock

log = logging.getLogger(__name__)

SCHEMA = 1
JournalName = Literal["metrics", "evals", "rollouts"]
JOURNALS: tuple[JournalName, ...] = ("metrics", "evals", "rollouts")
LEARNT = "learnt.txt"
_FOLDERS = ("ckpt", "rollouts", "orphans")


class RunFolder:
    """Made by `create`, `open` or `read_only`; the first two are context managers."""

    def __init__(self, path: Path, document: Mapping[str, Any], store: Store, lock: Lock | None) -> None:
        self.path, self.document, self.store = path, document, store
        self.failures: list[str] = []  # what the disk refused while the run went on
        self.noticed: tuple[str, ...] = ()  # of an opened run: what its records are no longer
        self._lock = lock
        self._failed_saves = self._failed_rollouts = 0
        self._journals: dict[str, Journal] = {}

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        identity: Mapping[str, Any],
        document: Mapping[str, Any] | None = None,
        keep: int = KEEP,
        reserve: int = RESERVE,
    ) -> Self:
        """A new run. `identity`: the fields that a resume must find unchanged; `document`: all else in run.json.

        `keep` newest checkpoints stay beside the best; a save leaves `reserve` bytes of the disk free.
        """
        path = Path(path)
        require_vacant(path)
        with disk.storage_errors(f"creating the run {path}"):
            path.mkdir(parents=True, exist_ok=True)
            lock = Lock(path / "lock")
            lock.acquire()
            try:
                require_vacant(path)
                for name in _FOLDERS:
                    (path / name).mkdir(exist_ok=True)
                for name in JOURNALS:
                    (path / f"{name}.jsonl").touch()
                head = {
                    "schema": SCHEMA,
                    "run": uuid.uuid4().hex,
                    "created": _now(),
                    "versions": dict(manifest.versions()),
                }
                content = manifest.plain({**head, **(document or {}), "identity": identity})
                disk.replace(path / "run.json", _encode(content), point="run")
                disk.fsync_folder(path.parent, point="run")
            finally:
                lock.release()
        return cls.open(path, keep=keep, reserve=reserve)

    @classmethod
    def open(
        cls,
        path: Path | str,
        *,
        identity: Mapping[str, Any] | None = None,
        keep: int = KEEP,
        reserve: int = RESERVE,
    ) -> Self:
        """An existing run, for writing; locked from here on. ConfigError if `identity` is given and is another."""
        path = Path(path)
        document = _read_document(path)
        if identity is not None:
            manifest.require_same(document["identity"], manifest.plain(identity), what=str(path))
        store = Store(path / "ckpt", document["identity"], keep=keep, reserve=reserve)
        with disk.storage_errors(f"opening the run {path}"):
            lock = Lock(path / "lock")
            lock.acquire()
            run = cls(path, document, store, lock)
            try:
                for name in _FOLDERS:  # a copy made by a tool that drops empty folders lacks them
                    (path / name).mkdir(exist_ok=True)
                for folder in (path, *(path / name for name in _FOLDERS)):
                    disk.sweep(folder)
                for name in JOURNALS:
                    run._journals[name] = Journal(path / f"{name}.jsonl", orphans=path / "orphans")
                run._notice()
                run._mend_best()
            except BaseException:
                run.close()
                raise
        return run

    @classmethod
    def read_only(cls, path: Path | str) -> Self:
        """An existing run, perhaps one that is being written; takes no lock and changes nothing."""
        document = _read_document(Path(path))
        return cls(Path(path), document, Store(Path(path) / "ckpt", document["identity"]), None)

    @property
    def experiment(self) -> dict[str, Any]:
        """What run.json says that the run is, as data."""
        found = self.document.get("experiment")
        if not isinstance(found, dict):
            raise StorageError(f"{self.path / 'run.json'} says of no experiment what it is; put the file back.")
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if kind is None:
                with disk.storage_errors(f"writing the last records of {self.path}"):
                    for journal in self._journals.values():
                        journal.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Give the lock back. What waits in memory is written only by leaving the `with` block without an error."""
        for journal in self._journals.values():
            journal.close()
        self._journals = {}
        if self._lock is not None:
            self._lock.release()

    def append(self, name: JournalName, record: Mapping[str, Any]) -> bool:
        """Add one record; `step` is required and stands first. False if it waits for a better disk."""
        self._require_lock()
        journal = self._journals[name]
        written = journal.append(record)
        if not written:
            self.failures.append(f"{name}: a record of step {record['step']} waits")
        return written

    def keep_learnt(self, contents: Sequence[str]) -> None:
        """Digests of the rows that the run knows, a line each, so that no later exam takes them for unseen ones."""
        self._require_lock()
        with disk.storage_errors(f"writing {self.path / LEARNT}"):
            disk.replace(self.path / LEARNT, "".join(f"{content}\n" for content in contents).encode(), point="run")

    def learnt(self) -> frozenset[str] | None:
        """None where the run did not keep them."""
        try:
            return frozenset((self.path / LEARNT).read_text().split())
        except FileNotFoundError:
            return None

    def _mend_best(self) -> None:
        try:
            self.store.mend_best()
        except OSError as error:
            self._note(f"the mark of the best checkpoint was not mended: {error}")

    def _notice(self) -> None:
        """Keeps in run.json what is damaged: the next checkpoint remembers the records as they are then."""
        self.noticed = tuple(self.damage())
        known = self.document.get("damaged") or []
        if new := [sentence for sentence in self.noticed if sentence not in known]:
            self.amend(damaged=[*known, *new])

    def damage(self) -> list[str]:
        """What has become of the records since they were written; nothing of a run that is as it was left."""
        found = (manifest.read(self.store.folder(step)) for step in self.store.steps())
        whole = [entry for entry in found if isinstance(entry, dict) and manifest.well_formed(entry)]
        told = damage.changed_journals(self.path, whole)
        try:
            listed = damage.listed_rollouts(self.path / "rollouts.jsonl")
            told += damage.changed_rollouts(self.path / "rollouts", listed)
        except StorageError as error:
            told.append(str(error))
        return told

    def amend(self, **changes: Any) -> None:
        """Replace fields of run.json, at once and durably; what a resume must find unchanged stays as it is."""
        self._require_lock()
        fixed = {"schema", "run", "identity"} & set(changes)
        if fixed:
            raise UsageError(f"{', '.join(sorted(fixed))} of a run cannot be changed.")
        content = manifest.plain({**self.document, **changes})
        with disk.storage_errors(f"writing {self.path / 'run.json'}"):
            disk.replace(self.path / "run.json", _encode(content), point="run")
        self.document = content

    def read(self, name: JournalName, *, skip_damaged: bool = False) -> list[dict[str, Any]]:
        """All records of a journal; of `metrics`, one for each step without a gap."""
        with disk.storage_errors(f"reading {name} of {self.path}"):
            path = self.path / f"{name}.jsonl"
            return jsonl.read(path, contiguous=name == "metrics", skip_damaged=skip_damaged)

    def save(
        self,
        step: int,
        *,
        tensors: Mapping[str, Mapping[str, Any]],
        documents: Mapping[str, Any] | None = None,
        files: Mapping[str, Path | bytes] | None = None,
        score: float | None = None,
        place: str = "cpu",
    ) -> bool:
        """Commit a checkpoint, then drop old ones. False if the disk failed and the run may go on.

        `score`: of a held-out evaluation of this step; the checkpoint with the highest is never dropped.
        StorageError at the third failure in a row, and at once for values that must never be committed.
        """
        self._require_lock()
        try:
            offsets = {name: journal.sync() for name, journal in self._journals.items()}
            digests = {name: journal.digest for name, journal in self._journals.items()}
            content = {"tensors": tensors, "documents": documents, "files": files}
            self.store.save(step, **content, journals=offsets, digests=digests, score=score, place=place)
        except OSError as error:
            self._failed_saves += 1
            self._note(f"the checkpoint of step {step} was not saved: {error}")
            if self._failed_saves >= PATIENCE:
                raise StorageError(
                    f"{self._failed_saves} saves in a row failed, the last with: {error}. "
                    "Free some space or repair the disk, then `assay resume`."
                ) from error
            return False
        self._failed_saves = 0
        if score is not None:
            self.mark_best(step, score)
        try:
            self.store.retain()
        except OSError as error:
            self._note(f"old checkpoints were not removed: {error}")
        return True

    def mark_best(self, step: int, score: float) -> bool:
        """Keep a saved step for good if its held-out score is the highest so far; True if it is."""
        self._require_lock()
        try:
            return self.store.mark_best(step, score)
        except OSError as error:
            self._note(f"step {step} was not marked as the best: {error}")
            return False

    def best(self) -> Best | None:
        return self.store.best()

    def load(self, step: int | None = None) -> Checkpoint | None:
        """The newest whole checkpoint, or exactly `step`; None if the run never saved one."""
        with disk.storage_errors(f"loading a checkpoint of {self.path}"):
            return self.store.load(step, repair=self._lock is not None)

    def rewind(self, checkpoint: Checkpoint | None) -> None:
        """Make the folder what it was when `checkpoint` was saved (None: at the start); the rest goes to orphans."""
        self._require_lock()
        step, offsets = (checkpoint.step, checkpoint.journals) if checkpoint else (-1, {})
        with disk.storage_errors(f"rewinding {self.path} to step {step}"):
            # Checkpoints first: were the journals cut first, a crash between the two would leave a newer checkpoint
            # that remembers longer journals.
            self.store.forget_after(step)
            for name, journal in self._journals.items():
                offset = offsets.get(name, 0)
                # The list of rollouts may be gone with them: it is told, and nothing is computed from it.
                journal.cut(min(offset, journal.offset) if name == "rollouts" else offset)
            for later in self.rollout_steps():
                if later > step:
                    source = rollouts.file_of(self.path / "rollouts", later)
                    target = disk.free_name(self.path / "orphans", source.stem, source.suffix)
                    disk.rename(source, target, point="rewind")

    def write_rollouts(self, step: int, columns: Mapping[str, Sequence[Any]]) -> bool:
        """Write the rollouts of a step. False if the disk failed; StorageError at the third failure in a row."""
        self._require_lock()
        try:
            path = rollouts.write_rollouts(self.path / "rollouts", step, columns)
            entry = {"file": path.name, "size": path.stat().st_size, "sha256": disk.digest_file(path)}
        except OSError as error:
            self._failed_rollouts += 1
            self._note(f"the rollouts of step {step} were not written: {error}")
            if self._failed_rollouts >= PATIENCE:
                raise StorageError(f"{self._failed_rollouts} steps in a row lost their rollouts: {error}.") from error
            return False
        self._failed_rollouts = 0
        return self.append("rollouts", {"step": step, **entry})

    def rollout_steps(self) -> list[int]:
        names = (re.fullmatch(r"step-(\d{8,})\.parquet", path.name) for path in (self.path / "rollouts").glob("*"))
        return sorted(int(match[1]) for match in names if match)

    def rollouts(self, step: int, columns: Sequence[str] | None = None) -> dict[str, list[Any]]:
        return rollouts.read_rollouts(rollouts.file_of(self.path / "rollouts", step), columns)

    def _note(self, message: str) -> None:
        self.failures.append(message)
        log.warning("%s", message)

    def _require_lock(self) -> None:
        if self._lock is None or not self._lock.held:
            raise UsageError(f"{self.path} is not open for writing; use RunFolder.open(path).")


@dataclass(frozen=True)
class Numbered:
    """A folder for a run without a name of its own: `root/name-1`, or the first number that is not taken."""

    root: Path
    name: str

    def take(self) -> Path:
        """Makes it, so that of runs that begin at once each has another."""
        with disk.storage_errors(f"making a folder in {self.root}"):
            self.root.mkdir(parents=True, exist_ok=True)
            for number in itertools.count(1):
                path = self.root / f"{self.name}-{number}"
                try:
                    path.mkdir()
                except FileExistsError:
                    continue
                return path
        raise AssertionError("numbers end nowhere")


def _encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def require_vacant(path: Path) -> None:
    """A run is created in a folder that is absent, empty, or left by a creation that was interrupted."""
    if (path / "run.json").exists():
        raise UsageError(f"{path} holds a run already. Continue it with `assay resume {path}`, or name a new folder.")
    ours = {"lock", *_FOLDERS, *(f"{name}.jsonl" for name in JOURNALS)}
    found = [child.name for child in path.iterdir()] if path.is_dir() else []
    strange = sorted(name for name in found if name not in ours and not name.startswith(".tmp-"))
    if strange or (path.exists() and not path.is_dir()):
        raise UsageError(
            f"{path} is not empty and holds no run ({', '.join(strange[:3]) or 'a file'}). Name a new folder."
        )


def _read_document(path: Path) -> dict[str, Any]:
    try:
        document = read_json(path / "run.json", most=manifest.LARGEST)
    except FileNotFoundError:
        raise UsageError(f"{path} holds no run: run.json is missing. `assay train` starts one.") from None
    if not isinstance(document, dict):
        raise StorageError(f"{path / 'run.json'} is not a JSON object.")
    manifest.require_schema(document.get("schema"), what=str(path / "run.json"), known=SCHEMA)
    if not isinstance(document.get("identity"), dict):
        raise StorageError(f"{path / 'run.json'} has no identity.")
    return document
