"""The child process that renders chat templates of checkpoints, which are programs by strangers.

The templates run in jinja's immutable sandbox and see plain JSON data alone.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST = 1 << 22  # characters of a rendered prompt: millions of tokens
TOLD = 500  # characters of an error message, which may hold the whole prompt


def answer(job: Mapping[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """{"value": ...} for a job {"template", "context"}, or {"refused": a sentence} where the template fails.

    The value is the rendered text. Where the context is None, it is the names that the template reads and does not set.
    """
    try:
        return {"value": names_in(job["template"]) if job["context"] is None else render(**job)}
    except MemoryError:
        raise
    except (jinja2.TemplateError, TypeError) as error:
        return {"refused": f"refused these messages: {error!s:.{TOLD}}"}
    except Exception as error:  # a template is a program: it may divide by zero, index too far, call itself for ever
        return {"refused": f"failed: {type(error).__name__}: {error!s:.{TOLD}}"}


def names_in(template: str) -> list[str]:
    return sorted(meta.find_undeclared_variables(_environment().parse(template)))


def render(template: str, context: Mapping[str, Any]) -> str:
    text = _compile(template).render(**context)
    if len(text) > LONGEST:
        raise ValueError(f"it writes {len(text):,} characters; a prompt has at most {LONGEST:,}")
    return text


class _Generation(Extension):
    """`{% generation %}...{% endgeneration %}` marks what the assistant wrote; rendering passes its body through."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


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
