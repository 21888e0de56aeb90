"""A method is deleted by deleting its folders and its line, and what data say of it: other names, its mutants. One from
which others start is missed by name. A method is added by writing its files and its line: the two of docs/method.md.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from drawn import BEST_KNOWN, source
from small_runs import ROOT

import examples
from assay.known import LIKES, METHOD_OF
from assay.lab import papers
from assay.methods import METHODS

COPIED = (
    *(
        "assay",
        "tests",
        "bench",
        "docs",
        "examples",
        ".ci",
        ".gitignore",
        "pyproject.toml",
        "constraints.txt",
        "Makefile",
    ),
    *("hatch_build.py", "LICENSE", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"),
)
NAMES = "tests/data/paper_names.txt"
DATA = ("assay/lab/papers.toml", "tests/data/equivalent_mutants.toml")  # a line for each name, or each mutant
LISTED = re.compile(r"recipes = \[([^]]*)\]")
PLACES = ("assay/methods/*/{}", "assay/methods/*/{}.py", "tests/methods/*/{}", "bench/{}.py", "bench/studies/{}.py")
STUDIES = ("bench/studies/{}", "bench/studies/{}.toml")
SHORT = {recipe: method.rpartition(".")[2] for recipe, method in METHOD_OF.items()}
STARTED_FROM = {SHORT[like.like] for name, like in LIKES.items() if SHORT[like.like] != SHORT[name]}


def drawn(count: int) -> list[str]:
    """Methods from which no other starts, and not the best known; which ones, changes with the commit."""
    kept = STARTED_FROM | {SHORT[name] for name in BEST_KNOWN}
    free = sorted({name for names in METHODS.values() for name in names} - kept)
    return random.Random(source()).sample(free, count)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("runs", "built"))
        else:
            shutil.copy2(ROOT / name, tmp_path / name)
    return tmp_path


def delete(tree: Path, method: str) -> None:
    places = [*(place.format(method) for place in PLACES), *(one.format(method.replace("_", "-")) for one in STUDIES)]
    places += [f"assay/lab/releases/{recipe}.toml" for recipe, of in SHORT.items() if of == method]
    found = [path for place in places for path in tree.glob(place)]
    assert found, method
    for path in found:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    group = next(group for group, names in METHODS.items() if method in names)
    recipes = [recipe for recipe, of in SHORT.items() if of == method]
    begins = (*(f"{recipe} = " for recipe in recipes), f'"assay/methods/{group}/{method}')
    known = {
        name
        for recipe in recipes
        for paper in papers.find(recipe)
        if recipe in paper.recipes
        for name in paper.known_as
    }
    for data in DATA:
        lines = (tree / data).read_text().splitlines(keepends=True)
        left = "".join(line for line in lines if not line.startswith(begins))
        (tree / data).write_text(LISTED.sub(lambda found: _without(found[1], recipes), left))
    for data in (tree / "assay" / "run" / "foreign").glob("*.toml"):  # losses and estimators of other trainers
        lines = data.read_text().splitlines(keepends=True)
        named = [f'recipe = "{recipe}"' for recipe in recipes]
        data.write_text("".join(line for line in lines if not any(name in line for name in named)))
    lines = (tree / NAMES).read_text().splitlines(keepends=True)
    plain = {name.casefold() for name in known}
    (tree / NAMES).write_text("".join(line for line in lines if line.strip().casefold() not in plain))
    listed = tree / "assay" / "methods" / group / "__init__.py"
    lines = listed.read_text().splitlines(keepends=True)
    kept = [line for line in lines if line.strip() != f'"{method}",']
    assert len(kept) == len(lines) - 1
    listed.write_text("".join(kept))


def _without(listed: str, recipes: Sequence[str]) -> str:
    """The recipes of another paper, of which some are gone."""
    left = [written for written in listed.split(", ") if written.strip('"') not in recipes]
    return f"recipes = [{', '.join(left)}]"


def run(tree: Path, arguments: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    """Bytecode comes along and is kept: half of the time would go to compiling."""
    environment = os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""} | more
    line = [sys.executable, "-m", *arguments]
    return subprocess.run(line, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def exchanged(tree: Path, count: int) -> list[str]:
    """Deletes so many methods that the commit draws, adds those of the manual, and prints what is printed from the
    records anew.
    """
    methods = drawn(count)
    for method in methods:
        delete(tree, method)
    examples.written(tree)
    gone = {recipe for recipe, method in SHORT.items() if method in methods}
    listed = run(tree, ["assay", "list", "recipes", "--json"])
    assert listed.returncode == 0, listed.stderr
    assert gone and {row["name"] for row in json.loads(listed.stdout)} == {*SHORT, *examples.WORKED} - gone
    new = " or ".join(f"[{name}]" for name in examples.WORKED)
    run(tree, [*PYTEST, "--all-recipes", "tests/test_configure.py", "-k", new], ASSAY_WRITE_GOLDEN="1")
    pages = sorted(str(page.relative_to(tree)) for page in (tree / "docs").glob("*.md"))
    assert run(tree, ["assay.lab.pages", *pages]).returncode == 0
    run(tree, [*PYTEST, "tests/test_method_page.py", "-k", "tables"], ASSAY_WRITE_DOCS="1")
    return methods


IGNORED = (
    *("--ignore=tests/methods", "--ignore=tests/bench", "--ignore=tests/test_deleting.py"),
    "--ignore=tests/test_composing.py",
)
"""Of methods, studies that may have an arm that is gone, this file, and the count of the methods that share a part."""
NEW = tuple(sorted({str(Path(path).parent) for path in examples.FILES if path.startswith("tests/")}))
PYTEST = ("pytest", "-q", "-p", "no:cacheprovider")
FAST = (  # the tests that read what methods say, without those that go over recipes and profiles
    *("tests/ask", "tests/curate", "tests/objective/test_oracles.py", "tests/objective/test_objective.py"),
    *("tests/reward/test_no_judgement.py", "tests/lab/test_papers.py", "tests/lab/test_part_card.py"),
    *("tests/lab/test_blueprint.py", "tests/run/test_prompt_lengths.py", "tests/run/test_run_trust.py"),
    *("tests/test_rooms.py", "tests/test_names.py", "tests/test_empty_hooks.py", "tests/test_former_names.py"),
)


@pytest.mark.slow
def test_a_method_leaves_nothing_behind_and_two_new_ones_need_nothing_else(copy: Path) -> None:
    methods = exchanged(copy, 1)
    quick = ("-m", "not deep and not slow and not scale", "--hypothesis-profile=fast")
    told = run(copy, [*PYTEST, *quick, *FAST, *NEW])
    assert told.returncode == 0, f"{methods}: {told.stdout[-5000:]}"


@pytest.mark.deep
def test_the_shared_tests_pass_without_five_methods_and_with_two_new_ones(copy: Path) -> None:
    """The new ones are drawn in every test that draws recipes, as a commit that adds them would have it."""
    methods = exchanged(copy, 5)
    told = run(copy, [*PYTEST, "-n", "2", "-m", "not deep and not scale", *IGNORED, *NEW, "tests"])
    assert told.returncode == 0, f"{methods}: {told.stdout[-9000:]}"


@pytest.mark.slow
def test_a_method_from_which_others_start_is_missed_by_their_names(copy: Path) -> None:
    delete(copy, "grpo")
    found = run(copy, ["assay", "list", "recipes"])
    others = sorted(name for name, like in LIKES.items() if like.like == "grpo")
    assert found.returncode != 0 and others
    said = found.stderr.strip().splitlines()[-1]
    assert f"there is no recipe 'grpo', and others start from it: {', '.join(others)}. Delete these too" in said
