"""The compiled core for this processor: taken from the wheel, from the cache, or built with the machine's C++ compiler.

One source serves every instruction set; the variants differ in a few constants of `core/vectors.h`. The file name of a
build has a hash of the source, the compiler and its flags, so a stale build is never loaded. The hash of a build in a
wheel (see `hatch_build.py`) leaves the compiler out.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from assay.host.cache import cache_folder

SOURCE = Path(__file__).parent / "core"
BUILT = Path(__file__).parent / "built"  # the libraries that a wheel brings
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
PORTABLE = ("-static-libstdc++", "-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "-s")  # needs no C++ runtime library
CHOICE = "ASSAY_CORE"  # the environment variable that names the variant to run, or none
NONE = "none"
COMPILER = "CXX"
FLAGS = "ASSAY_CORE_FLAGS"  # more flags for the compiler: sanitizers, say

Format = Literal["fp32", "bf16"]


@dataclass(frozen=True)
class Variant:
    """The core's machine code for one instruction set."""

    name: str
    machine: str  # platform.machine()
    needs: tuple[str, ...]  # flags of /proc/cpuinfo
    flags: tuple[str, ...]  # flags for the compiler
    format: Format = "fp32"  # the format of the numbers that products multiply
    emulated: bool = False  # imitates a newer processor, slowly: runs only when `ASSAY_CORE` names it


AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl", "fma")
AVX512_FLAGS = (*(f"-m{flag}" for flag in AVX512), "-mprefer-vector-width=512")
AVX2, AVX2_FLAGS = ("avx2", "fma"), ("-mavx2", "-mfma")
PAIRS = "-DASSAY_PAIRS"

VARIANTS = (
    Variant("avx512-bf16", "x86_64", (*AVX512, "avx512_bf16"), (*AVX512_FLAGS, "-mavx512bf16", PAIRS), "bf16"),
    Variant("avx512", "x86_64", AVX512, AVX512_FLAGS),
    Variant("avx2", "x86_64", AVX2, AVX2_FLAGS),
    Variant("neon", "aarch64", (), ()),
    Variant("avx512-bf16-emulated", "x86_64", AVX512, (*AVX512_FLAGS, PAIRS), "bf16", emulated=True),
    Variant("avx2-bf16-emulated", "x86_64", AVX2, (*AVX2_FLAGS, PAIRS), "bf16", emulated=True),
)


class Unavailable(Exception):
    """The core cannot run here; the message says why and what would help."""


def runnable() -> list[Variant]:
    """The variants that this processor can run, the fastest first."""
    return [v for v in VARIANTS if v.machine == _machine() and set(v.needs) <= _features()]


def chosen(format: Format = "fp32") -> Variant:
    """The variant to run in this format: the one that `ASSAY_CORE` names, else the fastest."""
    variants = runnable()
    wanted = os.environ.get(CHOICE)
    if wanted == NONE:
        raise Unavailable(f"{CHOICE}={NONE} turns the core off")
    if wanted:
        for variant in variants:
            if variant.name == wanted:
                if variant.format != format:
                    raise Unavailable(f"{CHOICE}={wanted} computes in {variant.format}, not in {format}")
                return variant
        names = ", ".join([*(v.name for v in variants), NONE])
        raise Unavailable(f"{CHOICE}={wanted} is not a variant that this processor runs; expected one of: {names}")
    if not variants:
        raise Unavailable(f"the core has no code for this processor ({_machine()} without AVX2 and FMA)")
    for variant in variants:
        if variant.format == format and not variant.emulated:
            return variant
    raise Unavailable(f"the core computes in fp32 here, not in {format}: this processor has no {format} products")


def named_format() -> Format | None:
    """The format of the variant that `ASSAY_CORE` names; None if it names none that runs here."""
    return next((v.format for v in runnable() if v.name == os.environ.get(CHOICE)), None)


def library(variant: Variant) -> Path:
    """The shared library of a variant: from the wheel, else from the cache, where it is built if it is missing."""
    if brought := packaged(variant):
        return brought
    found = compiler()
    flags = (*COMMON, *variant.flags, *os.environ.get(FLAGS, "").split())
    path = cache_folder() / "core" / f"{variant.name}-{_digest(found, flags)}.so"
    try:
        if not path.exists():
            _build(found, flags, path)
    except OSError as error:
        raise Unavailable(
            f"the compiled core could not be kept in {path.parent}: {error}; set ASSAY_CACHE to another folder"
        ) from error
    return path


def packaged(variant: Variant) -> Path | None:
    """The library from the wheel, if it has this source's hash, loads here, and no compiler or flags are asked for."""
    path = BUILT / _packaged_name(variant)
    if os.environ.get(COMPILER) or os.environ.get(FLAGS) or not path.exists():
        return None
    try:
        ctypes.CDLL(str(path))
    except OSError:  # this system's C library is older than the one of the build, or another one
        return None
    return path


def build_packaged(variant: Variant, folder: Path) -> Path:
    """Builds, in this folder, the library that `packaged` finds; called when a wheel is made."""
    path = folder / _packaged_name(variant)
    _build(compiler(), _packaged_flags(variant), path)
    return path


def _packaged_name(variant: Variant) -> str:
    return f"{variant.name}-{_digest(None, _packaged_flags(variant))}.so"


def _packaged_flags(variant: Variant) -> tuple[str, ...]:
    return *COMMON, *variant.flags, *PORTABLE


def _build(compiler: str, flags: tuple[str, ...], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        made = Path(scratch) / path.name
        command = [compiler, *flags, str(SOURCE / "core.cpp"), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            errors = "\n".join(done.stderr.strip().splitlines()[:5])
            raise Unavailable(f"the core did not compile ({' '.join(command)}):\n{errors}")
        made.replace(path)


def compiler() -> str:
    """The C++ compiler: the one that `CXX` names, else the first of the usual ones that is there."""
    named = os.environ.get(COMPILER)
    for name in [named] if named else ["c++", "g++", "clang++"]:
        found = shutil.which(name)
        if found:
            return found
    missing = f"{COMPILER}={named} is not there" if named else "there is no C++ compiler (c++, g++, clang++)"
    raise Unavailable(f"{missing}; install one, for example Debian's package g++")


def _digest(compiler: str | None, flags: tuple[str, ...]) -> str:
    total = hashlib.sha256()
    for part in (_version(compiler) if compiler else "", *flags):
        total.update(part.encode() + b"\0")
    for source in sorted(p for p in SOURCE.iterdir() if p.suffix in {".h", ".cpp"}):
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
