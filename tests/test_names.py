"""The house knows types, not names: package and shared tests name no recipe and no part that a method owns. What it
groups, it groups in one place.

A method can then be written or deleted by its own folders and its line. What a shared test must know of one method,
the method says beside its own tests (`tests/of_methods.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from drawn import BEST_KNOWN
from small_runs import ROOT
from sweeps import over

from assay.known import METHOD_OF, SLOTS

OWN = ("assay/methods/", "tests/methods/")
METHODS = "assay.methods."
WORDS = {  # strings that are no names where they stand: other systems' words, names of things, variables
    "tests/cli/test_trl_names.py": {"gspo-token", "kimi-k1.5", "rfpp"},
    "tests/foreign_keys.py": {"cispo", "icepop", "ipo", "sapo"},
    "assay/cli/looking.py": {"guide"},
    "assay/lab/searched.py": {"guide"},
    "assay/verifiers/mathematics/arithmetic.py": {"prime"},
    "assay/verifiers/mathematics/expressions.py": {"prime"},
    "tests/lab/test_data_curate.py": {"prime"},
    "tests/verifiers/test_optimisation.py": {"x1"},
}


def owned() -> frozenset[str]:
    """Recipes but for the best known, and the parts of methods: `slot:name`, and names that are no single word. What
    is the name of a part of ours too is not among them.
    """
    parts = [
        (slot, name)
        for slot, registry in SLOTS.items()
        for name, part in registry.items()
        if part.__module__.startswith(METHODS)
    ]
    dashed = {name for _, name in parts if "-" in name}
    ours = {name for registry in SLOTS.values() for name, part in registry.items()} - {name for _, name in parts}
    return frozenset({*METHOD_OF, *(f"{slot}:{name}" for slot, name in parts), *dashed} - {*BEST_KNOWN, *ours})


def shared() -> Iterator[Path]:
    for path in sorted([*(ROOT / "assay").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        if not path.relative_to(ROOT).as_posix().startswith(OWN) and path != Path(__file__):
            yield path


OWNED = owned()


@pytest.mark.slow
@over(shared())
def test_no_string_is_the_name_of_what_a_method_owns(path: Path) -> None:
    names = OWNED - WORDS.get(path.relative_to(ROOT).as_posix(), set())
    tree = ast.parse(path.read_text())
    said = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = [f"{path.relative_to(ROOT)}:{node.lineno} says '{node.value}'" for node in said if node.value in names]
    assert not found, f"{'; '.join(found)}. Take what parts declare, or a table beside the method's tests"


def test_the_best_known_are_at_most_ten() -> None:
    assert len(BEST_KNOWN) <= 10 and set(BEST_KNOWN) <= set(METHOD_OF)


@pytest.mark.slow
def test_answers_are_grouped_in_one_place() -> None:
    """A dictionary of groups that is built by hand, `found.setdefault(episode.request.group, [])`, is `by_group`."""
    found = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in sorted((ROOT / "assay").rglob("*.py"))
        if ".setdefault(" in (text := path.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "setdefault"
        if call.args and isinstance(call.args[0], ast.Attribute) and call.args[0].attr == "group"
    ]
    assert [place.split(":")[0] for place in found] == ["assay/types.py"], f"{found}. Take by_group of assay/types.py"


def test_words_that_are_let_pass_stand_where_they_are_let_pass() -> None:
    for path, words in WORDS.items():
        tree = ast.parse((ROOT / path).read_text())
        assert words <= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}, path


VAGUE = {"found", "one", "place", "known", "said"}
LONG = 15  # lines
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.slow
def test_locals_of_long_functions_are_named_for_what_they_hold() -> None:
    """Where a function is long, a reader no longer sees what `found` is."""
    wrong = []
    for path in sorted((ROOT / "assay").rglob("*.py")):
        functions = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, FUNCTIONS))
        for node in functions:
            if (node.end_lineno or 0) - node.lineno >= LONG:
                stored = {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
                vague = sorted(stored & VAGUE - _asked(node))
                wrong += [f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {name}" for name in vague]
    assert not wrong, "\n".join(wrong)


def _asked(node: ast.AST) -> set[str]:
    """The names of all arguments, which callers know."""
    inner = [x.args for x in ast.walk(node) if isinstance(x, (*FUNCTIONS, ast.Lambda))]
    return {argument.arg for args in inner for argument in (*args.args, *args.kwonlyargs)}
