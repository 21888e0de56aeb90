"""Requests as OpenAI's interface has them: what a client asks, and what comes of it. No server is in here.

chat_of({"messages": [{"role": "user", "content": "2+2?"}], "stream": True})  # ChatAsked(...), or `Refused`
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.worlds.play import Tool

Json = Mapping[str, Any]
ROLES = ("system", "developer", "user", "assistant", "tool")
MOST_ANSWERS = 64  # of one request
MOST_STOPS = 16


class Refused(Exception):
    """A request that is not answered: the status and the reason that its client is told."""

    def __init__(self, status: int, message: str, *, kind: str = "invalid_request_error") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind

    @property
    def body(self) -> dict[str, Any]:
        return {"error": {"message": str(self), "type": self.kind, "param": None, "code": self.status}}


@dataclass(frozen=True)
class ChatAsked:
    """What a request to `/v1/chat/completions` asks for.

    ChatAsked(({"role": "user", "content": "2+2?"},), most=64)
    """

    messages: tuple[Json, ...]  # as chat templates read them: texts, and arguments of calls as objects
    tools: tuple[Json, ...] = ()  # as OpenAI describes them
    forced: str | None = None  # the name of the tool that must be called; "": any; None: the model decides
    most: int | None = None  # tokens of an answer; None: the client does not say
    temperature: float | None = None
    top_p: float | None = None
    stops: tuple[str, ...] = ()
    count: int = 1
    seed: int | None = None
    logprobs: bool = False
    stream: bool = False
    usage: bool = False  # a stream ends with the number of tokens
    model: str = ""

    @property
    def known(self) -> tuple[Tool, ...]:
        """The tools as worlds have them."""
        told = (tool["function"] for tool in self.tools)
        return tuple(Tool(one["name"], one.get("description") or "", one.get("parameters") or {}) for one in told)


@dataclass(frozen=True)
class TokensAsked:
    """What a request to `/inference/v1/generate` asks for: a continuation of tokens."""

    ids: tuple[int, ...]
    most: int
    temperature: float | None = None
    top_p: float | None = None
    stops: tuple[str, ...] = ()
    seed: int | None = None


@dataclass(frozen=True)
class Ended:
    """An answer that is complete.

    Ended(0, "4", "stop", ids=(7, 2), read=12)
    """

    index: int
    text: str  # without what ended it
    finish: str  # stop or length
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    tokens: tuple[str, ...] = ()  # the texts of `ids`
    read: int = 0  # tokens of the prompt
    mark: str = ""  # how the ids of its calls begin; empty: as the reply is named


@dataclass(frozen=True)
class Said:
    """A piece of an answer that is still being written."""

    index: int
    text: str


Heard = Said | Ended | None
"""What comes of a request while it is answered; None: nothing new, and its client may be looked after."""


# Requests


def chat_of(body: Json) -> ChatAsked:
    """What the body of a request asks. `Refused` says what was expected and what came."""
    tools, forced = _tools(body)
    most, older = (_number(body, name, least=1) for name in ("max_completion_tokens", "max_tokens"))
    options = _choice(body, "stream_options", dict, {})
    if body.get("top_logprobs"):
        raise Refused(400, "top_logprobs is 0 here: only the log-probabilities of written tokens are known.")
    if _choice(body, "response_format", dict, {}).get("type", "text") != "text":
        raise Refused(400, 'response_format is {"type": "text"} here: no grammar binds the model.')
    return ChatAsked(
        messages=tuple(map(_message, _messages(body))),
        tools=tools,
        forced=forced,
        most=older if most is None else most,
        stops=_stops(body),
        count=_number(body, "n", least=1, most=MOST_ANSWERS) or 1,
        logprobs=_choice(body, "logprobs", bool, False),
        stream=_choice(body, "stream", bool, False),
        usage=_choice(options, "include_usage", bool, False),
        model=_choice(body, "model", str, ""),
        **_sampling(body),
    )


def tokens_of(body: Json, *, vocab: int) -> TokensAsked:
    """What the body of a request for tokens asks."""
    ids, how = body.get("token_ids"), _choice(body, "sampling_params", dict, {})
    if not isinstance(ids, list) or not ids or not all(type(one) is int and 0 <= one < vocab for one in ids):
        raise Refused(400, f"token_ids is a list of at least one whole number from 0 to {vocab - 1}, not {ids!r:.60}.")
    if (_number(how, "n", least=1) or 1) != 1:
        raise Refused(400, "n is 1 where tokens are asked for: send a request for each answer.")
    return TokensAsked(tuple(ids), _number(how, "max_tokens", least=1) or 16, stops=_stops(how), **_sampling(how))


def _sampling(body: Json) -> dict[str, Any]:
    return {
        "temperature": _real(body, "temperature", 0.0, math.inf),
        "top_p": _real(body, "top_p", 0.0, 1.0, above=True),
        "seed": _number(body, "seed", least=-(1 << 63), most=(1 << 63) - 1),
    }


def _choice(body: Json, name: str, kind: type, usual: Any) -> Any:
    value = body.get(name)
    if value is None:
        return usual
    if not isinstance(value, kind):
        names = {bool: "true or false", str: "a text", dict: "an object", list: "a list"}
        raise Refused(400, f"{name} is {names[kind]}, not {value!r:.60}.")
    return value


def _number(body: Json, name: str, *, least: int, most: int = 1 << 31) -> int | None:
    value = body.get(name)
    if value is not None and (type(value) is not int or not least <= value <= most):
        raise Refused(400, f"{name} is a whole number from {least} to {most}, not {value!r:.60}.")
    return value


def _real(body: Json, name: str, least: float, most: float, *, above: bool = False) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    fits = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
    if not fits or not math.isfinite(value) or (above and value == least):
        raise Refused(
            400, f"{name} is a number {'above' if above else 'from'} {least:g} to {most:g}, not {value!r:.60}."
        )
    return float(value)


def _stops(body: Json) -> tuple[str, ...]:
    value = body.get("stop")
    listed = [value] if isinstance(value, str) else value or []
    fits = isinstance(listed, list) and all(isinstance(one, str) and one for one in listed)
    if not fits or len(listed) > MOST_STOPS:
        raise Refused(400, f"stop is a text, or a list of up to {MOST_STOPS} texts, not {value!r:.60}.")
    return tuple(listed)


def _messages(body: Json) -> Sequence[Json]:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, f"messages is a list of at least one message, not {messages!r:.60}.")
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise Refused(400, f"messages[{number}] is an object whose role is one of {', '.join(ROLES)}.")
    return messages


def _message(message: Json) -> Json:
    """A message as chat templates read it."""
    made = {"role": {"developer": "system"}.get(message["role"], message["role"]), "content": _text(message)}
    if calls := message.get("tool_calls"):
        if not isinstance(calls, list):
            raise Refused(400, f"tool_calls is a list of calls, not {calls!r:.60}.")
        made["tool_calls"] = [_call(call) for call in calls]
    for name in ("name", "tool_call_id"):
        if message.get(name) is not None:
            made[name] = _choice(message, name, str, "")
    return made


def _text(message: Json) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    if all(isinstance(one, dict) and one.get("type") == "text" and isinstance(one.get("text"), str) for one in parts):
        return "".join(one["text"] for one in parts)
    raise Refused(400, 'content is a text, or a list of parts {"type": "text", "text": ...}: this model reads text.')


def _call(call: Any) -> Json:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise Refused(400, f"a call is an object with a function that has a name, not {call!r:.60}.")
    arguments = function.get("arguments") or {}
    if isinstance(arguments, str):
        with contextlib.suppress(ValueError, RecursionError):  # else it is a text, as the model wrote it
            arguments = json.loads(arguments)
    named = {"name": function["name"], "arguments": arguments}
    return {"type": "function", "function": named, **({"id": call["id"]} if isinstance(call.get("id"), str) else {})}


def _tools(body: Json) -> tuple[tuple[Json, ...], str | None]:
    """(the tools that the model is told of, which of them it must call)."""
    listed = _choice(body, "tools", list, [])
    for number, tool in enumerate(listed):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            raise Refused(400, f'tools[{number}] is {{"type": "function", "function": {{"name": ..., ...}}}}.')
        if not isinstance(function.get("parameters") or {}, dict):
            raise Refused(400, f"tools[{number}].function.parameters is a JSON schema, an object.")
    choice = body.get("tool_choice")
    if choice == "none":
        return (), None
    if choice in (None, "auto"):
        return tuple(listed), None
    named = choice.get("function") if isinstance(choice, dict) else None
    name = named.get("name") if isinstance(named, dict) else "" if choice == "required" else None
    names = [tool["function"]["name"] for tool in listed]
    if not names or (name != "" and name not in names):
        raise Refused(400, f"tool_choice is auto, none, required or a tool of {names}, not {choice!r:.60}.")
    return tuple(listed), name
