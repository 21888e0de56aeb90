"""What the objects of other libraries are, told without importing any: only an object can bring its library here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from assay.host.cache import state_folder


class AsDictionary(Protocol):
    """A data frame of pandas, or a data set of the Hub."""

    def to_dict(self, *args: Any, **kwargs: Any) -> Any: ...


class AsDictionaries(Protocol):
    """A data frame of polars."""

    def to_dicts(self) -> list[dict[str, Any]]: ...


class AsList(Protocol):
    """A table of Arrow."""

    def to_pylist(self) -> list[dict[str, Any]]: ...


class Saveable(Protocol):
    """A model or a tokenizer of transformers."""

    def save_pretrained(self, *args: Any, **kwargs: Any) -> Any: ...


Place = str | os.PathLike[str]
"""A file or folder, or a name of the Hub."""
Rows = Sequence[Mapping[str, Any]] | AsDictionary | AsDictionaries | AsList
"""Rows in memory: a list of dictionaries, a data set, a data frame."""
Data = Place | Rows | Sequence[Place | Rows]
"""Files, data sets of the Hub and rows in memory; several are one set."""
Model = Place | Saveable | tuple[Saveable, Saveable]
"""A folder, a GGUF file, a name of the Hub, a base, a run; or a model of transformers, with its tokenizer."""

Reward = str | Callable[..., Any]
"""A function, or the text FILE.py:FUNCTION."""
Callables = Reward | Sequence[Reward]
"""A function, the text FILE.py:FUNCTION, or several of them."""

LIBRARIES = ("pandas", "polars", "datasets", "pyarrow", "peft", "transformers", "numpy", "torch")


def library_of(value: object) -> str:
    """The library that an object comes from, also through a class of the caller's; "" for any other object."""
    roots = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    return next((name for name in LIBRARIES if name in roots), "")


def kind_of(value: object) -> str:
    """The name of the class that an object has in the library that it comes from; of other objects, of its own."""
    library = library_of(value)
    of = (base.__name__ for base in type(value).__mro__ if base.__module__.partition(".")[0] == library)
    return next(of, type(value).__name__) if library else type(value).__name__


def native(value: Any) -> Any:
    """A number of numpy as one of Python, and an array as a list; any other value as it is."""
    return value.tolist() if library_of(value) == "numpy" else value


def places(given: Place | Sequence[Place]) -> list[Path]:
    """One place or several as paths."""
    return [Path(place) for place in ([given] if isinstance(given, str | os.PathLike) else given)]


def kept_in() -> Path:
    """The folder of what programs have given: files and models that runs name, which outlive the program."""
    return state_folder() / "given"


def article(value: object) -> str:
    """The type of an object, for a sentence: `a set`, `an int`, `a PIL.Image.Image`."""
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    name = kind.__qualname__ if root in ("builtins", "__main__") else f"{root}.{kind.__qualname__}"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
