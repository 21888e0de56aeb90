"""Configuration as data: records to JSON and back, and typed overrides from the command line.

Names, types, choices and defaults of settings are read from the dataclasses themselves, so nothing is declared twice.

    data = to_data(experiment); experiment == from_data(Experiment, data)
    experiment = override(experiment, "recipe.scale.learning_rate", "1e-3")
"""

from __future__ import annotations

import contextlib
import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union, get_args, get_origin

from assay.errors import ConfigError, UnknownName, unknown
from assay.part import KINDS, Part, name_of
from assay.run.short_names import ELSEWHERE
from assay.streams import hints_of

Named = Callable[[Any], Any]


def to_data(value: Any) -> Any:
    """JSON data that `from_data` turns back into an equal record. A part also has the key `part`, with its name."""
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


def differing(value: Any) -> Any:
    """As `to_data`, without the fields that have the default value of their record: a digest of it stays the same when
    a record is given another field.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        data: dict[str, Any] = {"part": name_of(value)} if isinstance(value, KINDS) else {}
        for field in dataclasses.fields(value):
            held = getattr(value, field.name)
            made = field.default_factory
            default = field.default if made is dataclasses.MISSING else made()
            if default is dataclasses.MISSING or held != default:
                data[field.name] = differing(held)
        return data
    if isinstance(value, tuple | list):
        return [differing(item) for item in value]
    if isinstance(value, Mapping):
        return {key: differing(item) for key, item in value.items()}
    return value


def from_data(kind: Any, data: Any, *, place: str = "") -> Any:
    """The value of type `kind` that JSON data describe.

    `place` is the path of the value, for errors: they say where, what was expected and what came.
    """
    if kind in KINDS:
        return _part(kind, data, place)
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, place)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        inner = next(a for a in arguments if a is not type(None))
        spelt = data == "none" and inner is not str and data not in get_args(inner)  # as files without a null have it
        if type(None) in arguments and (data is None or spelt):
            return None
        return from_data(inner, data, place=place)
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
    """The record with the field at a dotted path set to a value, given as command-line text or as JSON data.

    A number is set as in `scale.learning-rate 1e-3`; a part is replaced by naming another one, as in
    `mechanism.objective.gate open`; items of a tuple are numbered from 0.

    `named` is applied to each part that was given by its name alone, for example to adapt its defaults to the scale.
    """
    return _set(type(record), record, path.replace("-", "_").split("."), value, path, named)


def _set(kind: Any, value: Any, path: list[str], new: Any, whole: str, named: Named) -> Any:
    if not path:
        made = from_data(kind, _parse(kind, new) if isinstance(new, str) else new, place=whole)
        return named(made) if isinstance(new, str) and _holds_parts(kind) else made
    head, rest = path[0], path[1:]
    if isinstance(value, tuple):
        if not head.isdecimal() or int(head) >= len(value):
            raise ConfigError(f"{whole}: there is no item '{head}'; there are {len(value)} items, numbered from 0.")
        index = int(head)
        item = _set(get_args(kind)[0], value[index], rest, new, whole, named)
        return (*value[:index], item, *value[index + 1 :])
    if isinstance(value, Mapping):
        if head not in value:
            raise unknown(f"entry of {whole.rpartition('.' + head)[0]}", head, value, "assay train RECIPE --dry-run")
        return {**value, head: _set(get_args(kind)[1], value[head], rest, new, whole, named)}
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        raise ConfigError(f"{whole}: '{head}' does not exist; what stands before it is the single value {value!r}.")
    fields = {field.name: field for field in dataclasses.fields(value)}
    if head in _earlier(type(value)):
        raise ConfigError(f"{whole}: the setting '{head}' is now called '{_earlier(type(value))[head]}'.")
    if head not in fields:
        if (meant := ELSEWHERE.get(head, "").rpartition(".")[2]) in fields:
            raise UnknownName(f"{whole}: no setting '{head}'. In Assay it is '{meant}'.")
        raise unknown(f"setting in {type(value).__name__}", head, fields, "assay show RECIPE")
    hint = hints_of(type(value), notes=False)[head]
    return dataclasses.replace(value, **{head: _set(hint, getattr(value, head), rest, new, whole, named)})


def _holds_parts(kind: Any) -> bool:
    """Whether a field of this type holds one part or several parts."""
    return any(inner in KINDS for inner in (kind, *get_args(kind)))


def settings(record: Any, prefix: str) -> list[tuple[str, str, Any]]:
    """(path, type, value) of each field of a flat record, with the paths that `override` takes."""
    hints = hints_of(type(record), notes=False)
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
    """Command-line text as JSON data of a type. Items of a list are separated by commas; `none` stands for None."""
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
    hints = hints_of(kind, notes=False)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    values = {}
    for written, item in data.items():
        name = _earlier(kind).get(written, written)
        if name not in fields:
            raise unknown(f"setting in {kind.__name__}", name, fields, "assay show RECIPE")
        where = f"{place}.{name}" if place else name
        values[name] = from_data(hints[name], item, place=where)
    if missing := [field.name for field in fields.values() if field.name not in values and _required(field)]:
        raise ConfigError(f"{place or kind.__name__}: {', '.join(missing)} must be given.")
    return kind(**values)


def _earlier(kind: Any) -> Mapping[str, str]:
    """Earlier name -> present name of fields that were renamed. Run folders of older versions use the earlier names."""
    return getattr(kind, "EARLIER", {})


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _plain(kind: Any, data: Any, place: str) -> Any:
    """A value of type bool, int, float or str, from JSON data or from command-line text."""
    if kind in (Any, typing.Any) or kind is None:
        return data
    if kind is bool:
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(data, bool):
            return data
        if isinstance(data, str) and data.lower() in words:
            return words[data.lower()]
    elif kind in (int, float) and isinstance(data, int | float | str) and not isinstance(data, bool):
        with contextlib.suppress(ValueError, OverflowError):
            return _number(kind, data)
    elif isinstance(kind, type) and isinstance(data, kind) and not isinstance(data, bool):
        return data
    raise ConfigError(f"{place}: expected {getattr(kind, '__name__', kind)}, came {data!r}.")


def _number(kind: type, data: int | float | str) -> int | float:
    """The number that JSON data or text give.

    Integers may have any size; text such as `1e3` is read as a float, and is accepted for an integer if it is whole.
    """
    with contextlib.suppress(ValueError):
        if not isinstance(data, float):
            return kind(data)
    number = float(data)
    if kind is int and number != int(number):
        raise ValueError(f"{data} is not whole")
    return kind(number)
