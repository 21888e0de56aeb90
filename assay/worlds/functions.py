"""Python functions as tools: name, description and JSON schema follow from the signature, its type hints and docstring.

def price(item: str, currency: Literal["EUR", "USD"] = "EUR") -> float:
    \"\"\"The price of an item.\"\"\"

tool_of(price)  # Tool("price", "The price of an item.", {"type": "object", "properties": {"item": ...}, ...})
"""

from __future__ import annotations

import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from assay.errors import ConfigError
from assay.worlds.play import Tool, World
from assay.worlds.speech import CHAT, Speech
from assay.worlds.tools import Run, Scene, ToolError, calling

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
KINDS: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_KNOWN = "str, int, float, bool, list, dict, Literal and Optional"
_SAME = "A tool's arguments have type hints of these: " + _KNOWN


def functions(
    calls: Sequence[Callable[..., Any]],
    *,
    speech: Speech = CHAT,
    apart: bool = False,
    made_of: Sequence[str] = (),
) -> World:
    """The world in which a policy may call these functions. What one returns is the reply, as it is if it is a text and
    else as JSON. It raises `ToolError` for an error of the policy's; any other exception is an error of the tool's.

    `made_of` names the functions, FILE.py:FUNCTION, for the processes of plays `apart`, which make the world anew.

    functions([price], speech=JSON)
    """
    return calling(pairs_of(calls), speech=speech, apart=apart, made_of=made_of)


def pairs_of(calls: Sequence[Callable[..., Any]]) -> list[tuple[Tool, Run]]:
    """Each function as a tool, with what calls it."""
    return [(tool_of(call), running(call)) for call in calls]


def running(call: Callable[..., Any]) -> Run:
    """The function as a tool is called: arguments that do not fit their schema are an error of the policy's."""
    properties = tool_of(call).schema["properties"]

    def run(scene: Scene, **arguments: Any) -> str:
        for name, value in arguments.items():
            if wrong := misfit(value, properties[name], name):
                raise ToolError(wrong)
        made = call(**arguments)
        return made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)

    return run


def tool_of(call: Callable[..., Any]) -> Tool:
    """The tool that a function is. ConfigError names the parameter that cannot be described."""
    name = getattr(call, "__name__", type(call).__name__)
    if not callable(call) or NAME.fullmatch(name) is None or inspect.iscoroutinefunction(call):
        raise ConfigError(
            f"the tool '{name}' is no function with a name that a model could write: write it with `def`."
        )
    try:
        hints = get_type_hints(call if inspect.isroutine(call) else call.__call__)
        parameters = inspect.signature(call).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise ConfigError(f"the type hints of the tool '{name}' cannot be read: {error}.") from None
    properties = {parameter.name: _property(name, parameter, hints) for parameter in parameters}
    for field, about in _arguments_told(call).items():
        if field in properties:
            properties[field] = {**properties[field], "description": about}
    required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool(name, _about(call), schema)


def _property(tool: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an argument, with its default."""
    where = f"the argument '{parameter.name}' of the tool '{tool}'"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise ConfigError(f"{where} is {star}{parameter.name}, and a model must know what it may give: name each.")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ConfigError(f"{where} cannot be given by its name: take the `/` away.")
    if parameter.name not in hints:
        raise ConfigError(f"{where} has no type hint. {_SAME}.")
    schema = schema_of(hints[parameter.name], where)
    if parameter.default is parameter.empty or parameter.default is None:
        return schema
    if misfit(parameter.default, schema, parameter.name):
        raise ConfigError(f"{where} has the default {parameter.default!r}, which is none of {schema}.")
    return {**schema, "default": parameter.default}


def schema_of(hint: Any, place: str) -> dict[str, Any]:
    """The JSON schema of a type hint. ConfigError names the `place` of one that has none."""
    if hint in KINDS:
        return {"type": KINDS[hint]}
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin is Literal:
        kinds = sorted({KINDS.get(type(value), "") for value in inner})
        if "" in kinds:
            raise ConfigError(f"{place} is {hint}, of which each value must be a text, a number or a truth value.")
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": list(inner)}
    if origin is list:
        return {"type": "array", **({"items": schema_of(inner[0], place)} if inner else {})}
    if origin is dict and (not inner or inner[0] is str):
        return {"type": "object", **({"additionalProperties": schema_of(inner[1], place)} if inner else {})}
    if origin in (Union, types.UnionType) and type(None) in inner and len(inner) == 2:
        schema = schema_of(next(kind for kind in inner if kind is not type(None)), place)
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {**schema, "type": [*kinds, "null"], **({"enum": [*schema["enum"], None]} if "enum" in schema else {})}
    told = hint if isinstance(hint, str) else typing.cast(str, getattr(hint, "__name__", None) or str(hint))
    raise ConfigError(f"{place} is of the type {told}, which JSON does not have. {_SAME}.")


_OF_JSON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def misfit(value: Any, schema: Mapping[str, Any], place: str) -> str:
    """Why a value does not fit a schema of `schema_of`, in words; "" if it does."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    wanted = tuple(kind for name in kinds for kind in _OF_JSON[name])
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        return f"{place} is {' or '.join(kinds)}, and not {value!r:.40}"
    if "enum" in schema and (type(value), value) not in [(type(one), one) for one in schema["enum"]]:
        return f"{place} is one of {', '.join(map(repr, schema['enum']))}, and not {value!r:.40}"
    within: list[tuple[str, Any, Any]] = []
    if isinstance(value, list):
        within = [(f"{place}[{number}]", one, schema.get("items")) for number, one in enumerate(value)]
    if isinstance(value, dict):
        within = [(f"{place}[{name!r:.40}]", one, schema.get("additionalProperties")) for name, one in value.items()]
    return next((wrong for at, one, of in within if of and (wrong := misfit(one, of, at))), "")


def _about(call: Callable[..., Any]) -> str:
    """The docstring of a function, without the lines that describe its arguments one by one."""
    text = inspect.getdoc(call) or ""
    return re.split(r"\n\s*(?:Args|Arguments|Parameters):", text)[0].strip()


def _arguments_told(call: Callable[..., Any]) -> dict[str, str]:
    """What a docstring says of single arguments, below `Args:`: lines `name: ...` or `name (str): ...`."""
    _, _, text = re.sub(r"\n\s*(Arguments|Parameters):", "\nArgs:", inspect.getdoc(call) or "").partition("\nArgs:")
    lines = re.findall(r"(?m)^\s+(\w+)(?: \([^)]*\))?: (.+)$", re.split(r"\n\S", text)[0])
    return {name: about.strip() for name, about in lines}
