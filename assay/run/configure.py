"""Configuration as data: records to JSON and back, and typed overrides from the command line. Nothing declared twice:
names, types, choices and defaults are read from the records themselves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import ConfigError, unknown
from assay.part import KINDS, Part, name_of

Named = Callable[[Any], Any]


def to_data(value: Any) -> Any:
    """JSON data that `from_data` turns back into an equal record. Parts carry their name as `part`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data: dict[str, Any] = {"part": name_of(value)} if isinstance(value, KINDS) else {}
        for field in dataclasses.fields(value):
            data[field.name] = to_data(getattr(value, field.name))
        return data
    if isinstance(value, tuple | list):
        return [to_data(item) for item in value]
    if isinstance(value, Mapping):
        return {key: to_data(item) for key, item in value.items()}
    return value


def from_data(kind: Any, data: Any, *, place: str = "") -> Any:
    """The value of this type that JSON data describe; every error names the place, what was expected and what came."""
    if kind in KINDS:
        return _part(kind, data, place)
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        return from_data(next(a for a in arguments if a is not type(None)), data, place=place)
    if origin is Literal:
        chosen = {str(name): name for name in arguments}.get(data, data) if isinstance(data, str) else data
        if chosen not in arguments:
            raise ConfigError(f"{place} is one of {', '.join(map(str, arguments))}, not {data!r}.")
        return chosen
    if origin is tuple:
        items = data if isinstance(data, list | tuple) else [data]
        inner = arguments[0] if arguments else Any
        return tuple(from_data(inner, item, place=f"{place}[{i}]") for i, item in enumerate(items))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: from_data(arguments[1], item, place=f"{place}.{key}") for key, item in dict(data).items()}
    return _plain(kind, data, place)


def override(record: Any, path: str, value: Any, named: Named = lambda parts: parts) -> Any:
    """The record with the field at a dotted path set, from text as on the command line (`scale.learning-rate 1e-3`) or
    from data. A part is replaced by its name (`mechanism.objective.gate open`); items of a tuple are numbered from 0.

    `named`: what becomes of parts that are given by their names alone.
    """
    return _set(type(record), record, path.replace("-", "_").split("."), value, path, named)


def _set(kind: Any, value: Any, path: list[str], new: Any, whole: str, named: Named) -> Any:
    if not path:
        made = from_data(kind, _parse(kind, new) if isinstance(new, str) else new, place=whole)
        return named(made) if isinstance(new, str) and _holds_parts(kind) else made
    head, rest = path[0], path[1:]
    if isinstance(value, tuple):
        if not head.isdecimal() or int(head) >= len(value):
            raise ConfigError(f"{whole}: '{head}' is no item; there are {len(value)}, numbered from 0.")
        index = int(head)
        item = _set(get_args(kind)[0], value[index], rest, new, whole, named)
        return (*value[:index], item, *value[index + 1 :])
    if isinstance(value, Mapping):
        if head not in value:
            raise unknown(f"entry of {whole.rpartition('.' + head)[0]}", head, value, "assay train RECIPE --dry-run")
        return {**value, head: _set(get_args(kind)[1], value[head], rest, new, whole, named)}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise ConfigError(f"{whole}: there is nothing called '{head}' below a single value, which is {value!r}.")
    fields = {field.name: field for field in dataclasses.fields(value)}
    if head in _earlier(type(value)):
        raise ConfigError(f"{whole}: '{head}' is called '{_earlier(type(value))[head]}' now.")
    if head not in fields:
        raise unknown(f"setting in {type(value).__name__}", head, fields, "assay show RECIPE")
    hint = get_type_hints(type(value))[head]
    return dataclasses.replace(value, **{head: _set(hint, getattr(value, head), rest, new, whole, named)})


def _holds_parts(kind: Any) -> bool:
    """Whether a field of this type holds a part, or several."""
    return any(inner in KINDS for inner in (kind, *get_args(kind)))


def settings(record: Any, prefix: str) -> list[tuple[str, str, Any]]:
    """(path, kind, value) of each field of a flat record, as `override` takes them."""
    hints = get_type_hints(type(record))
    return [
        (f"{prefix}.{field.name}", _kind_name(hints[field.name]), getattr(record, field.name))
        for field in dataclasses.fields(record)
    ]


def _kind_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return f"{_kind_name(get_args(kind)[0])}, several with commas"
    return getattr(kind, "__name__", str(kind)) if get_origin(kind) is None else str(kind)


def _parse(kind: Any, text: str) -> Any:
    """Command-line text as the data of a type; lists are separated by commas, `none` is None."""
    if text.lower() == "none" and type(None) in get_args(kind):
        return None
    if get_origin(kind) is tuple:
        return [] if text in ("", "none") else text.split(",")
    return text


def _part(kind: type[Part], data: Any, place: str) -> Part:
    from assay.known import PARTS, part_named  # methods are made of what this module reads

    fields = dict(data) if isinstance(data, Mapping) else {"part": data}
    name = fields.pop("part", None)
    found = part_named(kind, str(name))
    if found is None:
        raise unknown(f"part for {place}", str(name), PARTS[kind], "assay list parts")
    return _record(found, fields, place)


def _record(kind: Any, data: Any, place: str) -> Any:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{place or kind.__name__}: expected the fields of {kind.__name__}, came {data!r}.")
    hints = get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    values = {}
    for written, item in data.items():
        name = _earlier(kind).get(written, written)
        if name not in fields:
            raise unknown(f"setting in {kind.__name__}", name, fields, "assay show RECIPE")
        where = f"{place}.{name}" if place else name
        values[name] = from_data(hints[name], item, place=where)
    if missing := [field.name for field in fields.values() if field.name not in values and _required(field)]:
        raise ConfigError(f"{place or kind.__name__}: {', '.join(missing)} must be given, and is missing.")
    return kind(**values)


def _earlier(kind: Any) -> Mapping[str, str]:
    """The names that fields of a record had in earlier versions, as old run folders write them."""
    return getattr(kind, "EARLIER", {})


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _plain(kind: Any, data: Any, place: str) -> Any:
    """bool, int, float or str, from data or from text."""
    if kind in (Any, typing.Any) or kind is None:
        return data
    if kind is bool:
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(data, bool):
            return data
        if isinstance(data, str) and data.lower() in known:
            return known[data.lower()]
    elif kind in (int, float) and isinstance(data, int | float | str) and not isinstance(data, bool):
        with contextlib.suppress(ValueError, OverflowError):
            return _number(kind, data)
    elif isinstance(kind, type) and isinstance(data, kind) and not isinstance(data, bool):
        return data
    raise ConfigError(f"{place}: expected {getattr(kind, '__name__', kind)}, came {data!r}.")


def _number(kind: type, data: int | float | str) -> int | float:
    """Whole numbers are taken as they are, of any size; others pass through float: `1e3` is a thousand."""
    with contextlib.suppress(ValueError):
        if not isinstance(data, float):
            return kind(data)
    number = float(data)
    if kind is int and number != int(number):
        raise ValueError(f"{data} is not whole")
    return kind(number)
