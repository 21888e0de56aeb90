"""Loss of power: what was not forced to the disk may be gone, in any part, and the run still comes back whole.

The system calls of a toy run are logged. For each prefix of the log the disk is rebuilt as a machine could find it
after the power came back: with everything, with nothing that was not synced, and with each single unsynced call
missing. A write is synced by an fsync of its file, a change of a name by an fsync of its folder. Removals are left
out: they come after the commit that allows them was forced.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import StorageError, UsageError
from assay.record import RunFolder

WEIGHTS = "policy/model.safetensors"
IDENTITY = {"seed": 1}
STEPS = 4


@dataclass(frozen=True)
class Call:
    """`kind` with a node (an inode of the model) or a folder and a name; `saved`: the last step whose save returned."""

    kind: str  # create, write, cut, move, fsync
    node: int
    folder: int = 0
    name: str = ""
    data: Any = None
    saved: int = 0


@dataclass
class Log:
    """Wraps the calls of `os` below `root` and numbers the inodes."""

    root: Path
    calls: list[Call] = field(default_factory=list)
    nodes: dict[int, int] = field(default_factory=dict)
    saved: int = 0
    known: int = 0

    def node(self, status: os.stat_result, *, new: bool = False) -> int:
        """The system gives the number of a removed inode to a new one; here they differ."""
        if new or status.st_ino not in self.nodes:
            self.nodes[status.st_ino] = self.known
            self.known += 1
        return self.nodes[status.st_ino]

    def inside(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and Path(path).is_relative_to(self.root)

    def add(self, kind: str, node: int, path: Path | None = None, data: object = None) -> None:
        folder = self.node(path.parent.stat()) if path else 0
        self.calls.append(Call(kind, node, folder, path.name if path else "", data, self.saved))


def record(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    real = {name: getattr(os, name) for name in ("open", "mkdir", "write", "fsync", "ftruncate", "rename")}

    def open_(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        new = log.inside(path) and not os.path.lexists(path)
        fd = real["open"](path, flags, mode, **more)
        if new:
            log.add("create", log.node(os.fstat(fd), new=True), Path(path), "file")
        return fd

    def mkdir(path: Any, *rest: Any, **more: Any) -> None:
        real["mkdir"](path, *rest, **more)
        if log.inside(path):
            log.add("create", log.node(Path(path).stat(), new=True), Path(path), "folder")

    def write(fd: int, data: Any) -> int:
        log.add("write", log.node(os.fstat(fd)), data=bytes(data))
        return real["write"](fd, data)

    def ftruncate(fd: int, length: int) -> None:
        log.add("cut", log.node(os.fstat(fd)), data=length)
        real["ftruncate"](fd, length)

    def fsync(fd: int) -> None:
        real["fsync"](fd)
        log.add("fsync", log.node(os.fstat(fd)))

    def rename(source: Any, target: Any, **more: Any) -> None:
        node, old = log.node(Path(source).stat()), Path(source)
        folder = log.node(old.parent.stat())
        real["rename"](source, target, **more)
        log.add("move", node, Path(target), (folder, old.name))

    fakes = {"open": open_, "mkdir": mkdir, "write": write, "fsync": fsync, "ftruncate": ftruncate, "rename": rename}
    for name, fake in fakes.items():
        monkeypatch.setattr(os, name, fake)


def synced(calls: list[Call]) -> list[bool]:
    """Whether an fsync of the file (of the folder, for names) follows each call; for a move, of the target folder."""
    forced: set[int] = set()
    result = []
    for call in reversed(calls):
        if call.kind == "fsync":
            forced.add(call.node)
        result.append(call.kind == "fsync" or (call.node if call.kind in ("write", "cut") else call.folder) in forced)
    return result[::-1]


def rebuild(calls: Iterable[Call], root_node: int, target: Path) -> None:
    """The tree that these calls make, on a real folder."""
    files: dict[int, bytearray] = {}
    folders: dict[int, dict[str, int]] = {root_node: {}}
    for call in calls:
        names = folders.setdefault(call.folder, {})
        if call.kind == "create":
            files.setdefault(call.node, bytearray()) if call.data == "file" else folders.setdefault(call.node, {})
            names[call.name] = call.node
        elif call.kind == "write":
            files.setdefault(call.node, bytearray()).extend(call.data)
        elif call.kind == "cut":
            content = files.setdefault(call.node, bytearray())
            del content[call.data :]
        elif call.kind == "move":
            old_folder, old_name = call.data
            folders.setdefault(old_folder, {}).pop(old_name, None)
            names[call.name] = call.node

    def put(node: int, path: Path) -> None:
        if node in folders:
            path.mkdir(exist_ok=True)
            for name, child in folders[node].items():
                put(child, path / name)
        else:
            path.write_bytes(files.get(node, b""))

    put(root_node, target)


def train(path: Path, log: Log) -> None:
    with RunFolder.create(path, identity=IDENTITY) as run:
        for step in range(1, STEPS + 1):
            run.append("metrics", {"step": step})
            run.save(step, tensors={WEIGHTS: {"w": np.full(3, float(step))}}, documents={"memory.json": {"at": step}})
            log.saved = step


def states(calls: list[Call]) -> Iterator[list[Call]]:
    """What the disk may hold after these calls."""
    yield calls
    kept = synced(calls)
    yield [call for call, safe in zip(calls, kept) if safe]
    for lost, safe in enumerate(kept):
        if not safe:
            yield calls[:lost] + calls[lost + 1 :]


def assert_whole(path: Path, saved: int) -> None:
    """The newest checkpoint is that of the last save that returned, or of the next one; one record a step."""
    try:
        run = RunFolder.open(path, identity=IDENTITY)
    except (UsageError, StorageError):
        assert saved == 0  # the creation itself was cut short: nothing is lost
        return
    with run:
        checkpoint = run.load()
        step = checkpoint.step if checkpoint else 0
        assert saved <= step <= saved + 1
        if checkpoint:
            assert checkpoint.tensors(WEIGHTS)["w"].tolist() == [step] * 3
            assert checkpoint.document("memory.json") == {"at": step}
        run.rewind(checkpoint)
        assert [record["step"] for record in run.read("metrics")] == list(range(1, step + 1))


@pytest.mark.slow
def test_power_loss_at_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "run"
    root.mkdir()
    log = Log(root)
    root_node = log.node(root.stat())
    with monkeypatch.context() as patch:
        record(patch, log)
        train(root, log)
    assert log.saved == STEPS
    assert {call.kind for call in log.calls} == {"create", "write", "cut", "move", "fsync"}
    tried: set[tuple[int, ...]] = set()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    for end in range(len(log.calls) + 1):
        calls = log.calls[:end]
        for state in states(calls):
            saved = calls[-1].saved if calls else 0
            key = (saved, *(id(call) for call in state if call.kind != "fsync"))
            if key in tried:
                continue
            tried.add(key)
            with tempfile.TemporaryDirectory(dir=memory) as folder:
                rebuild(state, root_node, Path(folder) / "run")
                assert_whole(Path(folder) / "run", saved)
    assert len(tried) > len(log.calls)
