"""`assay show SLOT:NAME`: the card of a part. The card says what the part's function is called with and may ask for,
what the fields mean, how the part answers the questions that the program asks every part, and which recipes use it.

The card is read from the code: names and their meanings from `assay.part`, the meaning of a field from the comment
behind the field.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, get_args, get_origin

from assay.host.reach import mark_of
from assay.known import METHOD_OF, RECIPES, SLOTS
from assay.part import Part, Thing, kind_of, parts_of
from assay.part_checks import GIVEN, OFFERED, bounds_of, choices_of
from assay.run.configure import to_data
from assay.streams import hints_of

STRUCTURE = (
    "does",
    "known_as",
    "slots",
    "given",
    "offers",
    "reads",
    "writes",
)  # attributes of a kind that answer no question
EXAMPLE = re.compile(r"^ *--", re.MULTILINE)  # in a paragraph of a docstring: the line that the command line takes
WIDTH = 116


def part_card(slot: str, name: str) -> dict[str, Any]:
    """The card of the part of this name in this slot, as data.

    part_card("gate", "clip")["fields"][0]["default"]  # 0.2
    assay show gate:clip --json
    """
    record = SLOTS[slot][name]
    kind = kind_of(record)
    asked = set(inspect.signature(record.does).parameters) - {field.name for field in dataclasses.fields(record)}
    summary, *says = paragraphs(record)
    return {
        "kind": "part",
        "name": f"{slot}:{name}",
        "slots": list(kind.slots),
        "summary": summary,
        "says": says,
        "function": f"{record.does.__module__}.{record.does.__name__}",
        "formula": inspect.cleandoc(record.does.__doc__ or ""),
        "called_with": [{"name": item, "means": GIVEN[item]} for item in kind.given],
        "may_ask_for": [{"name": item, "means": OFFERED[item], "asks": item in asked} for item in kind.offers],
        "fields": [_field(record, field) for field in dataclasses.fields(record)],
        "answers": [_answer(record, item) for item in questions(kind)],
        "reads": sorted(map(_called, record.reads)),
        "writes": sorted(map(_called, record.writes)),
        "used_by": sorted(recipe.name for recipe in RECIPES.values() if _uses(recipe, record)),
        "method": _method(record),
    }


@functools.cache
def meanings(record: type) -> dict[str, str]:
    """The comment behind each annotated name of a class and of its base classes."""
    found: dict[str, str] = {}
    for owner in reversed(record.__mro__[:-1]):
        found |= _comments(owner)
    return found


@functools.cache
def _comments(owner: type) -> dict[str, str]:
    source = textwrap.dedent(inspect.getsource(owner))
    behind = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and not token.string.startswith(("# type:", "# noqa"))
    }
    (made,) = ast.parse(source).body
    assert isinstance(made, ast.ClassDef)
    fields = [item for item in made.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    return {item.target.id: behind.get(item.end_lineno or item.lineno, "") for item in fields}  # type: ignore[union-attr]


@functools.cache
def questions(kind: type[Part]) -> dict[str, str]:
    """The questions that the program asks every part of this kind: name and meaning of each."""
    said = meanings(kind)
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__[:-1]):
        for name, hint in inspect.get_annotations(owner).items():
            if str(hint).startswith("ClassVar") and not name.startswith("_"):
                found[name] = said.get(name, "")
        for name, item in vars(owner).items():
            if isinstance(item, property) or (inspect.isfunction(item) and not name.startswith("_")):
                found[name] = " ".join((inspect.getdoc(item) or "").split())
    return {name: means for name, means in found.items() if name not in STRUCTURE}


def _answer(record: type[Part], question: str) -> dict[str, Any]:
    """A question with the part's answer: the value, or for a method whether the part overrides that of its kind."""
    item = inspect.getattr_static(record, question)
    own = item is not inspect.getattr_static(kind_of(record), question)
    value: Any = "its own" if own else "as its kind"
    if isinstance(item, property):
        value = getattr(record(), question)
    elif not inspect.isfunction(item):
        value = getattr(record, question)
    value = sorted(value) if isinstance(value, frozenset) else to_data(value)
    return {"name": question, "answer": value, "means": questions(kind_of(record))[question], "own": own}


def _called(thing: Thing) -> str:
    """The name of a thing that a part says it reads or writes."""
    return thing if isinstance(thing, str) else thing.__name__ if isinstance(thing, type) else thing.name


