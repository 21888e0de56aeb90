"""Where the processes of a run listen, by the kernel's own table of sockets."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import below, command_of

LISTENS = "0A"  # how /proc/net/tcp writes the state of a socket that listens
SECRETS = ("ASSAY_SAMPLER_SECRET", "VLLM_API_KEY", "RAY_AUTH_TOKEN")
UNSET = (
    *SECRETS,
    "GLOO_SOCKET_IFNAME",
    "NCCL_SOCKET_IFNAME",
    "RAY_ADDRESS",
    "RAY_AUTH_MODE",
)  # of the tests themselves
MARK = "ASSAY_TEST_MARK"  # a variable that all processes of a run inherit, also those that Ray sets loose


@dataclass(frozen=True)
class Door:
    """A socket that listens: `Door("127.0.0.1", 40123, "raylet")`."""

    address: str
    port: int
    process: str

    @property
    def on_loopback(self) -> bool:
        found = ipaddress.ip_address(self.address)
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return (mapped or found).is_loopback


def address_of(text: str) -> str:
    """The address that the table writes in hexadecimal: words of four bytes, each in the machine's order of bytes."""
    words = [int(text[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(text), 8)]
    return str(ipaddress.ip_address(b"".join(words)))


def table() -> dict[str, tuple[str, int]]:
    """Inode of each socket that listens -> (address, port)."""
    found = {}
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):  # a kernel without IPv6
            for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
                parts = line.split()
                if parts[3] == LISTENS:
                    address, _, port = parts[1].partition(":")
                    found[parts[9]] = address_of(address), int(port, 16)
    return found


def doors(pids: Sequence[int]) -> set[Door]:
    """The sockets at which these processes listen."""
    listening, found = table(), set()
    for pid in pids:
        with contextlib.suppress(OSError):  # it has ended
            for file in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inode = str(file.readlink()).removeprefix("socket:[").removesuffix("]")
                    if inode in listening:
                        found.add(Door(*listening[inode], name_of(pid)))
    return found


def name_of(pid: int) -> str:
    """What a process is: of an interpreter its command, without the list of its search path."""
    name = Path(f"/proc/{pid}/comm").read_text().strip()
    return name if name != "python" else re.sub(r"sys\.path\[:\] = \[.*?\]; ", "", command_of(pid))


def marked(mark: str) -> list[int]:
    """The processes whose environment had this mark when they began."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


@dataclass
class Seen:
    """What was seen of a run's processes while they lived."""

    doors: set[Door] = field(default_factory=set)  # sockets at which they listened
    secrets: set[str] = field(default_factory=set)  # that they were given in their environment
    commands: set[str] = field(default_factory=set)
    said: str = ""

    def look(self, pids: Sequence[int]) -> None:
        self.doors |= doors(pids)
        self.commands |= {command_of(pid) for pid in pids}
        for pid in pids:
            with contextlib.suppress(OSError):
                for pair in Path(f"/proc/{pid}/environ").read_text(errors="replace").split("\0"):
                    name, _, value = pair.partition("=")
                    self.secrets |= {value} if name in SECRETS and value else set()


def watched(line: Sequence[str], *, mark: str, seconds: float) -> Seen:
    """What was seen while `assay LINE` ran, which must end well."""
    command, seen = [sys.executable, "-m", "assay", *line], Seen()
    with subprocess.Popen(
        command,
        env={**{name: value for name, value in os.environ.items() if name not in UNSET}, MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        stdin=subprocess.DEVNULL,
    ) as run:
        end = time.monotonic() + seconds
        while run.poll() is None and time.monotonic() < end:
            seen.look([run.pid, *below(run.pid), *marked(mark)])
            time.sleep(0.05)
        run.kill()
        seen.said = run.stdout.read() if run.stdout is not None else ""
    assert run.returncode == 0, seen.said
    return seen
