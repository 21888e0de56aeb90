"""What a command imports, and what it leaves alone. How long that takes is measured by `bench.startup`."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from small_runs import program

from assay.known import PARTS
from assay.part_checks import misspelt

RUNNING = (
    "assay.assemble",
    "assay.loop",
    "assay.run.session",
    "assay.run.training",
    "assay.engine.local",
    "assay.run.bases",
)
JUDGING = (
    "assay.externals",
    "assay.sandbox",
    "assay.tasks.countdown",
    "assay.verifiers.judges.client",
    "assay.host.workers",
)
LIBRARIES = ("http.client", "ssl", "sqlite3", "ctypes.util", "concurrent.futures")
HEAVY = ("torch", "transformers", "pyarrow", "rich", "matplotlib", "tokenizers", "safetensors", "asyncio", "sympy")
CODE = """
import contextlib, io, json, sys
from assay.cli.main import main
with contextlib.redirect_stdout(io.StringIO()) as told:
    assert main({line!r}) == 0
json.dump([told.getvalue(), sorted(sys.modules)], sys.stdout)
"""


def imported(*line: str, **environment: str) -> tuple[str, set[str]]:
    """What a command printed, and the modules that it has imported."""
    done = program(["-c", CODE.format(line=list(line))], **environment)
    assert done.returncode == 0, done.stderr
    told, modules = json.loads(done.stdout)
    return told, set(modules)


@pytest.mark.slow
def test_help_imports_neither_a_method_nor_numpy() -> None:
    told, modules = imported("--help")
    assert "assay" in told and "list" in told
    assert not modules & {*HEAVY, "numpy", "assay.known", "assay.recipe", "assay.tasks"}


@pytest.mark.slow
def test_a_listing_of_recipes_imports_the_methods_once_and_never_what_runs_them(tmp_path: Path) -> None:
    told, modules = imported("list", "recipes", ASSAY_CACHE=str(tmp_path))
    assert "dr-grpo" in told and "assay.methods.baselines.grpo" in modules
    assert not modules & {*HEAVY, *RUNNING, *JUDGING, *LIBRARIES}
    again, modules = imported("list", "recipes", ASSAY_CACHE=str(tmp_path))
    assert again == told
    assert not modules & {*HEAVY, *RUNNING, *JUDGING, *LIBRARIES, "numpy", "assay.known", "assay.methods"}


@pytest.mark.parametrize("name", [*RUNNING, *JUDGING, *LIBRARIES, "assay.recipe", "assay.tasks"])
def test_what_must_not_be_imported_exists(name: str) -> None:
    assert importlib.util.find_spec(name) is not None


def test_the_function_of_every_part_can_be_called() -> None:
    """Looked at here and where a recipe is checked, not whenever the parts are imported."""
    parts = [part for kind in PARTS.values() for part in kind.values()]
    assert len(parts) > 150
    assert {part.__name__: problem for part in parts if (problem := misspelt(part))} == {}
