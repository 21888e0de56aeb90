"""The rooms of the package, and the arrows between them: who imports whom. `python tests/rooms.py` draws the page anew.

A room is a folder of `assay`, or one of the files directly below it. An arrow is an import that the running program
makes, wherever in the file it stands. What only a type checker imports is told apart.

A circle is a set of files of one room that all reach each other by such imports, so that none can be read, moved or
tested without the others. The file of a folder is its `__init__.py`: it stands on a circle if it imports a file that
imports it by name. That Python runs `__init__.py` before any file of the folder does not count, because then every
folder that shows its contents would be a circle.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "assay"
PAGE = ROOT / "docs" / "design.md"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "light", "prompt", "rng", "scale", "streams"),
    ("types", "host"),
    ("externals", "sandbox"),
    ("part", "policy", "verifiers", "worlds"),
    ("part_checks",),
    ("engine", "tasks"),
    ("models",),
    ("memory",),
    ("curate",),
    ("source", "ask", "reward", "credit"),
    ("objective",),
    ("collect", "forwards", "stages", "record"),
    ("recipe", "scoring"),
    ("assemble", "methods", "view"),
    ("known", "loop"),
    ("run",),
    ("lab", "planner"),
    ("api",),
    ("cli",),
)
"""From the ground up: a room imports from rooms of lower layers, and from nothing else."""

FOR_TYPES = {
    ("part", "ask"): "a part may be asked how long it makes a prompt, in tokens of a codec",
    ("part", "recipe"): "a part may be asked whether it can work beside the others of a mechanism",
    ("part", "source"): "a source may be asked whether it can draw from a pool",
    ("stages", "assemble"): "a stage is entered by what its phases were assembled to",
    ("prompt", "types"): "a prompt is made of the question of a problem",
    ("record", "run"): "a tracker is told what the run was configured to be",
}
"""Arrows that run back up for the type checker alone, each with its reason."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str) -> str:
    """The first name below `assay`; the package itself and `python -m assay` stand at the door, in no room."""
    return module.split(".")[1] if "." in module else ""


@functools.cache
def statements(path: Path) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """(statement, whether only a type checker reads it) for each import of a file."""
    tree = ast.parse(path.read_text())
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    return tuple((node, id(node) in typed) for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[str, bool]]:
    """(module of the package, whether only a type checker imports it) for each import of a file."""
    for node, typed in statements(path):
        if isinstance(node, ast.Import):
            yield from ((name.name, typed) for name in node.names if name.name.split(".")[0] == "assay")
        elif node.module and node.module.split(".")[0] == "assay":
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                yield (whole if whole in known else node.module), typed


def arrows(*, typed: bool = False) -> dict[tuple[str, str], list[str]]:
    """The arrows between rooms, each with the files that make it; `typed`: those of the type checker instead."""
    known = modules()
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, path in known.items():
        for other, for_types in imports(path, known):
            one, two = room_of(module), room_of(other)
            if one and two and one != two and "__main__" not in (one, two) and for_types == typed:
                found[one, two].append(f"{path.relative_to(ROOT)} imports {other}")
    return dict(found)


def circles() -> list[list[str]]:
    """The files of each circle inside a room, as module names."""
    known = modules()
    beside: dict[str, set[str]] = {module: set() for module in known}
    for module, path in known.items():
        for other, for_types in imports(path, known):
            if not for_types and other in known and room_of(other) == room_of(module):
                beside[module].add(other)
    reached = {module: _reached(module, beside) for module in known}
    found = {tuple(sorted(o for o in reached[m] if m in reached[o])) for m in known if m in reached[m]}
    return [list(files) for files in sorted(found) if len(files) > 1]


def _reached(start: str, beside: dict[str, set[str]]) -> set[str]:
    """The modules that imports lead to; with `start` itself only if they lead back to it."""
    seen: set[str] = set()
    ahead = list(beside[start])
    while ahead:
        if (module := ahead.pop()) not in seen:
            seen.add(module)
            ahead += beside[module]
    return seen


def height(room: str) -> int:
    """The layer of a room, counted from the ground."""
    return next(number for number, layer in enumerate(LAYERS) if room in layer)


def about(room: str) -> str:
    """What a room is for, in the first sentence of its docstring."""
    path = PACKAGE / room / "__init__.py" if (PACKAGE / room).is_dir() else PACKAGE / f"{room}.py"
    said = ast.get_docstring(ast.parse(path.read_text())) or ""
    return said.split("\n\n")[0].replace("\n", " ").rstrip(":")


def diagram() -> str:
    """The layers from the top down, and what each room is for and imports, as Markdown."""
    found = arrows()
    stack = [f"{number + 1:>4}  {'   '.join(LAYERS[number])}" for number in range(len(LAYERS) - 1, -1, -1)]
    lines = ["```text", *stack, "```", "", *_table(found)]
    files = len(list(PACKAGE.glob("*.py")))
    back = sum(height(two) >= height(one) for one, two in found)
    counted = (
        f"{sum(map(len, LAYERS))} rooms, {len(found)} arrows between them, {back} that run back up, {len(circles())} "
        f"circles of files inside rooms, {files} files directly below `assay/`."
    )
    return "\n".join([*lines, "", counted])


def _table(found: dict[tuple[str, str], list[str]]) -> list[str]:
    lines = ["| layer | room | what it is for | imports |", "|---|---|---|---|"]
    for number in range(len(LAYERS) - 1, -1, -1):
        for room in LAYERS[number]:
            below = sorted((two for one, two in found if one == room), key=lambda two: (-height(two), two))
            folder = f"`{room}/`" if (PACKAGE / room).is_dir() else f"`{room}.py`"
            lines.append(f"| {number + 1} | {folder} | {about(room)} | {', '.join(below) or 'nothing of ours'} |")
    return lines


BEGIN, END = "<!-- rooms: drawn by tests/rooms.py -->", "<!-- end of rooms -->"


def drawn(page: str) -> str:
    """The page with the diagram of today."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{diagram()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} drawn\n")
