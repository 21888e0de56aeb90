"""Chat templates: messages -> text, in the jinja environment that Hugging Face templates are written for.

A template that comes with a checkpoint is a program by a stranger: it may loop for ever, fill the memory or divide by
zero. So it runs in a process of its own, with a limit of time and memory for each prompt. Our own templates run here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import DataError
from assay.host.workers import Workers
from assay.policy import chat_worker

Message = Mapping[str, Any]

SECONDS, MEMORY_MB = 2.0, 512  # the limits for one prompt, which usually takes a few thousandths of a second

# For tokenizers without a template: each message with its role before it and a blank line after, then "Assistant:".
PLAIN = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] | capitalize }}: {{ message['content'] }}\n\n"
    "{% endfor %}Assistant:"
)
UNOPENED = PLAIN.removeprefix("{{ bos_token }}")  # for tokenizers that begin no text with a bos token
# The assistant's turns end with eos, as sampled answers do: so a later prompt holds the very tokens that were sampled.
CHARACTERS = (
    "{{ bos_token }}{% for message in messages %}{{ message['content'] }}"
    "{{ eos_token if message['role'] == 'assistant' else sep_token }}{% endfor %}"
)
OURS = frozenset([PLAIN, UNOPENED, CHARACTERS])

_WORKERS = Workers("assay.policy.chat_worker:answer", count=1, deadline=SECONDS, memory_mb=MEMORY_MB)


@functools.lru_cache(maxsize=16)
def names_in(template: str, *, place: str = "") -> frozenset[str]:
    """The variables that a template reads and does not set itself."""
    return frozenset(_run(template, None, place))


def render_chat(
    template: str,
    messages: Sequence[Message],
    *,
    variables: Mapping[str, Any],
    tools: Sequence[Mapping[str, Any]] | None = None,
    place: str = "",
) -> str:
    """The text of a conversation up to where the assistant's next turn begins. `place` names the template in errors."""
    if not messages:
        raise DataError("an empty conversation cannot be rendered; give at least one message.")
    for message in messages:
        if not isinstance(message, Mapping) or "role" not in message:
            raise DataError(f"a message must be a mapping with role and content, not {message!r}.")
    plain = [{name: value for name, value in message.items() if value is not None} for message in messages]
    given = {"tools": tools, "documents": None, **variables}
    try:
        return _run(template, {**given, "messages": plain, "add_generation_prompt": True}, place)
    except DataError as error:
        system = any(message["role"] == "system" for message in messages) and "system" in str(error).lower()
        advice = " Put what the system message says into the first message of the user." if system else ""
        raise DataError(f"{error}{advice}") from None


def _run(template: str, context: Mapping[str, Any] | None, place: str) -> Any:
    """The result of rendering, or the names that the template reads; DataError where the template fails."""
    job = {"template": template, "context": context}
    if template in OURS:
        return _value(chat_worker.answer(job, lambda reached: None), place)
    (outcome,) = _WORKERS.map([job])
    if outcome.status == "done":
        return _value(outcome.result, place)
    limits = {"time": f"took longer than {SECONDS:g} s", "memory": f"wanted more than {MEMORY_MB} MB"}
    raise DataError(f"{_named(place)} {limits.get(outcome.status, 'ended its process')}, and was stopped.")


def _value(result: Mapping[str, Any], place: str) -> Any:
    if "refused" in result:
        raise DataError(f"{_named(place)} {result['refused']}.")
    return result["value"]


def _named(place: str) -> str:
    return f"the chat template of {place}" if place else "the chat template"
