"""The versions of the verifiers of tasks: a digest of the source files of each, so that none can be forgotten.

The files belong to the modules that verify the answers of a task, and to all modules of tasks, verifiers, externals and
the sandbox that these import, anywhere in a file. A changed comment is another version too: between two releases
every change may have changed a verdict, and within one release nothing changes. Verdicts also depend on the versions of
Python and of the foreign programs, which runs and banks name beside these.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from assay.externals import external
from assay.host.files import read_bytes
from assay.rng import digest_of
from assay.tasks import short, task
from assay.tasks.task import Task

PACKAGE = Path(__file__).parents[1]
ROOMS = ("tasks", "verifiers", "externals", "sandbox")
LISTS = (("tasks",), ("externals", "by_name"), ("verifiers", "explainers"))
"""Modules that name all others, and verify nothing."""
MOST = 4 << 20  # bytes of a source file


def verifier_versions(names: Iterable[str]) -> dict[str, str]:
    """Verifier -> version, for the tasks of these names.

    verifier_versions(["countdown"])  # {"verifier of countdown": "3f2a..."}
    """
    return {f"verifier of {short(name)}": version_of(task(name)) for name in names}


def version_of(verified: Task) -> str:
    """The digest of all source files that verify the answers of a task."""
    places = {module.__file__ for module in map(sys.modules.get, _modules(verified, set())) if module is not None}
    files = set[Path]()
    for place in sorted(filter(None, places)):
        _gather(Path(place), files)
    return digest_of(part for path in sorted(files) for part in (_name(path), read_bytes(path, most=MOST)))


def _modules(value: Any, seen: set[int]) -> Iterator[str]:
    """The names of the modules whose functions stand in a value: partial, closed over, or in the fields of a record."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, functools.partial):
        inner = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, types.MethodType):
        inner = [value.__func__, value.__self__]
    elif isinstance(value, types.FunctionType):
        yield value.__module__
        inner = [cell.cell_contents for cell in value.__closure__ or ()]
    elif isinstance(value, Task):
        # an answer is compared with what an instance holds, so the code that draws instances verifies too
        inner = [value.generator.instance, value.checker, value.world, *map(external, value.checker.externals)]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value).__module__
        inner = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        inner = [getattr(value, "__wrapped__", None)] if hasattr(value, "__wrapped__") else []
    for part in inner:
        yield from _modules(part, seen)


def _gather(path: Path, files: set[Path]) -> None:
    """Adds a source file to `files`, and the files of the rooms that it imports."""
    if path in files or path.suffix != ".py":
        return
    files.add(path)
    for module in _imports(path):
        _gather(module, files)


@functools.cache
def _imports(path: Path) -> tuple[Path, ...]:
    """The files of the rooms that a file of ours imports."""
    if not path.is_relative_to(PACKAGE):
        return ()
    found: dict[Path, None] = {}
    for node in ast.walk(ast.parse(read_bytes(path, most=MOST))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        else:  # a process of its own imports a module by its name: "assay.verifiers.mathematics.symbolic:answer"
            text = node.value if isinstance(node, ast.Constant) else None
            names = [text.partition(":")[0]] if isinstance(text, str) and text.startswith(f"{PACKAGE.name}.") else []
        found |= dict.fromkeys(place for name in names if (place := _file_of(name)) is not None)
    return tuple(found)


def _file_of(module: str) -> Path | None:
    """The file of a module of the rooms; None for any other module."""
    head, *parts = module.split(".")
    if head != PACKAGE.name or not parts or parts[0] not in ROOMS or tuple(parts) in LISTS:
        return None
    place = PACKAGE.joinpath(*parts)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else path.name
