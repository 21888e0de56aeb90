"""What hostile programs must not reach, and the count of what a sandbox could leave behind."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import string
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from small_runs import ROOT
from users import GROUP

from assay.sandbox import cgroup

_SECRET = "ASSAY_TEST_SECRET"


class Canaries:
    """A file, listeners, a process and a word in the environment: `harmed()` says which of them was reached."""

    def __init__(self, folder: Path) -> None:
        self.secret = secrets.token_hex(16)
        self.folder = folder
        (folder / "secret").write_text(self.secret)
        for path, mode in ((folder, 0o777), (folder / "secret", 0o666)):
            path.chmod(mode)
        self.grouped = folder / "of a group"  # closed to a user, unless one of his groups opens it
        self.grouped.write_text(self.secret)
        self.grouped.chmod(0o640)
        if os.geteuid() == 0:
            os.chown(self.grouped, 0, GROUP)
        self._before = self._files()
        self.process = subprocess.Popen(["/bin/sleep", "3600"])
        self._name = f"assay-{secrets.token_hex(4)}"
        self._path = tempfile.mktemp(prefix="assay-", suffix=".sock")
        kinds = [(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))]
        kinds += [(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))]
        kinds += [(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self._name}")]
        kinds += [(socket.AF_UNIX, socket.SOCK_STREAM, self._path)]
        self._sockets = []
        for family, kind, address in kinds:
            one = socket.socket(family, kind)
            one.bind(address)
            one.setblocking(False)
            if kind == socket.SOCK_STREAM:
                one.listen()
            self._sockets.append(one)
        Path(self._path).chmod(0o777)
        os.environ[_SECRET] = self.secret

    def program(self, template: str) -> str:
        """A hostile program with the places of these canaries."""
        tcp, udp = (one.getsockname()[1] for one in self._sockets[:2])
        words = {"folder": self.folder, "secret": self.secret, "pid": self.process.pid, "tcp": tcp, "udp": udp}
        words |= {"unix": self._name, "path": self._path, "package": ROOT / "assay", "tests": ROOT / "tests"}
        words |= {"grouped": self.grouped}
        return string.Template(template).safe_substitute({name: str(value) for name, value in words.items()})

    def harmed(self) -> list[str]:
        found = [] if self._files() == self._before else ["files"]
        status = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if self.process.poll() is not None or status == "T":
            found.append("process")
        for one in self._sockets:
            with contextlib.suppress(BlockingIOError):
                one.accept()[0].close() if one.type == socket.SOCK_STREAM else one.recv(1)
                found.append(f"listener at {one.getsockname()}")
        return found

    def close(self) -> None:
        del os.environ[_SECRET]
        for one in self._sockets:
            one.close()
        Path(self._path).unlink()
        self.process.kill()
        self.process.wait()

    def _files(self) -> dict[str, tuple[str, int, int]]:
        found = {}
        for path in [self.folder, *sorted(self.folder.iterdir())]:
            told = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[path.name] = (content, told.st_mode, told.st_uid)
        return found


@dataclass(frozen=True)
class Left:
    """What this process has on the machine: `Left.now() == before` after everything is closed."""

    processes: frozenset[int]  # children of this process, also those that ended and were not waited for
    descriptors: int
    files: frozenset[str]  # in the folder for temporary files
    groups: frozenset[str]

    @classmethod
    def now(cls) -> Left:
        return cls(
            frozenset(_children()),
            len(list(Path("/proc/self/fd").iterdir())),
            frozenset(path.name for path in Path(tempfile.gettempdir()).iterdir()),
            frozenset(str(path) for path in cgroup.ROOT.rglob(f"assay-sandbox-{os.getpid()}-*")),
        )


def _children() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(path.parent.name))
    return found
