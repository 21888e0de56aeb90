"""The sandbox as an external: bubblewrap by its version, and the probe of the levels as its self-test."""

from __future__ import annotations

import platform
import sys

from assay.externals.external import External
from assay.externals.versions import of_program

BARE = "without bubblewrap"


def version() -> str | None:
    """The version of bubblewrap. Without it the lower level of the sandbox may hold, which only the probe tells."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        return None
    return of_program(["bwrap", "--version"], r"bubblewrap (\S+)") or BARE


SANDBOX = External(
    "sandbox",
    "runs programs that a model wrote",
    install="apt-get install bubblewrap",
    version=version,
    answer="assay.sandbox.asked:answer",
    passes={"program": "print(int(input()) * 7)", "input": "6", "output": "42"},
    fails={"program": "print(open('/etc/passwd').read())", "input": "", "output": ""},
    accepts=lambda result: result["right"],
    tells=lambda result: ", ".join(f"{name} {value}" for name, value in result["facts"].items()),
    processes=1,
)
