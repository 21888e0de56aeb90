"""Which way imports point: down, from room to room; phases know no method, and a method knows no other one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from rooms import FOR_TYPES, LAYERS, PAGE, arrows, circles, drawn, height, modules, room_of, statements
from small_runs import ROOT
from sweeps import over

from assay.known import GROUPS, LIKES, METHOD_OF, PARTS, RECIPES
from assay.methods import METHODS

PACKAGE = ROOT / "assay"
METHOD = "assay.methods."
KNOWS_METHODS = ("known.py", "methods/__init__.py")  # what there is by name; everybody else asks there
FILES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node, _ in statements(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif node.module:
            yield node.module


def method_in(path: Path) -> str:
    """Of a file of a method its name, else nothing."""
    parts = path.relative_to(PACKAGE).parts
    return (
        parts[2].removesuffix(".py") if parts[0] == "methods" and len(parts) > 2 and parts[2] != "__init__.py" else ""
    )


@pytest.mark.slow
@over(path for path in FILES if not method_in(path))
def test_nothing_but_the_list_of_names_imports_a_method(path: Path) -> None:
    found = [module for module in imported(path) if module.startswith("assay.methods")]
    assert not found or path.relative_to(PACKAGE).as_posix() in KNOWS_METHODS


@pytest.mark.slow
def test_no_method_imports_another() -> None:
    for path in filter(method_in, FILES):
        others = [m for m in imported(path) if m.startswith(METHOD) and m.split(".")[3] != method_in(path)]
        assert not others, f"{path.relative_to(ROOT)} imports {others}"


@pytest.mark.slow
def test_of_tests_and_benches_only_those_of_a_method_import_it() -> None:
    """Else they would fail when it is deleted."""
    for path in sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]):
        places = [*path.relative_to(ROOT).parts[:-1], path.stem]
        others = [m for m in imported(path) if m.startswith(METHOD) and m.split(".")[3] not in places]
        assert not others, f"{path.relative_to(ROOT)} imports {others}"


def test_tests_and_studies_of_methods_are_those_of_methods_that_there_are() -> None:
    listed = {f"{group}/{name}" for group, names in METHODS.items() for name in names}
    shared = {"__init__", "__main__", "bases", "servers"}  # of no method alone
    own = {path.stem for path in (ROOT / "bench" / "studies").glob("*.py")} - shared
    folder = ROOT / "tests" / "methods"
    tested = {str(path.relative_to(folder)) for path in folder.glob("*/[!_]*") if any(path.glob("*.*"))}
    assert tested == listed and own <= {name.partition("/")[2] for name in listed}


def test_every_method_has_its_line_and_every_line_its_method() -> None:
    listed = [name for names in METHODS.values() for name in names]
    assert sorted(listed) == sorted({method_in(path) for path in FILES} - {""})
    assert len(set(listed)) == len(listed)


def test_every_method_has_a_recipe_and_every_recipe_a_method() -> None:
    assert set(METHOD_OF) == set(RECIPES) and set(LIKES) <= set(RECIPES)
    assert set(METHOD_OF.values()) == {place for places in GROUPS.values() for place in places}


def test_a_part_of_a_method_is_used_by_no_other() -> None:
    """Of the parts that methods have of their own, none stands in the recipe of another method."""
    owner = {part: part.__module__.split(".")[3] for kind in PARTS.values() for part in kind.values()
             if part.__module__.startswith(METHOD)}  # fmt: skip
    from assay.part import parts_of

    for name, recipe in RECIPES.items():
        if name in LIKES:
            continue  # it may take over what the recipe has from which it starts
        mine = METHOD_OF[name].split(".")[3]
        used = {owner[type(part)] for part in parts_of((recipe.mechanism, recipe.stages)) if type(part) in owner}
        assert used <= {mine}, name


def test_every_room_has_its_layer() -> None:
    rooms = {room_of(module) for module in modules()} - {"", "__main__"}
    assert rooms == {room for layer in LAYERS for room in layer}
    assert sum(map(len, LAYERS)) == len(rooms), "a room stands in one layer"


@pytest.mark.slow
def test_no_arrow_runs_back_up() -> None:
    back = {f"{one} -> {two}": files for (one, two), files in arrows().items() if height(two) >= height(one)}
    assert not back, back


def test_no_files_of_a_room_import_each_other_in_a_circle() -> None:
    found = [", ".join(files) for files in circles()]
    assert not found, f"none of these files can be read without the others: {'; and '.join(found)}"


@pytest.mark.slow
def test_arrows_for_the_type_checker_that_run_back_up_are_few_and_explained() -> None:
    back = {(one, two) for one, two in arrows(typed=True) if height(two) >= height(one)}
    assert back == set(FOR_TYPES)


def test_the_package_shows_few_files_at_its_top() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 18


@pytest.mark.slow
def test_the_page_shows_the_rooms_as_they_are() -> None:
    page = PAGE.read_text()
    assert drawn(page) == page, "`python tests/rooms.py` draws them anew"
