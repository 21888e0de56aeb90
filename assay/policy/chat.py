"""Chat templates: messages -> text, with the environment that Hugging Face templates are written for.

Templates come with checkpoints and are untrusted code, so they run in jinja's immutable sandbox and see plain JSON.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from assay.errors import DataError

Message = Mapping[str, Any]


class _Generation(Extension):
    """`{% generation %}...{% endgeneration %}` marks what the assistant wrote; rendering passes its body through."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


# For tokenizers without a template: roles by name, a blank line between turns, opened for the assistant.
PLAIN = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | capitalize }}: {{ message['content'] }}\n\n"
    "{% endfor %}Assistant:"
)


def names_in(template: str) -> frozenset[str]:
    """The variables that a template reads and does not set itself."""
    return frozenset(meta.find_undeclared_variables(_environment().parse(template)))


def render_chat(
    template: str,
    messages: Sequence[Message],
    *,
    variables: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """The text of a conversation, opened for the assistant's next turn."""
    if not messages:
        raise DataError("an empty conversation cannot be rendered; give at least one message.")
    for message in messages:
        if not isinstance(message, Mapping) or "role" not in message:
            raise DataError(f"a message must be a mapping with role and content, not {message!r}.")
    plain = [{name: value for name, value in message.items() if value is not None} for message in messages]
    given = {"tools": tools, "documents": None, **variables}
    context = {**given, "messages": plain, "add_generation_prompt": True}
    try:
        return _compile(template).render(**context)
    except (jinja2.TemplateError, TypeError) as error:
        system = any(message["role"] == "system" for message in messages) and "system" in str(error).lower()
        advice = ". Put what the system message says into the first message of the user." if system else ""
        raise DataError(f"the chat template refused these messages: {error}{advice}") from error


@functools.lru_cache(maxsize=16)
def _compile(template: str) -> jinja2.Template:
    return _environment().from_string(template)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)


def _strftime_now(form: str) -> str:
    return datetime.now().strftime(form)
