"""The permissions that a user has given each run, in a folder of this user and outside of all run folders.

A run folder cannot vouch for itself: its maker wrote its digests too. The commands that start a run, or that are told
to trust it, therefore note what it may reach in `$ASSAY_STATE/runs/ID.json`, which only the user can read and write.
Nothing is there for a run of somebody else.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.host.cache import state_folder
from assay.host.files import read_json
from assay.host.terminal import say
from assay.record import disk

_ID = re.compile(r"[0-9a-f]{32}")  # of a run; another text would name a file elsewhere


@dataclass(frozen=True, order=True)
class Allowed:
    """A setting of a run, what it may reach, and the digest of the code or the path of the program there.

    Allowed("rewards", "/home/me/rewards.py:near", "a83f...")
    """

    field: str
    place: str
    identity: str = ""


def allowed(run: str) -> frozenset[Allowed]:
    """The permissions of the run of this id; none if others could have written the record."""
    try:
        path = _record(run)
        if path is None or not path.exists() or not all(map(_private, _places(path))):
            return frozenset()
        return frozenset(Allowed(*map(str, item)) for item in read_json(path)["allowed"])
    except (OSError, RuntimeError, AssayError, ValueError, KeyError, TypeError) as error:
        say(f"warning: what was allowed to the run {run} cannot be read, so that it is asked again: {error}")
        return frozenset()


def allow(run: str, place: Path, items: Iterable[Allowed]) -> None:
    """Notes what the run of this id, in the folder `place`, may reach from now on."""
    listed = sorted(set(items))
    if set(listed) == allowed(run):
        return
    try:
        if (path := _record(run)) is None:
            return
        path.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        content = {"run": run, "place": str(place.resolve()), "allowed": [list(vars(item).values()) for item in listed]}
        disk.replace(path, json.dumps(content, indent=1).encode() + b"\n", point="allowed")
        path.chmod(0o600)
        if not all(map(_private, _places(path))):
            raise OSError(f"others may write to {path.parent.parent}; make it yours alone: chmod -R go-w")
    except (OSError, RuntimeError) as error:  # RuntimeError: this user has no home
        say(f"warning: a resume of {place} will ask again what it may reach, because that could not be kept: {error}")


def _record(run: str) -> Path | None:
    return state_folder() / "runs" / f"{run}.json" if _ID.fullmatch(run) else None


def _places(path: Path) -> tuple[Path, Path, Path]:
    """The record, its folder and the folder of state."""
    return path, path.parent, path.parent.parent


def _private(path: Path) -> bool:
    """Whether nobody but this user, or root, can have written there."""
    found = path.stat()
    return found.st_uid in (0, os.getuid()) and not stat.S_IMODE(found.st_mode) & 0o022
