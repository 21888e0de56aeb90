"""Sandboxes of other users than the one that runs the tests: what a login user has, seen by tests that run as root."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

from open_folders import open_folder
from small_runs import ROOT

from assay.sandbox import Chain, Execution, Probed, Ran, Sandbox
from assay.sandbox.interpreter import own
from assay.sandbox.limits import Level

Who = Literal["this user", "a user", "a user in groups"]
WHO: tuple[Who, ...] = ("this user", "a user", "a user in groups")
GROUP = 27  # of the user in groups, beside the first
_SETPRIV = ["setpriv", "--reuid", "1000", "--regid", "1000"]
AS: dict[Who, list[str]] = {
    "a user": [*_SETPRIV, "--clear-groups"],
    "a user in groups": [*_SETPRIV, "--groups", f"1000,{GROUP}"],
}
"""The command in front of another, with which it runs as such a user."""


def cannot(who: Who) -> str:
    """Why this process can start no sandbox of such a user; an empty text if it can."""
    if who == "this user":
        return ""
    if os.geteuid() != 0:
        return "only root can start processes of other users"
    if shutil.which("setpriv") is None:
        return "setpriv is not installed, which starts processes of other users"
    return "" if _python() else "no Python of this version or later can be run by other users than root"


class Elsewhere:
    """A sandbox in a process of another user. It has the level, `map` and `follow` of a `Sandbox`.

    with Elsewhere("L1", "a user in groups") as sandbox:
        (ran,) = sandbox.map([Execution("print(1)")])
    """

    def __init__(self, level: Level, who: Who, *, count: int = 2) -> None:
        self.level: Level = level
        self.who: Who = who
        self.python = cast(str, _python())
        self._kept = contextlib.ExitStack()
        folder = self._kept.enter_context(open_folder())
        package = folder / "assay"
        shutil.copytree(ROOT / "assay" / "sandbox", package / "sandbox", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "assay" / "errors.py", package)
        (package / "__init__.py").touch()
        served = shutil.copy(Path(__file__).with_name("served.py"), folder)
        for path in (package, *package.rglob("*"), Path(served)):
            path.chmod(path.stat().st_mode | stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0))
        self._process = subprocess.Popen(
            [*AS[who], self.python, "-B", served, level, str(folder), str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
        )

    def map(self, runs: Sequence[Execution]) -> list[Ran]:
        return self._asked(list(runs))

    def follow(self, chains: Sequence[Chain]) -> list[list[Ran]]:
        """One run after the other; the seconds of a chain are not kept, as no test of other users asks for them."""
        return [self._followed(chain) for chain in chains]

    def _followed(self, chain: Chain) -> list[Ran]:
        came: list[Ran] = []
        for number, run in enumerate(chain.runs):
            came += self.map([run])
            if not chain.goes_on(number, came[-1]):
                break
        return came

    def probe(self) -> Probed:
        return self._asked("probe")

    def _asked(self, what: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        pickle.dump(what, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def __enter__(self) -> Sandbox:
        return cast(Sandbox, self)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(timeout=30)
        self._kept.close()


def beside(sandbox: Sandbox, *, count: int) -> Sandbox | Elsewhere:
    """Another sandbox of the same level and user, with so many slots."""
    if isinstance(sandbox, Elsewhere):
        return Elsewhere(sandbox.level, sandbox.who, count=count)
    return Sandbox(sandbox.level, count=count)


def _python() -> str | None:
    """A Python that every user can run: that of this process, or the system's if it is new enough."""
    for path in (own(), Path("/usr/bin/python3").resolve()):
        if path.exists() and all(folder.stat().st_mode & 0o005 == 0o005 for folder in path.parents):
            wanted = f"import sys; raise SystemExit(sys.version_info < {tuple(sys.version_info[:2])})"
            if subprocess.run([str(path), "-c", wanted], check=False).returncode == 0:
                return str(path)
    return None
