"""Where measurements are kept: a file for each machine and day, so that none is ever written over another."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.rng import digest

FACTS = ("processor", "cores", "flags", "memory_gib")  # what makes two machines of one name different ones
NAME = re.compile(r"(?P<name>.+)--(?P<machine>[^-].*)--(?P<day>\d{4}-\d\d-\d\d)(-(?P<again>\d+))?\.json")


def machine_key(about: Mapping[str, Any]) -> str:
    """`amd-epyc-1a2b3c`: the name of the processor, and six digits of what else it is."""
    word = re.sub(r"[^a-z0-9]+", "-", str(about["processor"]).lower()).strip("-") or "machine"
    return f"{word}-{digest(*(about.get(name) for name in FACTS))[:6]}"


def place(folder: Path, name: str, about: Mapping[str, Any], day: str) -> Path:
    """A file for a measurement of this machine and day that is not there yet."""
    again = 1
    while (path := folder / f"{name}--{machine_key(about)}--{day}{f'-{again}' if again > 1 else ''}.json").exists():
        again += 1
    return path


def keep(folder: Path, name: str, result: Mapping[str, Any]) -> Path:
    """Writes a result that says its machine and the day it was measured; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = place(folder, name, result["machine"], result["measured"])
    path.write_text(json.dumps(result, indent=1) + "\n")
    return path


def paths(folder: Path, kind: str) -> list[Path]:
    """Files of a kind, `trl` or `trl-S1-full-native`, by name, machine, day and number of that day."""
    found = [(path, match) for path in folder.glob(f"{kind}*.json") if (match := NAME.fullmatch(path.name))]
    mine = [(path, match) for path, match in found if match["name"] == kind or match["name"].startswith(f"{kind}-")]
    ordered = sorted(mine, key=lambda p: (p[1]["name"], p[1]["machine"], p[1]["day"], int(p[1]["again"] or 1)))
    return [path for path, _ in ordered]


def stored(folder: Path, kind: str) -> list[dict[str, Any]]:
    """What is kept of a kind, in the order of `paths`."""
    return [json.loads(path.read_text()) for path in paths(folder, kind)]


def title(about: Mapping[str, Any]) -> str:
    """A machine as a heading."""
    return f"{about['processor']}, {about['cores']} cores, {' '.join(about['flags'])}"
