"""Parts: the records of which a recipe is made.

A part is a frozen dataclass of hyper-parameters; its pure function lives beside it and takes them as keyword
arguments. Each phase's folder lists its parts in one hand-written registry `{name: (Record, function)}`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

Scope = Literal["data", "row", "step"]
"""What a part of the objective has to see at once: the batch alone, whole rows, all rows of an optimiser step."""


@dataclasses.dataclass(frozen=True)
class Part:
    """Base of all records; has no fields."""

    continues: ClassVar[bool] = False  # it asks for answers that begin like others of the same step
    examined: ClassVar[bool] = False  # of `augment`: held-out problems are asked with it too

    @property
    def scope(self) -> Scope:
        return "row"

    @property
    def wants(self) -> frozenset[str]:
        """Beside the log-prob of the token itself: `entropy`, `top`, `mean`, `ref`, `old`."""
        return frozenset()


Registry = Mapping[str, tuple[type[Part], Callable[..., Any]]]


def bind(registry: Registry, part: Part, **offered: Any) -> Callable[..., Any]:
    """The part's function with the record's values filled in.

    Of what is offered, here and at each call, it is given what its signature names: a part that needs the memory, the
    models or the tokenizer says so by an argument of that name, and no other part has to know.
    """
    function = next(function for record, function in registry.values() if record is type(part))
    asked = inspect.signature(function).parameters
    values = {name: value for name, value in offered.items() if name in asked}
    values |= {field.name: getattr(part, field.name) for field in dataclasses.fields(part) if not _kept(field)}

    def bound(*args: Any, **more: Any) -> Any:
        return function(*args, **{name: value for name, value in more.items() if name in asked} | values)

    bound.asked = frozenset(asked)  # type: ignore[attr-defined]
    return bound


def _kept(field: dataclasses.Field[Any]) -> bool:
    return "kept" in field.metadata


def asks(bound: Callable[..., Any], name: str) -> bool:
    """Whether the function that was bound has an argument of this name."""
    return name in bound.asked  # type: ignore[attr-defined]


def name_of(registry: Registry, part: Part) -> str:
    return next(name for name, (record, _) in registry.items() if record is type(part))


def slot(kind: str, **default: Any) -> Any:
    """A field of a recipe that holds a part (or a tuple of parts) of this kind."""
    return dataclasses.field(metadata={"slot": kind}, **default)


def kept(default: Any, **metadata: Any) -> Any:
    """A field that whoever calls the part's function goes by; the function does not get it."""
    return dataclasses.field(default=default, metadata={**metadata, "kept": True})


def scales_with(measure: str, default: Any, *, inverse: bool = False) -> Any:
    """A hyper-parameter that a paper states for its own `measure` (a field of Scale) and that moves in proportion.

    In inverse proportion if it is a share of that measure, and what it comes to is to stay.
    """
    return dataclasses.field(default=default, metadata={"scales_with": measure, "inverse": inverse})
