"""The sandbox as an external: bubblewrap and the Python of programs by version, and the probe as its self-test."""

from __future__ import annotations

import platform
import sys
from typing import Any

from assay.externals.external import External
from assay.externals.versions import of_program

BARE = "without bubblewrap"


def version() -> str | None:
    """The versions of bubblewrap and of the Python that runs programs, by which a verdict on a program may change.

    Without bubblewrap the lower level of the sandbox may hold, which only the probe tells.
    """
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return None
    bubblewrap = of_program(["bwrap", "--version"], r"bubblewrap (\S+)") or BARE
    return f"{bubblewrap}, Python {sys.version.split()[0]}"  # this process's own: the probe refuses another one


def tells(result: dict[str, Any]) -> str:
    """The facts that the probe found, without the Python, and why a stronger level does not hold."""
    facts = ", ".join(f"{name} {value}" for name, value in result["facts"].items() if name != "python")
    return ", ".join(filter(None, [facts, result["above"]]))


SANDBOX = External(
    "sandbox",
    "runs programs that a model wrote",
    install="apt-get install bubblewrap",
    version=version,
    answer="assay.sandbox.asked:answer",
    passes={"program": "print(int(input()) * 7)", "input": "6", "output": "42"},
    fails={"program": "print(open('/etc/passwd').read())", "input": "", "output": ""},
    accepts=lambda result: result["right"],
    tells=tells,
    processes=1,
)
