"""A wheel with the compiled core in it serves a machine without a compiler."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.tags import sys_tags
from small_runs import ROOT

from assay.engine.native import build
from hatch_build import platform_tag

pytestmark = [
    pytest.mark.slow,
    pytest.mark.core,
    pytest.mark.skipif(sys.platform != "linux", reason="such wheels are made for Linux"),
]
FIND = "from assay.engine.native import build; print(build.library(build.chosen()))"
USE = """
import torch
from assay.engine import precision
precision.choose = lambda *_: (torch.float32, "")  # whatever this processor would take
from assay.lab.doctor import examination
from assay.rng import Key
from engine_cases import engine_of, requests_of
print(examination()["core"]["found"])
print(len(engine_of(precision="native").generate(requests_of(3, 4), Key(0))))
"""
Done = subprocess.CompletedProcess[str]


def hatch(folder: Path, asked: str) -> Done:
    """Builds a wheel of this checkout."""
    line = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    environment = os.environ | {"ASSAY_WHEEL_CORE": asked}
    return subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    done = hatch(folder, build.chosen().name)
    assert done.returncode == 0, done.stderr
    (made,) = folder.iterdir()
    return made


@pytest.fixture
def package(wheel: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return folder


def brought(package: Path) -> Path:
    (path,) = (package / "assay/engine/native/built").iterdir()
    return path


def python(package: Path, code: str, **changes: str) -> Done:
    """Runs code on the unpacked wheel, with an empty cache and no program to be found."""
    empty = package.parent / "empty"
    empty.mkdir()
    environment = {k: v for k, v in os.environ.items() if k not in (build.COMPILER, build.FLAGS)} | changes
    environment |= {"PATH": str(empty), "ASSAY_CACHE": str(empty), "PYTHONPATH": f"{package}:{ROOT / 'tests'}"}
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, cwd=empty, env=environment, capture_output=True, text=True, timeout=120)
    assert not list(empty.iterdir()), "nothing is compiled"
    return done


def test_a_wheel_is_for_this_platform_if_it_brings_the_core(wheel: Path, tmp_path: Path) -> None:
    assert any(str(tag) in wheel.name for tag in sys_tags() if tag.interpreter == "py3" and tag.platform != "any")
    assert hatch(tmp_path, "").returncode == 0
    assert [path.name.endswith("-py3-none-any.whl") for path in tmp_path.iterdir()] == [True]


@pytest.mark.parametrize(
    ("libraries", "tag"),
    [
        ([b"\0GLIBC_2.2.5\0GLIBC_2.17\0"], "manylinux_2_17"),
        ([b"\0GLIBC_2.9\0", b"\0GLIBC_2.34\0GCC_3.0\0"], "manylinux_2_34"),
        ([b"\0GLIBCXX_3.4\0libc.musl\0"], "linux"),
    ],
)
def test_the_tag_of_a_wheel_names_the_newest_c_library_that_it_needs(libraries: list[bytes], tag: str) -> None:
    assert platform_tag(libraries) == f"{tag}_{platform.machine()}"


def test_a_wheel_has_the_templates_of_new_methods(package: Path) -> None:
    def files(root: Path) -> set[Path]:
        found = (root / "assay/lab/templates").rglob("*")
        return {path.relative_to(root) for path in found if path.is_file() and "__pycache__" not in path.parts}

    assert files(package) == files(ROOT)


def test_a_variant_that_is_not_there_is_refused(tmp_path: Path) -> None:
    said = hatch(tmp_path, "abacus").stderr
    assert "ASSAY_WHEEL_CORE=abacus" in said and build.chosen().name in said


def test_the_core_of_the_wheel_is_found(package: Path) -> None:
    assert python(package, FIND).stdout.strip() == str(brought(package))
    assert b"libstdc++.so" not in brought(package).read_bytes()


def test_the_core_of_the_wheel_works(package: Path) -> None:
    done = python(package, USE)
    assert done.returncode == 0, done.stderr
    found, generations = done.stdout.splitlines()
    assert found.endswith("from the package") and generations == "12"


def test_a_core_of_another_source_is_not_taken(package: Path) -> None:
    with (package / "assay/engine/native/core/core.cpp").open("a") as source:
        source.write("\n")
    assert "there is no C++ compiler" in python(package, FIND).stderr


def test_a_core_that_does_not_load_here_is_not_taken(package: Path) -> None:
    brought(package).write_bytes(b"needs another C library")
    assert "there is no C++ compiler" in python(package, FIND).stderr


def test_who_names_flags_gets_what_they_make(package: Path) -> None:
    assert "there is no C++ compiler" in python(package, FIND, **{build.FLAGS: "-g"}).stderr


def test_who_names_a_compiler_gets_what_it_makes(package: Path) -> None:
    assert "CXX=not-there" in python(package, FIND, CXX="not-there").stderr
