"""What methods say of themselves for tests over all of them is read: a misspelt table would be read by nobody."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from of_methods import FOLDER, SAID

TESTS = FOLDER.parent
READING = re.compile(r"\b\w+\(\"([A-Z_]+)\"\)")  # said("BUSY"), or a function that says it on


def tables_of(path: Path) -> set[str]:
    """The tables that a file of a method says, without the values that it uses itself."""
    tree = ast.parse(path.read_text())
    assigned = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return {one.id for one in assigned if isinstance(one, ast.Name) and one.id.isupper()} - used


@pytest.fixture(scope="module")
def read() -> set[str]:
    """The tables that shared tests read."""
    shared = [path for path in TESTS.rglob("*.py") if FOLDER not in path.parents]
    return {table for path in shared for table in READING.findall(path.read_text())}


@pytest.mark.parametrize("path", SAID, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_table_of_a_method_is_read_by_a_shared_test(path: Path, read: set[str]) -> None:
    assert tables_of(path) <= read
