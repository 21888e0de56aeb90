"""The compiled core for this processor: found in the cache, or built with the compiler that is there.

One source serves every instruction set; what differs is a few constants in `core/vectors.h`. A build is named by the
hash of the source, the compiler and its flags, so a stale one is never loaded.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay.folders import cache_folder

SOURCE = Path(__file__).parent / "core"
COMMON = (
    "-O2",
    "-ftree-vectorize",
    "-fvect-cost-model=dynamic",
    "-std=c++17",
    "-fPIC",
    "-shared",
    "-pthread",
    "-ffp-contract=fast",
)
CHOICE = "ASSAY_CORE"  # names a variant, to force it
COMPILER = "CXX"
FLAGS = "ASSAY_CORE_FLAGS"  # more flags for the compiler: sanitizers, say


@dataclass(frozen=True)
class Variant:
    """Machine code for one instruction set."""

    name: str
    machine: str  # platform.machine()
    needs: tuple[str, ...]  # flags of /proc/cpuinfo
    flags: tuple[str, ...]


VARIANTS = (
    Variant(
        "avx512",
        "x86_64",
        ("avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"),
        ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"),
    ),
    Variant("avx2", "x86_64", ("avx2", "fma"), ("-mavx2", "-mfma")),
    Variant("neon", "aarch64", (), ()),
)


class Unavailable(Exception):
    """There is no core here; the message says why and what would help."""


def runnable() -> list[Variant]:
    """What this processor can run, the fastest first."""
    return [v for v in VARIANTS if v.machine == _machine() and set(v.needs) <= _features()]


def chosen() -> Variant:
    """The variant to run: the one that `ASSAY_CORE` names, else the fastest."""
    known = runnable()
    wanted = os.environ.get(CHOICE)
    if wanted:
        for variant in known:
            if variant.name == wanted:
                return variant
        names = ", ".join(v.name for v in known) or "none"
        raise Unavailable(f"{CHOICE}={wanted} is not a variant that this processor runs; it runs: {names}")
    if not known:
        raise Unavailable(f"the core has no code for this processor ({_machine()} without AVX2 and FMA)")
    return known[0]


def library(variant: Variant) -> Path:
    """The shared library of a variant, built if it is not there."""
    compiler = _compiler()
    flags = (*COMMON, *variant.flags, *os.environ.get(FLAGS, "").split())
    path = cache_folder() / "core" / f"{variant.name}-{_digest(compiler, flags)}.so"
    try:
        if not path.exists():
            _build(compiler, flags, path)
    except OSError as error:
        raise Unavailable(
            f"the core could not be kept in {path.parent}: {error}; set ASSAY_CACHE to a folder"
        ) from error
    return path


def _build(compiler: str, flags: tuple[str, ...], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        command = [compiler, *flags, str(SOURCE / "core.cpp"), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            said = "\n".join(done.stderr.strip().splitlines()[:5])
            raise Unavailable(f"the core did not compile ({' '.join(command)}):\n{said}")
        made.replace(path)


def _compiler() -> str:
    named = os.environ.get(COMPILER)
    for name in [named] if named else ["c++", "g++", "clang++"]:
        found = shutil.which(name)
        if found:
            return found
    wanted = f"{COMPILER}={named} is not there" if named else "there is no C++ compiler (c++, g++, clang++)"
    raise Unavailable(f"{wanted}; install one, for example Debian's package g++")


def _digest(compiler: str, flags: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    for part in (_version(compiler), *flags):
        total.update(part.encode() + b"\0")
    for source in sorted(SOURCE.iterdir()):
        total.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return total.hexdigest()[:16]


@cache
def _version(compiler: str) -> str:
    return subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]


def _machine() -> str:
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())


@cache
def _features() -> frozenset[str]:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return frozenset()
    for line in info.read_text().splitlines():
        if line.startswith(("flags", "Features")):
            return frozenset(line.partition(":")[2].split())
    return frozenset()
