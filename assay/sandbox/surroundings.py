"""The surroundings of a sandbox on this machine: bubblewrap and its arguments, user, environment."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.errors import ConfigError
from assay.sandbox.inside import confine
from assay.sandbox.limits import Limits

_NOBODY = 65534
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "MALLOC_ARENA_MAX": "1",  # else each thread reserves addresses that count as memory
}
INSIDE = Path(confine.__file__).parent


def bubblewrap(tell: int, python: str, wide: Limits | None, without: Sequence[str]) -> list[str]:
    """The command line of bubblewrap for a sandbox that sees the interpreter, its library and nothing else."""
    command = [
        shutil.which("bwrap") or "bwrap",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
    ]
    command += ["--new-session", "--info-fd", str(tell), "--cap-drop", "ALL"]
    if "processes" not in without:
        command += ["--unshare-pid", "--as-pid-1"]
    if "network" not in without:
        command += ["--unshare-net"]
    if os.geteuid() == 0:  # a user of its own replaces the user namespace, in which root would stay root outside
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user", "--uid", str(_NOBODY), "--gid", str(_NOBODY)]
    if "mounts" in without:
        command += ["--bind", tempfile.gettempdir(), tempfile.gettempdir()]
    standard = confine.standard_library()
    seen = [path for path in (python, *confine.places(standard)) if Path(path).exists()]
    for folder in sorted({folder for path in (*seen, "/sandbox/inside") for folder in Path(path).parents})[1:]:
        if not str(folder).startswith(standard):
            command += ["--perms", "0755", "--dir", str(folder)]  # else it is closed to other users than its owner
    for path in seen:
        if not path.startswith(f"{standard}/"):
            command += ["--ro-bind", path, path]
    command += ["--ro-bind", standard, standard, "--ro-bind", str(INSIDE), "/sandbox/inside"]
    for name in ("site-packages", "dist-packages"):
        if (Path(standard) / name).is_dir():
            command += ["--tmpfs", f"{standard}/{name}"]
    for path in confine.DEVICES:
        command += ["--dev-bind", path, path]
    if wide is not None and wide.files_mb:
        command += ["--perms", "1777", "--size", str(wide.files_mb << 20), "--tmpfs", "/tmp"]
    return [*command, "--chdir", "/tmp" if wide is not None and wide.files_mb else "/"]


def own_user(number: int) -> int:
    """A user number that nobody else has, for a slot of a trainer that is root."""
    most = 0
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        most = max(most, min(first + count, 1 << 31))
    if most < 1024:
        raise ConfigError(
            "this container has no user numbers to run programs under: it maps root alone. Map more of them (for "
            "podman, lines in /etc/subuid and /etc/subgid), or run as another user."
        )
    room = min(most - 1000, 1 << 26) // 64
    return most - 1000 - 64 * (os.getpid() % max(1, room // 64)) - number % 64


def threads_of_user() -> int:
    """Threads of this user on the machine."""
    count, user = 0, os.geteuid()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                if folder.stat().st_uid == user:
                    count += sum(1 for _ in (folder / "task").iterdir())
    return count
