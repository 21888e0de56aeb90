"""Requests and answers as OpenAI's interface has them: what a client asks, and what it is told. No server is in here.

chat_of({"messages": [{"role": "user", "content": "2+2?"}], "stream": True})  # ChatAsked(...), or `Refused`
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.worlds.play import Tool
from assay.worlds.speech import call_of

Json = Mapping[str, Any]
ROLES = ("system", "developer", "user", "assistant", "tool")
MOST_ANSWERS = 64  # of one request
MOST_STOPS = 16
OPENS, CLOSES = "<tool_call>", "</tool_call>"
_CALL = re.compile(rf"(?s){OPENS}(.*?){CLOSES}")


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


# Answers


@dataclass(frozen=True)
class Spoken:
    """The words of an answer and its calls.

    spoken('<tool_call>{"name": "f", "arguments": {}}</tool_call>', tools, "a1")  # Spoken("", ({"id": "call-a1-0"},))
    """

    content: str
    calls: tuple[Json, ...] = ()

    @property
    def message(self) -> dict[str, Any]:
        calls = {"tool_calls": list(self.calls)} if self.calls else {}
        return {"role": "assistant", "content": self.content or (None if self.calls else ""), **calls}


def spoken(text: str, tools: Sequence[Tool], mark: str) -> Spoken:
    """The words and the calls of an answer. A call that cannot be read, or of a tool that is not there, stays among
    the words; the ids of calls begin with `mark`.
    """
    calls: list[Json] = []

    def taken(written: re.Match[str]) -> str:
        call = call_of(written[1], tools)
        if call.name not in [tool.name for tool in tools] or (call.fault and not call.arguments):
            return written[0]
        function = {"name": call.name, "arguments": json.dumps(dict(call.arguments), ensure_ascii=False)}
        calls.append({"id": f"call-{mark}-{len(calls)}", "type": "function", "function": function})
        return ""

    left = _CALL.sub(taken, text) if tools else text
    return Spoken(left.strip() if calls else left, tuple(calls))


def before_stops(text: str, stops: Sequence[str]) -> str:
    """The text before the first of the texts that end it."""
    places = [place for stop in stops if (place := text.find(stop)) >= 0]
    return text[: min(places)] if places else text


def begun(forced: str | None) -> str:
    """The text with which the answer begins where a tool must be called."""
    if forced is None:
        return ""
    return f'{OPENS}{{"name": "' + (f'{forced}", "arguments": ' if forced else "")


def _finish(ended: Ended, said: Spoken) -> str:
    return "tool_calls" if said.calls and ended.finish == "stop" else ended.finish


def completion(asked: ChatAsked, answers: Sequence[Ended], *, name: str, model: str) -> dict[str, Any]:
    """The whole reply to a request that does not stream."""
    choices = []
    for ended in sorted(answers, key=lambda each: each.index):
        said = spoken(ended.text, asked.known, ended.mark or f"{name}-{ended.index}")
        logprobs = {"content": _logprobs(ended)} if asked.logprobs else None
        choices.append(
            {"index": ended.index, "message": said.message, "finish_reason": _finish(ended, said), "logprobs": logprobs}
        )
    return {**_head("chat.completion", name, model), "choices": choices, "usage": usage_of(answers)}


def usage_of(answers: Sequence[Ended]) -> dict[str, int]:
    """The numbers of tokens; the prompt counts once."""
    read, written = max((one.read for one in answers), default=0), sum(len(one.ids) for one in answers)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _logprobs(ended: Ended) -> list[Json]:
    pairs = zip(ended.tokens, ended.logprobs, strict=True)
    return [
        {"token": text, "logprob": value, "bytes": list(text.encode("utf-8", "replace")), "top_logprobs": []}
        for text, value in pairs
    ]


def _head(kind: str, name: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{name}", "object": kind, "created": int(time.time()), "model": model}


@dataclass
class Streamed:
    """A reply as the chunks of a stream. What may turn out to be a call is held back until it is complete."""

    asked: ChatAsked
    name: str
    model: str
    told: dict[int, str] = field(default_factory=dict)  # index -> the text that was sent
    held: dict[int, str] = field(default_factory=dict)  # index -> all that was written so far
    answers: list[Ended] = field(default_factory=list)

    def first(self) -> Iterator[Json]:
        for index in range(self.asked.count):
            yield self._chunk(index, {"role": "assistant", "content": ""})

    def piece(self, said: Said) -> Iterator[Json]:
        whole = self.held[said.index] = self.held.get(said.index, "") + said.text
        yield from self._up_to(said.index, whole if not self.asked.tools else _before_calls(whole))

    def ended(self, ended: Ended) -> Iterator[Json]:
        """The rest of an answer, its calls, and why it ended."""
        self.answers.append(ended)
        said = spoken(ended.text, self.asked.known, ended.mark or f"{self.name}-{ended.index}")
        yield from self._up_to(ended.index, said.content)
        for number, call in enumerate(said.calls):
            yield self._chunk(ended.index, {"tool_calls": [{"index": number, **call}]})
        logprobs = {"content": _logprobs(ended)} if self.asked.logprobs else None
        yield self._chunk(ended.index, {}, finish=_finish(ended, said), logprobs=logprobs)

    def last(self) -> Iterator[Json]:
        if self.asked.usage:
            head = _head("chat.completion.chunk", self.name, self.model)
            yield {**head, "choices": [], "usage": usage_of(self.answers)}

    def _up_to(self, index: int, text: str) -> Iterator[Json]:
        sent = self.told.get(index, "")
        if len(text) > len(sent) and text.startswith(sent):
            self.told[index] = text
            yield self._chunk(index, {"content": text[len(sent) :]})

    def _chunk(self, index: int, delta: Json, *, finish: str | None = None, logprobs: Any = None) -> Json:
        choice = {"index": index, "delta": delta, "finish_reason": finish, "logprobs": logprobs}
        return {**_head("chat.completion.chunk", self.name, self.model), "choices": [choice]}


def _before_calls(text: str) -> str:
    """The part of an unfinished text that stands before a call, or before what may become one; blanks at its ends,
    which a call would take away, are held back.
    """
    text = text.partition(OPENS)[0]
    begins = next((size for size in range(len(OPENS) - 1, 0, -1) if text.endswith(OPENS[:size])), 0)
    before = text[: len(text) - begins]
    return "" if before[:1].isspace() else before.rstrip()
