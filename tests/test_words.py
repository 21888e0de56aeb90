"""One word for one thing: the glossary names what exists, and what bears one of its names stands in one place.

Two modules may share a base name in one case, which is a seam: `cli/X.py` beside `lab/X.py`, a verb of the command line
and what it does. Folders are looked at as well: `assay/methods/judges` and `assay/verifiers/judges` hold one
thing, models that judge: how they are trained, and how they are asked.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import pytest
from rooms import PACKAGE, ROOT

CLASSES = (
    *("Base", "Batch", "Card", "Credit", "Engine", "Episode", "Gate", "Grade", "Group", "Judge", "Memory"),
    *("Node", "Origin", "Part", "Problem", "Prompt", "Ratio", "Recipe", "Request", "Reward", "Row", "Run"),
    *("Scale", "Segment", "Stage", "Step", "Stream", "Table", "Task", "Term", "Verdict", "Verifier"),
)
MODULES = ("bank", "banks", "grader", "judge", "judges", "known", "run", "scorer", "table", "verdict", "verdicts")
SEAMS = (("cli", "lab"), ("methods", "verifiers"))  # rooms in which one base name is one thing, seen from two sides
GLOSSARY = ROOT / "docs" / "glossary.md"
ENTRY = re.compile(r"^\| (?P<word>[a-z ]+) \| (?P<says>.+) \| (?:`(?P<name>[\w.]+)` in )?`(?P<path>assay/[\w/.]+)` \|$")
WORDS = {match["word"]: match for match in map(ENTRY.match, GLOSSARY.read_text().splitlines()) if match}


@functools.cache
def defined(path: Path) -> dict[str, set[str]]:
    """Name at the top of a file -> the names in its body if it is a class."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            inner = node.body if isinstance(node, ast.ClassDef) else []
            found[node.name] = {name for one in inner for name in _assigned(one)}
        else:
            found |= {name: set() for name in _assigned(node)}
    return found


def _assigned(node: ast.AST) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@functools.cache
def classes(path: Path) -> frozenset[str]:
    return frozenset(node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef))


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_a_word_of_the_loop_names_one_type(name: str) -> None:
    """A class that holds something else is a `StudyRun` or a `DatabaseTable`. An alias within a file may be short."""
    places = [path.relative_to(ROOT).as_posix() for path in sorted(PACKAGE.rglob("*.py")) if name in classes(path)]
    assert len(places) <= 1, f"{name} is defined in {', '.join(places)}: name each for what it holds"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_named_for_what_it_holds(name: str) -> None:
    places = defaultdict(list)
    for path in sorted([*PACKAGE.rglob(f"{name}.py"), *PACKAGE.rglob(f"{name}/__init__.py")]):
        place = path.relative_to(PACKAGE)
        places[next((seam for seam in SEAMS if place.parts[0] in seam), place)].append(place.as_posix())
    assert len(places) <= 1, f"{name} names {list(places.values())}"
    assert all(len(shared) <= 2 for shared in places.values()), places


def test_the_glossary_has_some_forty_words() -> None:
    rows = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("| ")]
    assert len(rows) == len(WORDS) + sum(line.startswith("| word ") for line in rows), "a row that cannot be read"
    assert 40 <= len(WORDS) <= 50


@pytest.mark.parametrize("word", WORDS)
def test_a_word_of_the_glossary_lives_where_it_says(word: str) -> None:
    entry = WORDS[word]
    path = ROOT / entry["path"]
    assert path.exists(), f"{word}: there is no {entry['path']}"
    if name := entry["name"]:
        names = defined(path / "__init__.py" if path.is_dir() else path)
        owner, _, field = name.partition(".")
        assert owner in names, f"{word}: {entry['path']} does not define {owner}"
        assert not field or field in names[owner], f"{word}: {owner} has no field {field}"


@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_said_with_its_subject_first(word: str) -> None:
    assert re.match(rf"(An? |The )?{word}\b", WORDS[word]["says"], re.IGNORECASE), WORDS[word]["says"]
