"""Replies as OpenAI's interface has them: the words and calls of an answer, whole or as the chunks of a stream."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.worlds.door.chat import ChatAsked, Ended, Json, Said
from assay.worlds.play import Tool
from assay.worlds.speech import call_of

OPENS, CLOSES = "<tool_call>", "</tool_call>"
_CALL = re.compile(rf"(?s){OPENS}(.*?){CLOSES}")


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
