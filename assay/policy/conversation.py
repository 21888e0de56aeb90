"""The chat settings that a run puts into every prompt: a system message, variables of the template, tools.

This module does not import jinja.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from assay.errors import ConfigError, StorageError
from assay.host.files import parse_json, read_bytes

FILE = "assay_chat.json"
Thinking = Literal["template", "on", "off"]


@dataclass(frozen=True)
class Chat:
    """Chat settings. With the defaults, the tokenizer's chat template alone decides.

    Example:
        Chat(system="Reason step by step.", thinking="off", variables=('reasoning_effort="low"',))
    """

    system: str = ""  # the system message, for every prompt that has none of its own
    thinking: Thinking = "template"  # sets `enable_thinking`, for templates that have this variable
    tools: str = ""  # a list of tool schemas as JSON, or the path of a .json file that holds one
    variables: tuple[str, ...] = ()  # further variables of the template, as NAME=JSON

    @property
    def schemas(self) -> list[dict[str, Any]] | None:
        return json.loads(self.tools) if self.tools else None

    @property
    def switches(self) -> dict[str, Any]:
        """The variables that the template sees beside the messages and the tools."""
        thinking = {} if self.thinking == "template" else {"enable_thinking": self.thinking == "on"}
        return thinking | dict(map(_pair, self.variables))


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ConfigError(f"chat.variables: write NAME=JSON, such as reasoning_effort=\"low\", not '{text}'.")
    try:
        return name, parse_json(value)
    except ValueError:
        return name, value  # a word without its quotation marks


def resolved(chat: Chat) -> Chat:
    """The settings with the file of tools read into `tools`, so that the run
    does not depend on a file that may change.
    """
    if not chat.tools:
        return chat
    text = chat.tools
    if not text.lstrip().startswith("["):
        try:
            text = read_bytes(Path(text)).decode()
        except (OSError, ValueError, StorageError) as error:
            raise ConfigError(f"chat.tools: {chat.tools} is neither a JSON list nor a file of one: {error}") from error
    try:
        found = parse_json(text)
    except ValueError as error:
        raise ConfigError(f"chat.tools is not JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(tool, Mapping) for tool in found):
        raise ConfigError("chat.tools must be a list of tool schemas, each a JSON object.")
    return dataclasses.replace(chat, tools=json.dumps(found))


def stored(document: Mapping[str, Any]) -> Chat:
    """The settings stored in a model's folder. `tools` must be JSON there,
    because a path would point out of the folder.
    """
    try:
        chat = Chat(**{**document, "variables": tuple(document.get("variables", ()))})
        texts = (chat.system, chat.tools, *chat.variables)
    except TypeError as error:
        raise ConfigError(f"{FILE} does not hold the settings of a conversation: {error}") from None
    if not all(isinstance(text, str) for text in texts) or chat.thinking not in get_args(Thinking):
        raise ConfigError(f"{FILE}: system, tools and variables are texts, thinking one of {get_args(Thinking)}.")
    if chat.tools and not chat.tools.lstrip().startswith("["):
        raise ConfigError(f"{FILE}: tools must be a JSON list, not {chat.tools[:80]!r}.")
    return chat


def with_system(chat: Chat, messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages, with the system message of the settings before them if they begin with none."""
    first = messages[0].get("role") if messages and isinstance(messages[0], Mapping) else None
    own = [] if not chat.system or first in ("system", "developer") else [{"role": "system", "content": chat.system}]
    return [*own, *messages]
