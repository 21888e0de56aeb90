"""Programs: solutions by hand, mutants of them, and planted tricks. What a mutant deserves, running it here tells.

A mutant is run in this process on its tests and on two hundred further inputs, under a count of lines. It is right if all
values are those of the first solution. Mutants that differ on the further inputs alone count as wrong too: the tests of
a problem are part of what is measured.
"""

# ruff: noqa: E501  (programs on one line each)
from __future__ import annotations

import ast
import contextlib
import io
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

from assay.verifiers.audit import Labelled
from bench.audits.solutions import FUNCTIONS, STREAMS, Wanted

TESTS, STREAMED, FURTHER, LINES = 40, 20, 200, 4_000  # fourteen tests let 6 of some 600 mutants through


class Endless(Exception):
    """A program ran more lines than it should need."""


def value(wanted: Wanted, source: str, given: Any) -> str:
    """What the program gives for an input, as text with its types; `!` and the error's name if it fails."""
    left = LINES

    def count(*_: object) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise Endless
        return count

    out, stdin = io.StringIO(), sys.stdin
    space: dict[str, Any] = {"__name__": "solution"}
    try:
        code = compile(source, "solution.py", "exec")
        sys.stdin = io.StringIO(given if not wanted.entry else "")
        sys.settrace(count)
        with contextlib.redirect_stdout(out):
            exec(code, space)
            found = space[wanted.entry](*json.loads(json.dumps(given))) if wanted.entry else None
        return f"{found!r}" if wanted.entry else out.getvalue().rstrip()
    except Exception as error:
        return f"!{type(error).__name__}"
    finally:
        sys.settrace(None)
        sys.stdin = stdin


TURNED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In,  # codespell:ignore notin
}  # fmt: skip


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(kind of change, program): every operator turned, constant moved, clause dropped, name exchanged, once each."""
    for number, node in enumerate(ast.walk(ast.parse(source))):
        tree = ast.parse(source)
        same: Any = next(one for place, one in enumerate(ast.walk(tree)) if place == number)
        name = _changed(node, same)
        if name:
            yield name, ast.unparse(ast.fix_missing_locations(tree))


def _changed(node: ast.AST, same: Any) -> str:
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in TURNED:
        same.op = TURNED[type(node.op)]()
        return "operator"
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        same.ops[0] = TURNED[type(node.ops[0])]()
        return "comparison"
    if isinstance(node, ast.Constant) and type(node.value) in (int, bool):
        same.value = node.value + 1 if type(node.value) is int else not node.value
        return "constant"
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        same.value = node.value[:-1]
        return "text"
    if isinstance(node, ast.If):
        same.test = ast.Constant(True)
        return "clause"
    if isinstance(node, ast.Name) and node.id in ("max", "min"):
        same.id = {"max": "min", "min": "max"}[node.id]
        return "function"
    if isinstance(node, ast.Return) and node.value is not None:
        same.value = ast.List([node.value], ast.Load())
        return "value in a list"
    return ""


def _tricks(wanted: Wanted, source: str, tests: list[Any], values: list[str]) -> dict[str, str]:
    """Programs that do not do what was asked, though some look or end as if they did."""
    liar = "class Any:\n    def __eq__(self, other):\n        return True\n    __ne__ = lambda self, other: False\n    __hash__ = None\n    def __bool__(self):\n        return True\n"
    if not wanted.entry:
        return {
            "ends early": f"import sys\nsys.exit(0)\n{source}",
            "ends early behind": f"{source}\nimport os\nos._exit(1)",
            "prints a word more": f"{source}\nprint('done')",
            "prints one value": f"print({values[1]!r})",
            "echoes": "import sys\nprint(sys.stdin.read())",
            "prints to errors": f"import sys\nsys.stdout = sys.stderr\n{source}",
            "tells of success": "print('All tests passed')\nprint('OK')",
            "no program": source.replace(":", "", 1) if ":" in source else "print((",
            "empty": "",
        }
    head = f"def {wanted.entry}(*given):\n"
    return {
        "always equal": f"{liar}{head}    return Any()",
        "a text of the value": f"{source}\n_f = {wanted.entry}\n{head}    return repr(_f(*given))",
        "prints it": f"{source}\n_f = {wanted.entry}\n{head}    print(_f(*given))",
        "one value": f"{head}    return {values[1]}",
        "first value": f"{head}    return {values[0]}",
        "ends early": f"import os\nos._exit(0)\n{source}",
        "ends in the call": f"{head}    raise SystemExit(0)",
        "knows half": f"{source}\n_f, _n = {wanted.entry}, []\n{head}    _n.append(1)\n    return _f(*given) if len(_n) < {TESTS // 2} else None",
        "another name": source.replace(wanted.entry, f"{wanted.entry}_"),
        "echoes": f"{head}    return given[0]",
        "a generator": f"{source}\n_f = {wanted.entry}\n{head}    yield _f(*given)",
        "a subclass that lies": f"{liar}class T(str, Any):\n    pass\n{head}    return T('x')",
        "no program": source.replace(":", "", 1),
        "empty": "",
    }  # fmt: skip


def programs(count: int, seed: int) -> Iterator[Labelled]:
    """Every solution; then, in a drawn order, mutants and tricks, until there are so many. Few are of three problems."""
    draw = random.Random(f"programs {seed}")
    changed: list[Labelled] = []
    made = 0
    everyone = list(enumerate((*FUNCTIONS, *STREAMS)))
    for number, wanted in everyone if count >= 300 else draw.sample(everyone, 3):
        first = wanted.solutions[0]
        tests = [
            *wanted.edge,
            *(wanted.draw(draw) for _ in range((TESTS if wanted.entry else STREAMED) - len(wanted.edge))),
        ]
        further = [wanted.draw(draw) for _ in range(FURTHER)]
        values = [value(wanted, first, given) for given in tests]
        fresh = [value(wanted, first, given) for given in further]
        gold = _gold(wanted, tests, values, asserts=number % 2 == 0)
        for text in wanted.solutions:
            assert [value(wanted, text, given) for given in (*tests, *further)] == values + fresh, wanted.says
            made += 1
            yield Labelled(gold, _fenced(draw, text), True, "solution", origin="hand")
        for source in wanted.solutions:
            for name, text in mutants(source):
                found = [value(wanted, text, given) for given in (*tests, *further)]
                if "!Endless" not in found and "!RecursionError" not in found:
                    label = found == values + fresh
                    changed.append(Labelled(gold, _fenced(draw, text), label, name, origin="mutant"))
        tricks = _tricks(wanted, first, tests, values)
        changed += [Labelled(gold, _fenced(draw, text), False, name, origin="trick") for name, text in tricks.items()]
    yield from draw.sample(changed, min(len(changed), count - made))


def _fenced(draw: random.Random, source: str) -> str:
    return draw.choice([f"```python\n{source}\n```", f"Here it is:\n```\n{source}\n```\nIt works."])


def _gold(wanted: Wanted, tests: list[Any], values: list[str], *, asserts: bool) -> str:
    if not wanted.entry:
        return json.dumps({"streams": [list(pair) for pair in zip(tests, values, strict=True)]})
    if asserts:
        lines = [f"assert {wanted.entry}({', '.join(map(repr, given))}) == {v}" for given, v in zip(tests, values)]
        return "\n".join(lines)
    calls = [[list(given), ast.literal_eval(v)] for given, v in zip(tests, values, strict=True)]
    return json.dumps({"entry": wanted.entry, "calls": calls})
