"""The probe of a sandbox level: it attacks the sandbox, and the level holds only if every attack fails.

A feature is not asked for but tried: a kernel, a container and a security policy together decide what works, and none
of them tells. Every layer is also tried alone, with the layers that would cover for it left off.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.sandbox import assaults
from assay.sandbox.inside import calls, confine
from assay.sandbox.interpreter import VERSION
from assay.sandbox.limits import Execution, Level, Limits, Ran, Status
from assay.sandbox.pool import listen
from assay.sandbox.slot import Slot, SlotLost

OVERSHOOT = 2.0  # seconds after a limit at which a run that still goes on has no deadline; a busy machine needs them
_SHORT = Limits(seconds=0.3, memory_mb=256, output_kb=64)
_LIMITS = Limits(seconds=5.0, memory_mb=256, output_kb=64)
_WIDE = Limits(seconds=5.0, memory_mb=256, output_kb=64, processes=8, files_mb=4)
_NUMBERS = {  # system calls that a program must not make, on x86-64 and on aarch64
    "unshare": (272, 97), "ptrace": (101, 117), "io_uring_setup": (425, 425), "mount": (165, 40),
    "socket": (41, 198), "personality": (135, 92), "memfd_create": (319, 279),
}  # fmt: skip


@dataclass(frozen=True)
class Probed:
    """The findings of a probe: `Probed("L2", problems=())` is a level that holds."""

    level: Level
    problems: tuple[str, ...]
    facts: tuple[tuple[str, str], ...] = ()  # facts of the sandbox, for the record of a run

    @property
    def holds(self) -> bool:
        return not self.problems


@dataclass(frozen=True)
class Case:
    """One attack: `Case("files", assaults.FILES)` must print that it is done, and nothing that it reached."""

    about: str
    program: str
    without: tuple[str, ...] = ()  # layers that are left off, so that the others stand alone
    wanted: tuple[Status, ...] = ("exit",)
    limits: Limits = _LIMITS


_KERNEL = ("landlock", "filter")
CASES = (
    Case("files outside", assaults.FILES),
    Case("its own streams", assaults.STREAMS),
    Case("the environment and other processes", assaults.ENVIRONMENT),
    Case("the network", assaults.NETWORK),
    Case("signals to other processes", assaults.SIGNALS),
    Case("new processes", assaults.FORKS),
    Case("forbidden system calls", assaults.CALLS),
    Case("the filter of system calls alone", assaults.CALLS, ("landlock",)),
    Case("Landlock alone", assaults.HIDDEN, ("filter",)),
    Case("the user alone", assaults.USER, _KERNEL),
    Case("open files", assaults.DESCRIPTORS),
    Case("threads", assaults.THREADS),
    Case("memory", assaults.MEMORY, wanted=("memory",)),
    Case("output", assaults.FLOOD, wanted=("output",)),
    Case("a program that sleeps", assaults.SLEEP, wanted=("time",), limits=_SHORT),
    Case("a program that works for ever", assaults.LOOP, wanted=("time",), limits=_SHORT),
)
NAMESPACES = (
    Case("files outside, by namespaces alone", assaults.FILES, _KERNEL),
    Case("the network, by namespaces alone", assaults.NETWORK, _KERNEL),
    Case("signals, by namespaces alone", assaults.SIGNALS, _KERNEL),
)
WIDE = (
    Case("a daemon", assaults.DAEMON, limits=_WIDE),
    Case("a full disk", assaults.FILL, limits=_WIDE),
)


def probe(level: Level, *, without: Sequence[str] = ()) -> Probed:
    """Attacks a sandbox of this level. `without` names layers that it only pretends to have: see `Slot`."""
    if (reason := _cannot(level)) is not None:
        return Probed(level, (reason,))
    problems: list[str] = []
    facts: dict[str, Any] = {}
    with _prey() as prey:
        try:
            slot = Slot(level, number=0, without=without)
        except (SlotLost, OSError, ConfigError) as error:
            return Probed(level, (f"it cannot be started: {error}".rstrip("."),))
        with contextlib.closing(slot):
            words = prey.words(slot)
            facts |= _facts(slot)
            if slot.told["python"] != VERSION:
                problems.append(f"its Python is {slot.told['python']}, and that of this process is {VERSION}")
            for case in (*CASES, *(NAMESPACES if level == "L2" else ())):
                problems += _tried(slot, case, words)
                if slot.running is not None:
                    break  # it cannot be stopped: nothing after it would be run
        if level == "L2":
            problems += _wide(prey, without)
        problems += prey.harmed()
    return Probed(level, tuple(problems), tuple((name, str(value)) for name, value in facts.items()))


def _cannot(level: Level) -> str | None:
    if sys.platform != "linux" or platform.machine() not in calls.MACHINES:
        known = " and ".join(f"Linux on {machine}" for machine in calls.MACHINES)
        return f"it is made for {known}, and this is {platform.system()} on {platform.machine()}"
    if not confine.landlock_version():
        return "this kernel has no Landlock, or the container does not allow it"
    if level == "L2" and shutil.which("bwrap") is None:
        return "bubblewrap is not installed: run `apt-get install bubblewrap`"
    return None


def _facts(slot: Slot) -> dict[str, Any]:
    return {
        "level": slot.level,
        "python": slot.told["python"],
        "landlock": slot.told["landlock"],
        "filter": calls.digest(platform.machine()),
        "kernel": platform.release(),
        "group": "yes" if slot.grouped else "no",
    }


def _tried(slot: Slot, case: Case, words: dict[str, str]) -> list[str]:
    ran = _run(slot, case, words)
    if ran is None:
        return [f"{case.about}: it was not ended at its limit"]
    if isinstance(ran, SlotLost):
        return [f"{case.about}: {ran}"]
    printed = ran.output[:4000].decode(errors="replace")
    reached = [line for line in printed.splitlines() if line.startswith("REACHED")]
    if reached:
        return [f"{case.about}: {line.lower()}" for line in reached[:3]]
    if ran.status not in case.wanted or (case.wanted == ("exit",) and "DONE" not in printed):
        said = ran.errors[-300:].decode(errors="replace").strip()
        return [f"{case.about}: expected {' or '.join(case.wanted)}, found {ran.status} {ran.code} {said}".rstrip()]
    return []


def _run(slot: Slot, case: Case, words: dict[str, str]) -> Ran | SlotLost | None:
    """The outcome of an attack; None if the sandbox does not end it."""
    program = string.Template(case.program).substitute(words)
    try:
        slot.begin(Execution(program, limits=case.limits), without=case.without, threads=int(words["threads"]) - 1)
    except SlotLost as error:
        return error
    while slot.worked() < case.limits.seconds + OVERSHOOT:
        for _, ran in listen([slot], most=0.2):
            return ran
    return None


def _wide(prey: _Prey, without: Sequence[str]) -> list[str]:
    """Attacks by runs with processes and files. Returns the problems, such as a process that lives on after its run."""
    problems: list[str] = []
    for number, case in enumerate(WIDE):
        try:
            slot = Slot("L2", number=1 + number, limits=case.limits, without=without)
        except (SlotLost, OSError) as error:
            return [f"{case.about}: {error}"]
        with contextlib.closing(slot):
            problems += _tried(slot, case, prey.words(slot))
    if prey.daemons():
        problems.append("a daemon: it lives on after its run")
    return problems


class _Prey:
    """The targets that no attack may reach: files, listeners, a process, a word in the environment."""

    def __init__(self, folder: Path) -> None:
        self.name = f"assay{secrets.token_hex(4)}"
        self.secret = secrets.token_hex(16)
        self.folder = folder / "canary"
        self.folder.mkdir()
        self.file = self.folder / "secret"
        self.file.write_text(self.secret)
        for path, mode in ((folder, 0o755), (self.folder, 0o777), (self.file, 0o666)):
            path.chmod(mode)  # open to everybody: a layer must keep the program out, not the owner of the file
        self.grouped = list(self._of_groups())
        self.process = subprocess.Popen(["/bin/sleep", "600"])
        self.sockets = [socket.socket(family, kind) for family, kind in self._kinds()]
        addresses = (("127.0.0.1", 0), ("127.0.0.1", 0), f"\0{self.name}", f"\0{self.name}-datagram")
        for endpoint, address in zip(self.sockets, addresses, strict=True):
            endpoint.bind(address)
            endpoint.setblocking(False)
            if endpoint.type == socket.SOCK_STREAM:
                endpoint.listen()

    def _of_groups(self) -> Iterator[str]:
        """A file for each group of this user beside its first, which that group may read."""
        for group in os.getgroups():
            path = self.folder / f"of-{group}"
            path.write_text(self.secret)
            path.chmod(0o660)
            with contextlib.suppress(OSError):  # a group that this container does not map
                os.chown(path, -1, group)
            yield str(path)

    @staticmethod
    def _kinds() -> Iterator[tuple[int, int]]:
        for family in (socket.AF_INET, socket.AF_UNIX):
            yield from ((family, socket.SOCK_STREAM), (family, socket.SOCK_DGRAM))

    def words(self, slot: Slot) -> dict[str, str]:
        column = calls.MACHINES[platform.machine()][0]
        hidden = "/sandbox/inside/confine.py" if slot.level == "L2" else str(self.file)
        return {
            "canary": str(self.folder),
            "grouped": repr(self.grouped),
            "hidden": hidden,
            "secret": self.secret,
            "pid": str(self.process.pid),
            "name": self.name,
            "tcp": str(self.sockets[0].getsockname()[1]),
            "udp": str(self.sockets[1].getsockname()[1]),
            "user": str(slot.user),
            "threads": str(slot.most_threads + 1),
            "calls": repr({name: numbers[column] for name, numbers in _NUMBERS.items()}),
        }

    def daemons(self) -> bool:
        for comm in Path("/proc").glob("[0-9]*/comm"):
            with contextlib.suppress(OSError):
                if comm.read_text().strip() == self.name:
                    return True
        return False

    def harmed(self) -> list[str]:
        found = []
        files = sorted(str(path) for path in self.folder.iterdir())
        if files != sorted([str(self.file), *self.grouped]) or self.file.read_text() != self.secret:
            found.append("files outside: they were changed")
        status = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        if self.process.poll() is not None or status == "T":
            found.append("signals to other processes: one arrived")
        for one in self.sockets:
            with contextlib.suppress(BlockingIOError):
                one.accept()[0].close() if one.type == socket.SOCK_STREAM else one.recv(1)
                found.append("the network: something arrived")
        return found

    def close(self) -> None:
        for one in self.sockets:
            one.close()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def _prey() -> Iterator[_Prey]:
    with tempfile.TemporaryDirectory(prefix="assay-probe-") as folder:
        prey = _Prey(Path(folder))
        os.environ["ASSAY_PROBE"] = prey.secret
        try:
            yield prey
        finally:
            del os.environ["ASSAY_PROBE"]
            prey.close()
