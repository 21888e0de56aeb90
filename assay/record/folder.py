"""The run folder: everything that belongs to a run, in a folder that can be moved and read without Assay.

    run.json  metrics.jsonl  evals.jsonl  rollouts.jsonl  learnt.txt  pictures.jsonl  rollouts/  ckpt/  orphans/  lock

`create` and `open` lock the folder until their `with` block ends; `read_only` takes no lock and writes nothing. Within
a step the records are appended first, then the rollouts are written, then a checkpoint is saved. A checkpoint holds the
lengths of the journals (the .jsonl files), and `rewind` cuts the journals back to these lengths. After any number of
crashes there is therefore exactly one record for each step.
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
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from assay.errors import AssayError, ProcessLost, StorageError, UsageError
from assay.host.beside import Beside
from assay.host.files import read_json
from assay.record import damage, disk, jsonl, manifest, rollouts
from assay.record.checkpoint import KEEP, RESERVE, Best, Checkpoint, Prepared, Store
from assay.record.jsonl import PATIENCE, Journal
from assay.record.lock import Lock

if TYPE_CHECKING:
    from assay.engine.interface import Stored

log = logging.getLogger(__name__)

SCHEMA = 1
BESIDE = 64 << 20
"""Bytes of a checkpoint from which on it may be written beside training: smaller ones are on the disk in a moment."""
JournalName = Literal["metrics", "evals", "rollouts"]
JOURNALS: tuple[JournalName, ...] = ("metrics", "evals", "rollouts")
LEARNT = "learnt.txt"
FAULTS = "faults"
_FOLDERS = ("ckpt", "rollouts", "orphans")


class RunFolder:
    """A run's folder, made by `create`, `open` or `read_only`.

    metrics = RunFolder.read_only("runs/first").read("metrics")
    with RunFolder.open("runs/first") as folder: folder.append("metrics", {"step": 1, "reward/mean": 0.4})
    """

    def __init__(self, path: Path, document: Mapping[str, Any], store: Store, lock: Lock | None) -> None:
        self.path, self.document, self.store = path, document, store
        self.failures: list[str] = []  # sentences about writes that failed while the run went on
        self.noticed: tuple[str, ...] = ()  # sentences about records that were found changed when the run was opened
        self._lock = lock
        self._failed_saves = self._failed_rollouts = 0
        self._writing: Beside[list[str]] = Beside()  # a checkpoint; gives sentences about what failed after its commit
        self._writing_step = 0
        self._journals: dict[str, Journal] = {}

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        identity: Mapping[str, Any],
        document: Mapping[str, Any] | None = None,
        beside: Mapping[str, str] | None = None,
        keep: int = KEEP,
        reserve: int = RESERVE,
    ) -> Self:
        """Creates a run folder. `identity` holds the fields that a resume must find unchanged, `document` the other
        fields of run.json; `beside` are the contents of other files, by name.

        The newest `keep` checkpoints and the best one are kept; a save leaves `reserve` bytes of the disk free.
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
                for name, text in (beside or {}).items():
                    disk.replace(path / name, text.encode(), point="run")
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
        """Opens and locks an existing run for writing. ConfigError if `identity` is given and is not the run's."""
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
        """Opens a run for reading, even while another process writes to it. Takes no lock and changes nothing."""
        document = _read_document(Path(path))
        return cls(Path(path), document, Store(Path(path) / "ckpt", document["identity"]), None)

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment of the run as JSON data, from run.json."""
        experiment = self.document.get("experiment")
        if not isinstance(experiment, dict):
            raise StorageError(f"{self.path / 'run.json'} has no field 'experiment': put the original file back.")
        return experiment

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            if kind is None:
                self.settle()
                with disk.storage_errors(f"writing the last records of {self.path}"):
                    for journal in self._journals.values():
                        journal.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Releases the lock, when no checkpoint is being written any more. Records that wait in memory are lost;
        leaving the `with` block writes them first.
        """
        try:
            self.settle()
        except AssayError as error:
            self._note(str(error))
        finally:
            for journal in self._journals.values():
                journal.close()
            self._journals = {}
            if self._lock is not None:
                self._lock.release()

    def append(self, name: JournalName, record: Mapping[str, Any]) -> bool:
        """Appends one record, which must have a `step`. False if the disk failed; the record then waits in memory."""
        self._require_lock()
        journal = self._journals[name]
        written = journal.append(record)
        if not written:
            self.failures.append(f"{name}: the record of step {record['step']} waits to be written")
        return written

    def keep_learnt(self, contents: Sequence[str]) -> None:
        """Writes the digests of the rows that the run trains on, so that later evaluations can leave these rows out."""
        self._require_lock()
        with disk.storage_errors(f"writing {self.path / LEARNT}"):
            disk.replace(self.path / LEARNT, "".join(f"{content}\n" for content in contents).encode(), point="run")

    def keep_faults(self, step: int, records: Sequence[Mapping[str, Any]]) -> Path | None:
        """Writes the answers of a step on which our own code raised, one record a line. None if the disk failed: no run
        ends for it.

        A step that is repeated after a crash writes its file again.
        """
        self._require_lock()
        path = self.path / FAULTS / f"step-{step:08d}.jsonl"
        try:
            path.parent.mkdir(exist_ok=True)
            disk.replace(path, b"".join(map(jsonl.line, records)), point="rollouts")
        except OSError as error:
            self._note(f"the answers of step {step} that raised were not written: {error}")
            return None
        return path

    def learnt(self) -> frozenset[str] | None:
        """The digests of the rows that the run trained on; None for a run of an older version without them."""
        try:
            return frozenset((self.path / LEARNT).read_text().split())
        except FileNotFoundError:
            return None

    def _mend_best(self) -> None:
        try:
            self.store.mend_best()
        except OSError as error:
            self._note(f"the file BEST, which marks the best checkpoint, was not repaired: {error}")

    def _notice(self) -> None:
        """Writes found damage to run.json, because the next checkpoint will hold the digests of the changed records."""
        self.noticed = tuple(self.damage())
        known = self.document.get("damaged") or []
        if new := [sentence for sentence in self.noticed if sentence not in known]:
            self.amend(damaged=[*known, *new])

    def damage(self) -> list[str]:
        """Sentences about records that were changed after they were written; an empty list for an unchanged run."""
        manifests = (manifest.read(self.store.folder(step)) for step in self.store.steps())
        whole = [entry for entry in manifests if isinstance(entry, dict) and manifest.well_formed(entry)]
        sentences = damage.changed_journals(self.path, whole)
        try:
            listed = damage.listed_rollouts(self.path / "rollouts.jsonl")
            sentences += damage.changed_rollouts(self.path / "rollouts", listed)
        except StorageError as error:
            sentences.append(str(error))
        return sentences

    def amend(self, **changes: Any) -> None:
        """Replaces fields of run.json, atomically and durably. The identity of a run cannot be changed."""
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
        states: Sequence[Stored] = (),
        tensors: Mapping[str, Mapping[str, Any]],
        documents: Mapping[str, Any] | None = None,
        files: Mapping[str, Path | bytes] | None = None,
        score: float | None = None,
        place: str = "cpu",
        beside: bool = False,
    ) -> bool:
        """Saves a checkpoint and removes old ones. False if the disk failed; the run may go on then.

        `score` is the held-out score of this step; the checkpoint with the highest score is never removed. Raises
        StorageError at the third failure in a row, and at once for values that must not be saved, such as NaN weights.

        With `beside` a large checkpoint is copied in memory, if there is room, and written while the caller goes on.
        One is under way at most. Its outcome is told by the next save, or by `settle`, like that of a save that was
        waited for; until it is whole, older checkpoints stay.
        """
        self._require_lock()
        self.settle()
        try:
            offsets = {name: journal.sync() for name, journal in self._journals.items()}
            digests = {name: journal.digest for name, journal in self._journals.items()}
            if self.store.committed(step) is None:
                content = {"states": states, "tensors": tensors, "documents": documents, "files": files}
                about = {"journals": offsets, "digests": digests, "score": score, "place": place}
                prepared = self.store.prepared(step, **content, **about)
                if beside and prepared.nbytes >= BESIDE and prepared.has_room:
                    self._writing_step = step
                    self._writing.begin(partial(self._commit, prepared.kept(), score))
                    return True
                self.store.commit(prepared)
        except OSError as error:
            return self._failed_save(step, error)
        return self._saved(self._retain(step, score))

    def wait(self) -> None:
        """Waits until no checkpoint is being written, and leaves its outcome to the next save or `settle`."""
        self._writing.wait()

    def settle(self) -> None:
        """Waits until no checkpoint is being written. A failure counts as that of a save that was waited for."""
        try:
            if (failures := self._writing.end()) is not None:
                self._saved(failures)
        except OSError as error:
            self._failed_save(self._writing_step, error)
        except ProcessLost as error:  # the code that computes with these processes is told, too
            self._note(f"the checkpoint of step {self._writing_step} was not saved: {error}")

    def _commit(self, prepared: Prepared, score: float | None) -> list[str]:
        self.store.commit(prepared)
        return self._retain(prepared.step, score)

    def _retain(self, step: int, score: float | None) -> list[str]:
        """Marks the best checkpoint and removes old ones, after a newer one is whole; sentences about what failed."""
        failures = []
        if score is not None:
            try:
                self.store.mark_best(step, score)
            except OSError as error:
                failures.append(f"step {step} was not marked as the best: {error}")
        try:
            self.store.retain()
        except OSError as error:
            failures.append(f"old checkpoints were not removed: {error}")
        return failures

    def _saved(self, failures: Sequence[str]) -> bool:
        self._failed_saves = 0
        for failure in failures:
            self._note(failure)
        return True

    def _failed_save(self, step: int, error: OSError) -> bool:
        self._failed_saves += 1
        self._note(f"the checkpoint of step {step} was not saved: {error}")
        if self._failed_saves >= PATIENCE:
            raise StorageError(
                f"{self._failed_saves} saves in a row failed, the last with: {error}. "
                "Free some space or repair the disk, then `assay resume`."
            ) from error
        return False

    def mark_best(self, step: int, score: float) -> bool:
        """Marks a saved step as the best, which is never removed, if its score is the highest so far; True if it is."""
        self._require_lock()
        try:
            return self.store.mark_best(step, score)
        except OSError as error:
            self._note(f"step {step} was not marked as the best: {error}")
            return False

    def best(self) -> Best | None:
        return self.store.best()

    def load(self, step: int | None = None) -> Checkpoint | None:
        """The newest undamaged checkpoint, or the one of `step`; None if the run never saved a checkpoint. One that is
        being written is waited for.
        """
        self.settle()
        with disk.storage_errors(f"loading a checkpoint of {self.path}"):
            return self.store.load(step, repair=self._lock is not None)

    def rewind(self, checkpoint: Checkpoint | None) -> None:
        """Brings the folder back to its state when `checkpoint` was saved (None: to the start of the run).

        Later records, rollouts and checkpoints are moved aside, records and rollouts to `orphans/`.
        """
        self._require_lock()
        step, offsets = (checkpoint.step, checkpoint.journals) if checkpoint else (-1, {})
        with disk.storage_errors(f"rewinding {self.path} to step {step}"):
            # Checkpoints come first. If the journals were cut first, a crash in between would leave a newer checkpoint
            # that expects longer journals.
            self.store.forget_after(step)
            for name, journal in self._journals.items():
                offset = offsets.get(name, 0)
                # A person may have deleted rollouts and their journal: `damage` reports that, and training goes on.
                journal.cut(min(offset, journal.offset) if name == "rollouts" else offset)
            for later in self.rollout_steps():
                if later > step:
                    source = rollouts.file_of(self.path / "rollouts", later)
                    target = disk.free_name(self.path / "orphans", source.stem, source.suffix)
                    disk.rename(source, target, point="rewind")

    def write_rollouts(
        self, step: int, columns: Mapping[str, Sequence[Any]], *, left_out: Mapping[str, int] | None = None
    ) -> bool:
        """Writes the rollouts of a step. False if the disk failed; StorageError at the third failure in a row.

        `left_out`: role -> how many of its rows are not among them, which the record of the file says.
        """
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
        return self.append("rollouts", {"step": step, **entry, "left_out": dict(left_out or {})})

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
    """A folder for a run that was given none: `Numbered(Path("runs"), "demo").take()` makes `runs/demo-1`.

    If `runs/demo-1` exists the next free number is taken.
    """

    root: Path
    name: str

    def __str__(self) -> str:
        return f"{self.root / self.name}-N"

    def take(self) -> Path:
        """Makes the folder and returns it. Runs that begin at the same time get different folders."""
        with disk.storage_errors(f"making a folder in {self.root}"):
            self.root.mkdir(parents=True, exist_ok=True)
            for number in itertools.count(1):
                path = self.root / f"{self.name}-{number}"
                try:
                    path.mkdir()
                except FileExistsError:
                    continue
                return path
        raise AssertionError("itertools.count never ends")


def _encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def require_vacant(path: Path) -> None:
    """Refuses a folder for a new run unless it is absent, empty, or left by a creation that was interrupted."""
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
    if path.is_file():
        raise UsageError(f"{path} is a file, and a run is a folder, such as runs/grpo-countdown-1.")
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
