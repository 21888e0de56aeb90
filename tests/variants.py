"""The tests of engines, policies, methods and learning on every set of instructions: `make test-variants`.

The core has variants (`ASSAY_CORE`), and torch has kernels of its own for each set of instructions
(`ATEN_CPU_CAPABILITY`): the last bits of both differ from one processor to another. A processor can be taken for one
with fewer instructions, so each variant runs as if it were the best that the machine has. Tests of methods and learning
compute with torch: they run once for each set of kernels, and variants that differ in the core alone run the tests of
engines and policies. Last come a machine without a compiler, and one whose core is turned off. What was not run, and
why, is said at the end. `--only NAME` runs one variant.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assay.engine.native import build

ROOT = Path(__file__).parents[1]
ENGINES = ("tests/engine", "tests/policy", "tests/test_equal_bits.py")
LEARNING = ("tests/methods", "tests/test_learning.py")
COMPILERS = ("c++", "g++", "gcc", "cc", "clang", "clang++")
KERNELS = {"avx512": "avx512", "avx2": "avx2"}  # of torch, by the first word of a variant's name; of others the default


@dataclass(frozen=True)
class Machine:
    """One machine that this one is taken for."""

    name: str
    settings: dict[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ENGINES
    hides: tuple[str, ...] = ()  # programs that are not on its path
    missing: str = ""  # why this machine cannot be taken for it


def machines() -> list[Machine]:
    """Every variant of the core with the kernels of torch beside it, then two machines without the core."""
    found, seen = [], set[str]()
    for variant in build.VARIANTS:
        kernels = KERNELS.get(variant.name.partition("-")[0], "default")
        runs = variant in build.runnable()
        learns = runs and kernels not in seen and variant.format == "fp32"
        seen |= {kernels} if learns else set()
        settings = {build.CHOICE: variant.name, "ATEN_CPU_CAPABILITY": kernels}
        tests = (*ENGINES, *LEARNING) if learns else ENGINES
        found.append(Machine(variant.name, settings, tests, missing="" if runs else _missing(variant)))
    plain = {"ATEN_CPU_CAPABILITY": "default"}
    found.append(Machine("no compiler", {**plain, build.CHOICE: ""}, (*ENGINES, *LEARNING), hides=COMPILERS))
    found.append(Machine("torch alone", {**plain, build.CHOICE: build.NONE}, (*ENGINES, "tests/run")))
    return found


def _missing(variant: build.Variant) -> str:
    if variant.machine != platform.machine():
        return f"is for {variant.machine}, and this is {platform.machine()}"
    known = {flag for one in build.runnable() for flag in one.needs}
    return f"this processor lacks {', '.join(flag for flag in variant.needs if flag not in known)}"


@contextmanager
def path_without(names: tuple[str, ...]) -> Iterator[str]:
    """A search path with every program of this one but these, however they are numbered (`g++-12`)."""
    if not names:
        yield os.environ.get("PATH", "")
        return
    with tempfile.TemporaryDirectory() as folder:
        for place in os.environ.get("PATH", "").split(os.pathsep):
            for program in Path(place).iterdir() if Path(place).is_dir() else ():
                link = Path(folder) / program.name
                hidden = any(program.name == n or program.name.endswith(f"-{n}") for n in names)
                numbered = any(program.name.rpartition("-")[0].endswith(n) for n in names)
                if not (hidden or numbered or link.is_symlink()):
                    link.symlink_to(program)
        yield folder


def tried(machine: Machine, more: list[str]) -> tuple[str, bool]:
    """What came of these tests, and whether nothing failed."""
    if machine.missing:
        return f"not run: {machine.missing}", True
    begun, lines = time.monotonic(), list[str]()
    with path_without(machine.hides) as path, tempfile.TemporaryDirectory() as cache:
        settings = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", "PATH": path}
        if machine.hides:  # nor what they made before
            settings["ASSAY_CACHE"] = cache
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2"]
        command += ["-m", "not deep and not scale", *machine.tests, *more]
        environment = {name: value for name, value in os.environ.items() if name != build.COMPILER}
        with subprocess.Popen(
            command, cwd=ROOT, env=environment | settings | machine.settings, stdout=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                lines.append(line.strip())
    left_out = [line for line in lines if " skipped: " in line or " skipped, " in line]
    said = f"{lines[-1] if lines else 'pytest said nothing'}, {(time.monotonic() - begun) / 60:.0f} minutes"
    return "\n    ".join([said, *left_out]), running.returncode == 0


def main() -> int:
    reads = argparse.ArgumentParser(description=__doc__)
    known = {machine.name: machine for machine in machines()}
    reads.add_argument("--only", choices=known, action="append")
    asked, more = reads.parse_known_args()
    found = {}
    for name, machine in known.items():
        if name in (asked.only or known):
            print(f"== {name}: {' '.join(f'{key}={value}' for key, value in machine.settings.items())}", flush=True)
            found[name] = tried(machine, more)
    print()
    for name, (says, _) in found.items():
        print(f"{name}: {says}")
    return 0 if all(fine for _, fine in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
