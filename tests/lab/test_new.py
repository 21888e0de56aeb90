"""`assay new`: what it writes is installed, linted, tested and trained as it was written; what it refuses."""

from __future__ import annotations

import json
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest
from copies import contents, copy_of_the_repository, lint, python, touched
from small_runs import ROOT, Shell

from assay.known import SLOTS
from assay.lab import new
from assay.methods import METHODS

NAME = "soft-edge"
KINDS = ("method", "task", "world", "reward")
FILES = {
    "method": (
        *("pyproject.toml", "README.md", "soft_edge/__init__.py", "soft_edge/gate.py"),
        *("tests/test_soft_edge.py", "tests/test_soft_edge_gate.py"),
    ),
    "task": ("pyproject.toml", "README.md", "soft_edge/__init__.py", "tests/test_soft_edge.py"),
    "world": ("pyproject.toml", "README.md", "soft_edge/__init__.py", "tests/test_soft_edge.py"),
    "reward": ("soft_edge.py", "test_soft_edge.py"),
}
RUN = """
import runpy, site, sys

site.addsitedir(sys.argv.pop(1))
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def made(shell: Shell, *arguments: object) -> dict[str, Any]:
    reply = shell("new", *arguments, "--json")
    assert reply.code == 0, reply.err
    return reply.document


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_named(kind: str, shell: Shell, tmp_path: Path) -> None:
    found = made(shell, kind, NAME, "--dir", tmp_path)
    root = tmp_path if kind == "reward" else tmp_path / NAME
    assert sorted(found["files"]) == sorted(str(root / name) for name in FILES[kind])
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert sorted(map(str, written)) == sorted(found["files"])
    assert found["changed"] == [] and set(found["fill_in"]) <= set(found["files"])
    text = "".join(path.read_text() for path in written)
    assert f"my_{kind}" not in text and f"My{kind.capitalize()}" not in text and "templates" not in text
    assert "Fill in" in text and any("pytest" in line for line in found["next"])
    told = shell("new", kind, f"{NAME}-2", "--dir", tmp_path).out
    assert "wrote" in told and "pytest" in told


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["method", "task", "world"])
def test_a_package_is_linted_installed_tested_and_trained_as_it_is(kind: str, shell: Shell, tmp_path: Path) -> None:
    made(shell, kind, NAME, "--dir", tmp_path)
    package, prefix = tmp_path / NAME, tmp_path / "prefix"
    lint(package)
    install = ["pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "--prefix", str(prefix)]
    python("-m", *install, "-e", str(package), place=tmp_path)
    site = sysconfig.get_path("purelib", vars={"base": str(prefix), "platbase": str(prefix)})
    tested = python("-c", RUN, site, "pytest", "-q", "-p", "no:cacheprovider", str(package), place=tmp_path)
    assert "passed" in tested and "skipped" not in tested
    name = f"gate:{NAME}" if kind == "method" else NAME
    shown = json.loads(python("-c", RUN, site, "assay", "show", name, "--json", place=tmp_path))
    assert shown["name"] == name


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_reward_is_linted_tested_and_trained_with_as_it_is(shell: Shell, tmp_path: Path) -> None:
    made(shell, "reward", NAME, "--dir", tmp_path)
    (tmp_path / "ruff.toml").write_text('line-length = 120\nlint.select = ["E", "F", "I", "UP", "B"]\n')
    lint(tmp_path)
    assert "3 passed" in python("-m", "pytest", "-q", "-p", "no:cacheprovider", ".", place=tmp_path)


@pytest.mark.turns(3)
@pytest.mark.slow
def test_in_a_checkout_a_method_is_two_folders_and_one_line(tmp_path: Path) -> None:
    """And `make method` records its values, finds its tests green, and asks for what only a person can write."""
    copy = copy_of_the_repository(tmp_path)
    before = contents(copy)
    group = list(METHODS)[-1]
    arguments = ["-m", "assay", "new", "method", NAME, "--group", group, "--json"]
    found = json.loads(python(*arguments, place=copy, path=copy))
    after = contents(copy)
    assert {str(path) for path in after.keys() - before.keys()} == set(found["files"])
    folders = {path.parent for path in after.keys() - before.keys()}
    listing = new.listing_of(group, Path())
    assert folders == {listing.parent / "soft_edge", Path("tests/methods") / group / "soft_edge"}
    assert touched(before, after) == {listing: ['+     "soft_edge",']}

    lint(copy, *found["files"], str(listing))
    shutil.copy(ROOT / "CHANGELOG.md", copy)
    told = python("tests/made.py", NAME, place=copy, path=copy, must=False)
    assert (copy / f"tests/methods/{group}/soft_edge/{NAME}.txt").is_file()
    lacks = told.partition("missing, ")[2].splitlines()[1:]
    wanted = [f"{path}: " for path in found["fill_in"] if "fill in" in (copy / path).read_text().lower()]
    assert [line.strip().split(": ")[0] + ": " for line in lacks] == [*wanted, "CHANGELOG.md: "], told


@pytest.mark.deep
def test_a_method_for_every_slot_passes_its_tests_and_those_of_all_recipes(tmp_path: Path) -> None:
    copy = copy_of_the_repository(tmp_path)
    names = {slot: f"soft-{slot}" for slot in SLOTS}
    for slot, name in names.items():
        python("-m", "assay", "new", "method", name, "--slot", slot, place=copy, path=copy)
    lint(copy, "assay/methods", "tests/methods")
    named = " or ".join(f"[{name}]" for name in names.values())
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--all-recipes", "-k", named]
    recorded = [*tests, "tests/test_configure.py"]
    python(*recorded, place=copy, path=copy, must=False, ASSAY_WRITE_GOLDEN="1")
    for wanted in (recorded, [*tests, "tests/objective"], [*tests[:-2], *own_tests(copy)]):
        assert "passed" in python(*wanted, place=copy, path=copy)


def own_tests(copy: Path) -> list[str]:
    return sorted(str(path.relative_to(copy)) for path in copy.glob("tests/methods/*/soft_*"))


def test_a_slot_is_one_of_a_recipe_and_of_a_method_alone(shell: Shell, tmp_path: Path) -> None:
    assert set(new.PLACES) == set(SLOTS)
    reply = shell("new", "method", NAME, "--slot", "gait", "--dir", tmp_path, "--json")
    assert (
        reply.code == 2 and "no slot named 'gait'" in reply.document["message"] and "gate" in reply.document["message"]
    )
    reply = shell("new", "task", NAME, "--slot", "gate", "--dir", tmp_path, "--json")
    assert reply.code == 2 and "--slot is for a method" in reply.document["message"]
    assert not list(tmp_path.iterdir())


TAKEN = {
    "method grpo": "'grpo' is a recipe of assay.methods.baselines.grpo",
    "method dr_grpo": "'dr-grpo' is a recipe of assay.methods.baselines.dr_grpo",
    "method clip": "'gate:clip' is a part of assay.objective.gates",
    "method json": "Python imports the module 'json' from",
    "task countdown": "'countdown' is a task of assay.tasks.countdown",
    "task assay": "Python imports the module 'assay' from",
    "reward random": "Python imports the module 'random' from",
}


@pytest.mark.parametrize("line", TAKEN)
def test_a_name_that_is_taken_says_what_has_it(line: str, shell: Shell, tmp_path: Path) -> None:
    reply = shell("new", *line.split(), "--dir", tmp_path, "--json")
    assert reply.code == 78 and TAKEN[line] in reply.document["message"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["Soft", "2fast", "a b", "a/b", "../a", "class", "a--b", "ä", "_a", "a-"])
def test_a_name_that_cannot_be_one_is_refused(name: str, shell: Shell, tmp_path: Path) -> None:
    reply = shell("new", "method", name, "--dir", tmp_path, "--json")
    assert reply.code == 2 and "expected lower-case words" in reply.document["message"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_over(kind: str, shell: Shell, tmp_path: Path) -> None:
    made(shell, kind, NAME, "--dir", tmp_path)
    before = contents(tmp_path)
    reply = shell("new", kind, NAME, "--dir", tmp_path, "--json")
    assert reply.code == 74 and "is there already" in reply.document["message"]
    assert contents(tmp_path) == before


def test_a_group_is_one_of_the_list_and_for_a_checkout_alone(shell: Shell, tmp_path: Path) -> None:
    reply = shell("new", "method", NAME, "--group", next(iter(METHODS)), "--dir", tmp_path, "--json")
    assert reply.code == 2 and "is for a method in a checkout" in reply.document["message"]
    (tmp_path / new.METHODS).mkdir(parents=True)
    reply = shell("new", "method", NAME, "--group", "groop", "--dir", tmp_path, "--json")
    assert reply.code == 2 and "no group named 'groop'" in reply.document["message"]
    assert not contents(tmp_path)


def test_the_line_stands_at_the_end_of_its_group() -> None:
    for group, names in METHODS.items():
        changed, line = new._with_line(new.listing_of(group, ROOT).read_text(), "soft_edge")
        assert line == '"soft_edge",'
        found: dict[str, Any] = {}
        exec(changed, found)
        assert found["METHODS"] == (*names, "soft_edge")
