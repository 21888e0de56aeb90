"""The program that runs programs step by step, and reports which of their steps fail.

It reads `[TOGETHER, [[STEPS, NAMES], ...]]`. Each step runs behind the steps before it, in one namespace for each
program; a step that fails leaves what it did until then. A report is a line of JSON to the reply for each step,
`[number of the program, whether it ran, names that it reads, names that it binds, whether it is plain]`, and at last
`[number, values]`: the whole number that each of the names stands for, None where it stands for another thing.

Programs that run together are plain: they consist of assignments of sums, products and the like, so that none can
reach another, the reports or the machine. One that is not is left, `[number, null]`, and its reader runs it alone. A
program that runs alone may do all that a process of the sandbox may, and deceives itself alone.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import warnings

LARGEST = 1 << 64  # in size, of numbers of programs that run together
LONGEST_NAME = 40  # characters
MOST_NAMES = 16  # that a report says of a step
_CALLED = ("abs", "int", "max", "min", "print", "sum")
_STATEMENTS = (ast.Module, ast.Assign, ast.AugAssign, ast.Expr)
_EXPRESSIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Load, ast.Store)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.unaryop, ast.boolop, ast.cmpop)


def main() -> None:
    together, programs = json.loads(sys.stdin.read())
    warnings.simplefilter("ignore")
    replies = os.dup(3)
    for number, (steps, names) in enumerate(programs):
        _program(replies, number, steps, names, together)


def _program(replies: int, number: int, steps: list, names: list, together: bool) -> None:
    """Runs a program and reports of it."""
    namespace = {"__builtins__": builtins}
    for step in steps:
        tree = _parsed(step)
        plain = tree is not None and all(map(_is_plain, ast.walk(tree)))
        if together and not (plain or tree is None):
            _tell(replies, [number, None])
            return
        ran = tree is not None and _ran(tree, namespace)
        reads, binds = ([], []) if tree is None else (_names(tree, ast.Load), _names(tree, ast.Store))
        if together and not all(_is_small(namespace.get(name, 0)) for name in binds):
            _tell(replies, [number, None])
            return
        _tell(replies, [number, ran, reads, binds, plain])
    values = [namespace.get(name) for name in names]
    _tell(replies, [number, [value if type(value) is int and abs(value) < LARGEST else None for value in values]])


def _parsed(step: str) -> ast.Module | None:
    try:
        return ast.parse(step, "step", "exec")
    except Exception:  # what it says is no Python, whatever the parser calls that
        return None


def _is_plain(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return _is_small(node.value)
    if isinstance(node, ast.Name):
        return not node.id.startswith("__")
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _CALLED and not node.keywords
    if isinstance(node, ast.Assign):
        return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name)
    return isinstance(node, _STATEMENTS + _EXPRESSIONS + _OPERATORS)


def _is_small(value: object) -> bool:
    return isinstance(value, int) and type(value) in (int, bool) and abs(value) < LARGEST


def _ran(tree: ast.Module, namespace: dict) -> bool:
    try:
        exec(compile(tree, "step", "exec", dont_inherit=True), namespace)
    except BaseException:  # a step may raise anything, also the end of the program
        return False
    return True


def _names(tree: ast.Module, context: type) -> list[str]:
    """The names in this step that are read, or that it binds; some, if there are very many."""
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and type(node.ctx) is context:
            found[node.id] = None
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = None  # it is read and bound
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and context is ast.Store:
            found[node.name] = None
        elif isinstance(node, ast.alias) and context is ast.Store:
            found[(node.asname or node.name).partition(".")[0]] = None
    return [name for name in found if len(name) <= LONGEST_NAME][:MOST_NAMES]


def _tell(replies: int, line: list) -> None:
    data = json.dumps(line).encode() + b"\n"
    while data:
        data = data[os.write(replies, data) :]


def source() -> bytes:
    """This program, to be run as the main module of a sandbox."""
    with open(__file__, "rb") as file:  # noqa: PTH123
        return file.read() + b"\nmain()\n"
