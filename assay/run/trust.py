"""Whether the code of reward functions that a run folder names may be run.

A run folder is data, which may have been downloaded or edited. It names the file of each reward function, and importing
that file runs its code. A resume therefore imports a file only if its bytes are those with which the run began, or if a
person allows it.
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, StorageError
from assay.host import terminal
from assay.host.files import read_bytes
from assay.rng import digest, digest_of
from assay.verifiers.functions.naming import NAMELESS, is_file, names, parse

LARGEST = 16 << 20  # bytes of a file of code


@dataclass(frozen=True)
class _Named:
    """A reward function as run.json names it; nothing of it has been imported yet."""

    text: str
    place: str
    name: str

    def files(self) -> list[Path]:
        """The files that importing the function runs: one file, or those of a module and of the packages above it."""
        return [Path(self.place)] if is_file(self.place) else list(_files_of_module(self.place))

    def contents(self) -> list[bytes]:
        try:
            return [read_bytes(path, most=LARGEST) for path in self.files()]
        except (OSError, StorageError):
            return []


def code_of(rewards: Sequence[str]) -> dict[str, str]:
    """File or module -> digest of all code that importing it would run, for run.json. Imports nothing."""
    contents_of = {one.place: one.contents() for one in _named(rewards)}
    return {place: digest_of(contents) for place, contents in contents_of.items() if contents}


def require_trust(
    run: Path, rewards: Sequence[str], document: Mapping[str, Any], *, given: Collection[str], trusted: bool
) -> bool:
    """Whether code will run that differs from the digests in run.json; ConfigError if that was not allowed.

    `trusted` or a person at the terminal allows it. `given` are the names of reward functions that the calling program
    passes itself; they are not imported.
    """
    doubts = [line for one in _named(rewards) if one.name not in given and (line := _doubt(one, run, document))]
    if not doubts:
        return False
    question = "\n".join([f"resuming {run} would run code that differs from what its run.json records:", *doubts])
    if not trusted and not terminal.ask(f"{question}\nRun it?"):
        raise ConfigError(
            f"{question}\nNothing was run. Read that code; if it may run, allow it: `assay resume {run} --trust-code`."
        )
    return True


def _named(rewards: Sequence[str]) -> list[_Named]:
    functions = [parse(text) for text in rewards]
    every = zip(rewards, functions, names(functions), strict=True)
    return [_Named(text, function.place, name) for text, function, name in every if function.place != NAMELESS]


def _doubt(one: _Named, run: Path, document: Mapping[str, Any]) -> str | None:
    """Why the code of a reward function may not be what the run began with; None if it is."""
    contents = one.contents()
    if not contents and is_file(one.place) and not Path(one.place).exists():
        return None  # there is no file that could run; loading the function reports that it is missing
    code, before = document.get("code"), document.get("rewards")
    code = code if isinstance(code, dict) else {}
    # Runs of older versions hold the digest of a function's file by the function's name.
    before = before.get(one.name) if isinstance(before, dict) and one.place not in code else None
    recorded = code.get(one.place, before)
    if is_file(one.place) and not Path(one.text.rpartition(":")[0]).is_absolute():
        return f"{one.text}: a relative path names another file in each working directory"
    if any(path.resolve().is_relative_to(run.resolve()) for path in one.files()):
        return f"{one.text}: the file lies in the run folder itself, and may have come with it"
    if not recorded:
        return f"{one.text}: run.json holds no digest of this code"
    digests = {digest_of(contents)} | ({digest(contents[-1])} if contents and before else set())
    if recorded not in digests:
        return f"{one.text}: the digest of its code is {digest_of(contents)}, and was {recorded} when the run began"
    return None


def _files_of_module(name: str) -> Iterator[Path]:
    """The files that `import name` would run, in order: the packages above the module come first. Imports nothing."""
    where: Sequence[str] | None = None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:depth]), where)
        if spec is None:
            return
        if spec.origin is not None and spec.has_location:
            yield Path(spec.origin)
        where = spec.submodule_search_locations
        if where is None:
            return


def _spec(name: str, where: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    for finder in sys.meta_path:
        if (spec := finder.find_spec(name, where, None)) is not None:
            return spec
    return importlib.machinery.PathFinder.find_spec(name, [str(Path.cwd())]) if where is None else None
