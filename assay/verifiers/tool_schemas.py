"""Schemas of tools, as OpenAI's interface has them: which arguments of two calls mean the same.

A schema states defaults and types. An argument that is written out with its default equals one that was left out. If
the schema says `number`, 30.0 equals 30. Everything else stays as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


class BadTools(ValueError):
    """The tools are not described as they must be; the message says how."""


def schemas_of(tools: Any) -> dict[str, Schema]:
    """The schema of each tool's arguments, by the tool's name. Raises BadTools.

    schemas_of([{"type": "function", "function": {"name": "wake", "parameters": {"type": "object", "properties": {}}}}])
    """
    if not isinstance(tools, list):
        raise BadTools("'tools' is no list")
    schemas: dict[str, Schema] = {}
    for tool in tools:
        described = tool.get("function", tool) if isinstance(tool, dict) else None
        name = described.get("name") if isinstance(described, dict) else None
        if not isinstance(described, dict) or not isinstance(name, str) or name in schemas:
            raise BadTools(
                f'a tool is {str(tool)[:60]}: expected {{"name": ..., "parameters": {{...}}}}, each name once'
            )
        schema = described.get("parameters") or {}
        _require_schema(schema, name)
        schemas[name] = schema
    return schemas


def _require_schema(schema: Any, place: str) -> None:
    """Raises BadTools unless the parts that are read here have the form of JSON Schema."""
    if not isinstance(schema, dict):
        raise BadTools(f"the schema of {place[:60]} is {str(schema)[:40]}, not an object")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise BadTools(f"the properties of {place[:60]} are no object")
    for name, one in properties.items():
        _require_schema(one, f"{place}.{name}")
    if isinstance(schema.get("items"), dict):
        _require_schema(schema["items"], f"{place}[]")
    for one in _branches(schema):
        _require_schema(one, place)


def _branches(schema: Schema) -> list[Any]:
    """The schemas of `anyOf` or `oneOf` that are not null: `int | None` of Python has one."""
    listed = schema.get("anyOf", schema.get("oneOf"))
    return [one for one in listed if one != {"type": "null"}] if isinstance(listed, list) else []


def filled(value: Any, schema: Schema) -> Any:
    """A value as its schema reads it: with the defaults of what was left out, and whole numbers as such.

    filled({"at": 7.0}, {"properties": {"at": {"type": "number"}, "loud": {"default": False}}})
    # {"at": 7, "loud": False}
    """
    if len(branches := _branches(schema)) == 1:
        return filled(value, branches[0])
    if isinstance(value, dict):
        return _object(value, schema)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [filled(one, schema["items"]) for one in value]
    if isinstance(value, float) and value.is_integer() and _says_number(schema):
        return int(value)
    return value


def _object(value: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    left_out = {name: one["default"] for name, one in properties.items() if name not in value and "default" in one}
    return {name: filled(one, properties.get(name, {})) for name, one in {**value, **left_out}.items()}


def _says_number(schema: Schema) -> bool:
    """Whether `number` is the only kind of number that the schema names."""
    said = schema.get("type")
    kinds = said if isinstance(said, list) else [said]
    return "number" in kinds and "integer" not in kinds
