"""Parts: the records of which a recipe is made.

A part is a frozen dataclass of hyper-parameters; its pure function lives beside it and takes them as keyword
arguments. Each phase's folder lists its parts in one hand-written registry `{name: (Record, function)}`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Part:
    """Base of all records; has no fields."""


Registry = Mapping[str, tuple[type[Part], Callable[..., Any]]]


def bind(registry: Registry, part: Part) -> Callable[..., Any]:
    """The part's function with the record's values filled in."""
    function = next(function for record, function in registry.values() if record is type(part))
    values = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    return functools.partial(function, **values)


def name_of(registry: Registry, part: Part) -> str:
    return next(name for name, (record, _) in registry.items() if record is type(part))


def slot(kind: str, **default: Any) -> Any:
    """A field of a recipe that holds a part (or a tuple of parts) of this kind."""
    return dataclasses.field(metadata={"slot": kind}, **default)


def scales_with(measure: str, default: Any) -> Any:
    """A hyper-parameter that a paper states for its own `measure` (a field of Scale) and that moves in proportion."""
    return dataclasses.field(default=default, metadata={"scales_with": measure})
