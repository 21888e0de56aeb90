"""Code that a run folder names, and whether it may run here.

A run folder is data: it is copied, sent, downloaded, edited. Of its reward functions it holds a place and a name, and
importing a place runs it. So a resume imports a file only if it is the one that the run was begun with, byte for byte,
or if a person says so.
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
    """A reward function as run.json names it, before anything of it is imported."""

    text: str
    place: str
    name: str

    def files(self) -> list[Path]:
        """What importing it runs, in this order: a file, or the packages above a module and the module."""
        return [Path(self.place)] if is_file(self.place) else list(_files_of_module(self.place))

    def contents(self) -> list[bytes]:
        try:
            return [read_bytes(path, most=LARGEST) for path in self.files()]
        except (OSError, StorageError):
            return []


def code_of(rewards: Sequence[str]) -> dict[str, str]:
    """Digests of what importing each place runs, for the record of a run; nothing is imported here."""
    found = {one.place: one.contents() for one in _named(rewards)}
    return {place: digest_of(contents) for place, contents in found.items() if contents}


def require_trust(
    run: Path, rewards: Sequence[str], document: Mapping[str, Any], *, given: Collection[str], trusted: bool
) -> bool:
    """Whether something runs that the record does not vouch for: a person said so, or `trusted` did. ConfigError where
    nobody did. `given` are the functions that the calling program brings itself, by name.
    """
    doubts = [line for one in _named(rewards) if one.name not in given and (line := _doubt(one, run, document))]
    if not doubts:
        return False
    told = "\n".join([f"resuming {run} would run code that its record does not vouch for:", *doubts])
    if not trusted and not terminal.ask(f"{told}\nRun it?"):
        raise ConfigError(
            f"{told}\nNothing was run. Read that code; if it may run, say so: `assay resume {run} --trust-code`."
        )
    return True


def _named(rewards: Sequence[str]) -> list[_Named]:
    wishes = [parse(text) for text in rewards]
    every = zip(rewards, wishes, names(wishes), strict=True)
    return [_Named(text, wish.place, name) for text, wish, name in every if wish.place != NAMELESS]


def _doubt(one: _Named, run: Path, document: Mapping[str, Any]) -> str | None:
    """Why the record does not vouch for a function; None if it does."""
    contents = one.contents()
    if not contents and is_file(one.place) and not Path(one.place).exists():
        return None  # nothing can run; that it is missing is told by whoever loads it
    code, before = document.get("code"), document.get("rewards")
    code = code if isinstance(code, dict) else {}
    # Runs of older versions hold the digest of a function's file by the function's name.
    before = before.get(one.name) if isinstance(before, dict) and one.place not in code else None
    recorded = code.get(one.place, before)
    if is_file(one.place) and not Path(one.text.rpartition(":")[0]).is_absolute():
        return f"{one.text}: its file is not named by its whole path, so that it is another one from elsewhere"
    if any(path.resolve().is_relative_to(run.resolve()) for path in one.files()):
        return f"{one.text}: it lies in the run folder itself, and came with it"
    if not recorded:
        return f"{one.text}: the run holds no digest of it"
    found = {digest_of(contents)} | ({digest(contents[-1])} if contents and before else set())
    if recorded not in found:
        return f"{one.text}: its digest is {digest_of(contents)}, and the run began with {recorded}"
    return None


def _files_of_module(name: str) -> Iterator[Path]:
    """Found as an import finds them, of which none happens: importing a module runs the packages above it first."""
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
