"""The content of a message: a text, or parts as Hugging Face's chat messages have them, texts and pictures.

    {"role": "user", "content": [{"type": "image", "path": "grid.png"}, {"type": "text", "text": "How many are red?"}]}

A picture is named by its source: the path of a file, or a `data:` address that holds the file itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.prompt import Content, parts_of

SOURCES = ("image", "path", "url")  # the fields of an image part that may hold its source
PICTURE: Mapping[str, Any] = {"type": "image"}  # an image part as chat templates see it: they write its mark alone


def pictures_in(prompt: str | Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The sources of the pictures of a prompt, in their order."""
    for message in () if isinstance(prompt, str) else prompt:
        for part in parts_of(message.get("content") or ""):
            if part["type"] != "text":
                yield source_of(part)


def source_of(part: Mapping[str, Any]) -> str:
    """The source of an image part. Other parts are refused, and so are pictures that lie on the network."""
    found = next((part[name] for name in SOURCES if part.get(name)), None)
    if part.get("type") != "image" or not isinstance(found, str):
        raise DataError(
            f"a part of a message must be {{'type': 'text', 'text': ...}} or {{'type': 'image', 'path': ...}}, not "
            f"{str(dict(part))[:120]}."
        )
    if found.startswith(("http:", "https:")):
        raise DataError(f"the picture {found[:80]} lies on the network: save it, and give the path of the file.")
    return found


def plain_parts(content: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The parts of a message, each with the fields that are needed: a text, or the source of a picture."""
    return [_plain(part if isinstance(part, Mapping) else {"type": type(part).__name__}) for part in content]


def _plain(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    return {"type": "image", "path": source_of(part)}


def calls_in_words(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message with its calls in its text, as templates write them that know of calls, for one that does not."""
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    if not calls:
        return message
    told = [json.dumps({"name": call["name"], "arguments": call["arguments"]}, ensure_ascii=False) for call in calls]
    text = "".join([message.get("content") or "", *(f"<tool_call>{each}</tool_call>" for each in told)])
    return {**{name: value for name, value in message.items() if name != "tool_calls"}, "content": text}


def marked(messages: Sequence[Mapping[str, Any]], mark: str | None) -> list[Mapping[str, Any]]:
    """The messages as a chat template reads them. Templates of models that see read parts, and write the mark of each
    picture themselves; for a template that reads texts, `mark` stands in the text.
    """
    return [{**message, "content": _marked(message.get("content") or "", mark)} for message in messages]


def _marked(content: Content, mark: str | None) -> Content:
    parts = [part if part["type"] == "text" else PICTURE for part in parts_of(content)]
    return parts if mark is None else "".join(mark if part is PICTURE else part["text"] for part in parts)
