"""What a sandbox is made of on this machine: bubblewrap and its arguments, interpreter, user, environment."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.errors import ConfigError
from assay.sandbox.inside import confine
from assay.sandbox.limits import Level, Limits

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
    found = [
        shutil.which("bwrap") or "bwrap",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--hostname",
        "sandbox",
    ]
    found += ["--new-session", "--info-fd", str(tell), "--cap-drop", "ALL"]
    if "processes" not in without:
        found += ["--unshare-pid", "--as-pid-1"]
    if "network" not in without:
        found += ["--unshare-net"]
    if os.geteuid() == 0:  # a user of its own replaces the user namespace, in which root would stay root outside
        found += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        found += ["--unshare-user", "--uid", str(_NOBODY), "--gid", str(_NOBODY)]
    if "mounts" in without:
        found += ["--bind", tempfile.gettempdir(), tempfile.gettempdir()]
    standard = confine.standard_library()
    seen = [path for path in (python, *confine.places(standard), *_linked(python)) if Path(path).exists()]
    for folder in sorted({folder for path in (*seen, "/sandbox/inside") for folder in Path(path).parents})[1:]:
        if not str(folder).startswith(standard):
            found += ["--perms", "0755", "--dir", str(folder)]  # else it is closed to other users than its owner
    for path in seen:
        if not path.startswith(f"{standard}/"):
            found += ["--ro-bind", path, path]
    found += ["--ro-bind", standard, standard, "--ro-bind", str(INSIDE), "/sandbox/inside"]
    for name in ("site-packages", "dist-packages"):
        if (Path(standard) / name).is_dir():
            found += ["--tmpfs", f"{standard}/{name}"]
    for path in confine.DEVICES:
        found += ["--dev-bind", path, path]
    if wide is not None and wide.files_mb:
        found += ["--perms", "1777", "--size", str(wide.files_mb << 20), "--tmpfs", "/tmp"]
    return [*found, "--chdir", "/tmp" if wide is not None and wide.files_mb else "/"]


def _linked(python: str) -> list[str]:
    """Shared libraries beside the interpreter, where its own lies outside the system's folders."""
    return [str(path) for path in sorted((Path(python).parents[1] / "lib").glob("libpython*"))]


def interpreter(level: Level) -> str:
    """The Python that runs programs: that of this process, or the system's where a foreign user cannot read ours."""
    own = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if level == "L2" or os.geteuid() != 0:
        return str(own)
    for path in (own, Path("/usr/bin/python3").resolve()):
        if path.exists() and all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.parents):
            return str(path)
    raise OSError(f"no Python can be read by other users than root: {own} lies in a closed folder.")


def own_user(number: int) -> int:
    """A user number that nobody else has, for a slot of a trainer that is root."""
    most = 0
    for line in Path("/proc/self/uid_map").read_text().splitlines():
        first, _, count = map(int, line.split())
        most = max(most, min(first + count, 1 << 31))
    if most < 1024:
        raise ConfigError(
            "this container has no user numbers to run programs under: it maps root alone. Run as another user."
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
