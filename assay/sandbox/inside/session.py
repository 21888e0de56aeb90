"""The program of a session: it runs one cell after another in one namespace, until its input ends.

A cell arrives as its length, 4 bytes, and its text. Behind each cell a line of JSON goes to the reply: its number, and
the last line of its error. What the cell printed stands on the two other streams. The value of a last line that is an
expression is printed, as an interpreter does.

Cells share this process, so they may write such lines too, or end it: whoever asks believes nothing that it says, and
a cell deceives its own session alone.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import traceback
import types

LONGEST_ERROR = 1000  # characters


def main() -> None:
    cells, replies = os.dup(0), os.dup(3)
    nothing, closed = os.pipe()
    os.dup2(nothing, 0)  # a cell that reads its input finds none
    os.close(nothing)
    os.close(closed)
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module  # what stands here is no name of a cell's
    number = 0
    while (head := _read(cells, 4)) is not None:
        source = _read(cells, int.from_bytes(head, "big"))
        if source is None:
            return
        number += 1
        error = _run(source.decode("utf-8", "replace"), module.__dict__)
        for stream in filter(None, (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)):
            try:
                stream.flush()
            except BaseException:  # the cell has closed or replaced it
                error = error or "OSError: what was printed is lost"
        line = json.dumps({"cell": number, "error": error[:LONGEST_ERROR]}).encode() + b"\n"
        if os.write(replies, line) != len(line):
            return


def _read(number: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = os.read(number, size - len(data))
        if not part:
            return None
        data += part
    return data


def _run(source: str, namespace: dict) -> str:
    """Runs a cell. The last line of its error; "" if there was none."""
    try:
        tree = ast.parse(source, "cell", "exec")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec", dont_inherit=True), namespace)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval", dont_inherit=True), namespace)
            if value is not None:
                sys.stdout.write(f"{value!r}\n")
    except BaseException as error:  # a cell may raise anything, also the end of the program
        return _line(error)
    return ""


def _line(error: BaseException) -> str:
    try:
        return traceback.format_exception_only(type(error), error)[-1].strip().replace("\n", " ")
    except BaseException:  # an error whose text is an error
        return type(error).__name__


def source() -> bytes:
    """This program, to be run as the main module of a sandbox."""
    with open(__file__, "rb") as file:  # noqa: PTH123
        return file.read() + b"\nmain()\n"