def _field(record: type[Part], field: dataclasses.Field[Any]) -> dict[str, Any]:
    hint = hints_of(record)[field.name]
    scales = field.metadata.get("scales_with")
    return {
        "name": field.name,
        "type": type_name(hint),
        "default": to_data(getattr(record(), field.name)),
        "choices": list(choices_of(hint)),
        "scales_with": f"{'1 / ' if field.metadata.get('inverse') else ''}{scales}" if scales else None,
        "means": meanings(record)[field.name],
    }


def type_name(hint: Any) -> str:
    """A type in words: `float or none`."""
    if get_origin(hint) is Annotated:
        bounds, mark = bounds_of(hint), mark_of(hint)
        reach = None if mark is None else f"a run {mark.does} it"
        return ", ".join(map(str, filter(None, (type_name(get_args(hint)[0]), bounds, reach))))
    if choices_of(hint):
        return "one of its choices" + (" or none" if type(None) in get_args(hint) else "")
    if get_origin(hint) is tuple:
        return f"several {type_name(get_args(hint)[0])}"
    if get_origin(hint) is ClassVar or not get_args(hint):
        return getattr(hint, "__name__", str(hint))
    return " or ".join("none" if item is type(None) else type_name(item) for item in get_args(hint))


def paragraphs(record: type) -> list[str]:
    """The paragraphs of a docstring, each as one line; an example keeps its lines."""
    found = inspect.cleandoc(record.__doc__ or "").split("\n\n")
    return [inspect.cleandoc(text) if EXAMPLE.search(text) else " ".join(text.split()) for text in found]


def _uses(recipe: Any, record: type[Part]) -> bool:
    return any(type(part) is record for part in parts_of((recipe.mechanisms, recipe.stages)))


def _method(record: type[Part]) -> list[dict[str, str]]:
    """The recipes of the method in whose folder the part is, with their papers; none for a part that methods share."""
    place = record.__module__
    mine = [name for name, method in METHOD_OF.items() if place == method or place.startswith(f"{method}.")]
    return [{"recipe": name, "title": RECIPES[name].title, "paper": RECIPES[name].paper} for name in mine]


def part_text(card: Mapping[str, Any]) -> str:
    """The card as text for a terminal."""
    lines = [f"name: {card['name']}", *_wrapped(card["summary"])]
    for paragraph in card["says"]:
        example = EXAMPLE.search(paragraph)
        lines += ["", *([f"  {line}" for line in paragraph.splitlines()] if example else _wrapped(paragraph))]
    lines += ["", f"function: {card['function']}", *(f"  {line}".rstrip() for line in card["formula"].splitlines())]
    lines += ["", "called with", *_table((row["name"], row["means"]) for row in card["called_with"])]
    if card["may_ask_for"]:
        rows = [(row["name"] + " *" * row["asks"], row["means"]) for row in card["may_ask_for"]]
        lines += ["", "may ask for, by an argument of this name (* this function does)", *_table(rows)]
    if card["fields"]:
        lines += ["", "fields", *_table((row["name"], _said(row)) for row in card["fields"])]
    rows = [(row["name"], f"{_plain(row['answer'])}: {row['means']}") for row in card["answers"] if row["own"]]
    if rows:
        lines += ["", "answers that differ from those of its kind", *_table(rows)]
    if card["reads"]:
        lines += ["", f"reads the store of one of these parts: {', '.join(card['reads'])}"]
    lines += ["", *_wrapped(f"used by: {', '.join(card['used_by']) or 'no recipe'}")]
    for row in {(row["title"], row["paper"]): row for row in card["method"]}.values():
        lines.append(f"paper: {row['title']} ({row['paper']})")
    return "\n".join(lines)


def _wrapped(text: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _said(row: Mapping[str, Any]) -> str:
    kind = ", ".join(map(str, row["choices"])) if row["choices"] else row["type"]
    moves = f"; in proportion to {row['scales_with']}" if row["scales_with"] else ""
    means = f": {row['means']}" if row["means"] else ""
    return f"{kind}; default {_plain(row['default'])}{moves}{means}"


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value.get("part", value))
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value) or "''"


def _table(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    rows = list(pairs)
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        first, *more = _wrapped(text, WIDTH - width - 4) or [""]
        yield f"  {name:<{width}}  {first}".rstrip()
        yield from (f"  {'':<{width}}  {line}" for line in more)
