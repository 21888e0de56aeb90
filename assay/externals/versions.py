"""The installed version of a foreign program: of a package of Python, or of a program that is asked for it."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
from collections.abc import Sequence

SECONDS = 30.0  # a program on a cold disk
UNTOLD = "unknown"  # the version of a program that is there and does not tell it


def of_package(name: str) -> str | None:
    """The version of an installed package; None if it is missing: `of_package("highspy")`."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def of_program(command: Sequence[str], pattern: str) -> str | None:
    """The first group of `pattern` in the output of a program; None if the program is missing.

    of_program(["yosys", "-V"], r"Yosys (\\S+)")
    """
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return UNTOLD
    found = re.search(pattern, done.stdout.decode(errors="replace"))
    return found[1] if found else UNTOLD
