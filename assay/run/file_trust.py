"""Trust in a file of settings: whether the code that it names may run, its programs start, its addresses be reached.

Such a file may have come from somebody else, as a run folder may. What it names beyond data and models is used if the
command line allows it, if this user allowed exactly this to the file before, or if a person allows it now.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from assay.errors import ConfigError
from assay.host import terminal
from assay.host.reach import CODE, Reach, reached
from assay.run import setup_file
from assay.run.allowed import allow, allowed
from assay.run.experiment import Experiment
from assay.run.settings import full
from assay.run.setup import SAME, Given, Setup, composed
from assay.run.trust import Trust, doubt, known_as

REACHING = {"reward": "rewards", "only_reward": "rewards", "tools": "tools", "mcp": "mcp", "track": SAME["track"]}
"""Field of a setup -> the field of the experiment through which it reaches out. A model and data of the Hub are what
such a file is written for, hold no code, and are named by what the command prints.
"""


Asked = Experiment | Setup
"""What is used of a setup: the experiment that follows from it, or the setup itself where no run follows."""


def composed_with(paths: Iterable[Path], given: Given, trust: Trust) -> tuple[Setup, Callable[[Asked], None]]:
    """(the setup of these files, which what a person gives overrides; a function that refuses code, programs and
    addresses which only a file names and nobody has allowed).
    """
    files = {path: setup_file.read(path) for path in paths}

    def refuse(asked: Asked) -> None:
        require(files, given, asked, trust)

    return composed(*files.values(), given), refuse


def require(files: Mapping[Path, Given], flags: Given, asked: Asked, trust: Trust) -> None:
    """Refuses (ConfigError) code, programs and addresses that one of these files names, unless they are given by
    `flags` too, were allowed before, or are allowed now.
    """
    own = tuple(_fields(flags))
    for path, given in files.items():
        fields = [field for field in _fields(given) if not _below(field, own)]
        reaches = [dataclasses.replace(reach, field=REACHING.get(reach.field, reach.field)) for reach in reached(asked)]
        if reaches := [reach for reach in reaches if _below(reach.field, fields)]:
            _require(path, reaches, trust)


def require_code(path: Path, field: str, code: Iterable[Path], trust: Trust) -> None:
    """Refuses (ConfigError) files of Python that a key of the file at `path` names, as `require` refuses functions."""
    if reaches := [Reach(field, f"{place}:*", CODE) for place in code]:
        _require(path, reaches, trust)


def _require(path: Path, reaches: Collection[Reach], trust: Trust) -> None:
    """Refuses what one file names, and otherwise notes that it was allowed."""
    before = allowed(_id(path))
    doubts = {reach: line for reach in reaches if (line := doubt(reach, before, "file"))}
    missing = sorted({reach.mark.consent for reach in doubts} - set(trust.consents))
    if missing:
        question = "\n".join([f"{path} names what you have not allowed it to reach:", *doubts.values()])
        if not terminal.ask(f"{question}\nAllow it?"):
            flags = " ".join(f"--trust-{consent}" for consent in missing)
            raise ConfigError(f"{question}\nNothing of it was used. Look at the file; if it may be, add {flags}.")
    if doubts:
        allow(_id(path), path, {*before, *map(known_as, reaches)})


def _fields(given: Given) -> Iterator[str]:
    """The fields of the experiment through which this source of a setup reaches out."""
    yield from (field for name, field in REACHING.items() if given.get(name))
    yield from (full(path) for path in given.get("settings", {}))


def _below(field: str, fields: Collection[str]) -> bool:
    """Whether one of these fields is this field, or holds it."""
    return any(f"{field}.".startswith(f"{other}.") for other in fields)


def _id(path: Path) -> str:
    """The name under which permissions of a file are kept."""
    return hashlib.blake2b(f"settings {path.resolve()}".encode(), digest_size=16).hexdigest()
