"""The tables of keys: one file for each system, in which every key of it is answered.

    [keys]
    num_generations = {ours = "scale.group-size", default = 8}

    [[none]]
    because = "a run uses one device"
    keys = ["deepspeed", "fsdp.*"]

    [choices.losses]
    dr_grpo = {recipe = "dr-grpo", aggregate = "fixed-length", gate = "clip"}

A key has our setting, or a reason why there is none. Of keys without a counterpart, `outcome` says what becomes of a
file that has them: `idle`, it trains as it is; `told`, it trains and the difference is told; `refused`. A value in
`neutral` changes nothing, and is never refused. What a rule chooses by a value, a recipe or a part, is data too.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Outcome = Literal["ours", "idle", "told", "refused"]
NUMBERED = re.compile(r"\.\d+(?=\.|$)")  # a place in a list of tables, in a flat key
SYSTEMS = {"trl": "TRL", "verl": "verl", "openrlhf": "OpenRLHF", "prime_rl": "prime-rl"}
"""Name of the table -> name of the system."""


@dataclass(frozen=True)
class ForeignKey:
    """One key of a system and our answer to it."""

    key: str  # with `.*` at its end: every key that begins so
    ours: str = ""  # options of `assay train` without dashes, with commas between them; empty: no counterpart
    because: str = ""  # why there is no counterpart, or what differs
    default: Any = None  # the value that their system takes if a file leaves the key out
    values: Mapping[str, str] = field(default_factory=dict)  # their value -> ours
    by: str = ""  # the rule that reads it together with other keys; empty: the value is ours as it stands
    outcome: Outcome = "ours"
    neutral: Sequence[Any] = ()  # values that change nothing, of a key without counterpart
    computes: bool = True  # whether it changes what is computed, beyond rounding and speed

    @property
    def settings(self) -> list[str]:
        """Our settings, as files and the command line write them."""
        return [name.strip() for name in self.ours.split(",") if name.strip()]


@dataclass(frozen=True)
class ForeignKeys:
    """All keys of a system."""

    name: str  # of SYSTEMS
    rows: Mapping[str, ForeignKey]
    choices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # kind -> their value -> our names for it

    @property
    def system(self) -> str:
        """The name of the system, as its users write it."""
        return SYSTEMS[self.name]

    @property
    def page(self) -> str:
        """The page of the docs with all keys."""
        return "docs/from_trl.md" if self.name == "trl" else "docs/from_verl.md"

    def row(self, key: str) -> ForeignKey | None:
        """The row that answers a flat key; a longer beginning goes before a shorter one."""
        plain = NUMBERED.sub("[]", key)
        if plain in self.rows:
            return self.rows[plain]
        parts = plain.split(".")
        begun = (f"{'.'.join(parts[:length])}.*" for length in range(len(parts), 0, -1))
        return next((self.rows[name] for name in begun if name in self.rows), None)

    def by(self) -> dict[str, list[ForeignKey]]:
        """Rule -> the rows that it reads."""
        found: dict[str, list[ForeignKey]] = {}
        for row in self.rows.values():
            if row.by:
                found.setdefault(row.by, []).append(row)
        return found


@functools.cache
def keys_of(name: str) -> ForeignKeys:
    """The table of a system, by a name of SYSTEMS."""
    data = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text())
    rows = [*_with(data["keys"]), *(row for group in data["none"] for row in _without(group))]
    return ForeignKeys(name, {row.key: row for row in rows}, data.get("choices", {}))


def _with(keys: Mapping[str, Mapping[str, Any]]) -> Iterator[ForeignKey]:
    """The rows of keys that have a counterpart."""
    yield from (ForeignKey(key=key, **fields) for key, fields in keys.items())


def _without(group: Mapping[str, Any]) -> Iterator[ForeignKey]:
    """The rows of a group of keys that lack a counterpart for one reason."""
    keys, outcome = group["keys"], group.get("outcome", "idle")
    common = {"because": group["because"], "outcome": outcome, "computes": group.get("computes", outcome != "idle")}
    for key in keys:
        neutral = keys[key] if isinstance(keys, Mapping) else ()
        yield ForeignKey(key=key, neutral=neutral, **common)
