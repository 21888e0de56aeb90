"""`make test-variants`: every variant is run or its absence explained, and a machine without a compiler is one."""

from __future__ import annotations

import os
import shutil

import pytest
from variants import COMPILERS, ENGINES, LEARNING, Machine, machines, path_without, tried

from assay.engine.native import build


def test_every_variant_is_a_machine_and_two_have_no_core() -> None:
    found = {machine.name: machine for machine in machines()}
    assert list(found) == [*(variant.name for variant in build.VARIANTS), "no compiler", "torch alone"]
    runnable = {variant.name for variant in build.runnable()}
    assert all((name in runnable) == (not found[name].missing) for name in (v.name for v in build.VARIANTS))
    assert all(machine.settings[build.CHOICE] in (name, "", "none") for name, machine in found.items())


def test_methods_and_learning_run_once_for_each_set_of_kernels() -> None:
    there = [machine for machine in machines() if not machine.missing]
    learns = [one for one in there if set(LEARNING) <= set(one.tests)]
    kernels = [one.settings["ATEN_CPU_CAPABILITY"] for one in learns]
    of_variants = kernels[:-1]
    assert learns[-1].name == "no compiler" and len(set(of_variants)) == len(of_variants)
    assert {one.settings["ATEN_CPU_CAPABILITY"] for one in there} == set(kernels)
    assert all(set(ENGINES) <= set(machine.tests) for machine in there)


def test_a_path_without_compilers_has_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(build.COMPILER, raising=False)
    with path_without(COMPILERS) as path:
        assert not any(shutil.which(name, path=path) for name in COMPILERS)
        assert shutil.which("sh", path=path) and shutil.which("env", path=path)
        monkeypatch.setenv("PATH", path)
        with pytest.raises(build.Unavailable, match=r"no C\+\+ compiler"):
            build.compiler()
    with path_without(()) as path:
        assert path == os.environ["PATH"]


def test_what_cannot_be_run_is_said_and_fails_nothing() -> None:
    assert tried(Machine("abacus", missing="this processor has no beads"), []) == (
        "not run: this processor has no beads",
        True,
    )
