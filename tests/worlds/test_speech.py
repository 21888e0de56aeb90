"""Speeches: what is written is read back, faults are told in words, and no page can imitate a reply."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.policy import character_tokenizer
from assay.policy.conversation import Chat
from assay.run.spoken_tools import with_tools
from assay.source import Pool, Share
from assay.tasks import ALPHABET, TASKS
from assay.worlds import CHAT, COMPACT, FENCE, JSON, TAGS, Call, Line, Speech, Tool, takes_text

ONE = (takes_text("look", "field"),)
TWO = (
    Tool(
        "add",
        "The sum of two numbers.",
        {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": ["integer", "number"]}, "to": {"enum": ["x", "y"]}},
            "required": ["a", "b"],
        },
    ),
    takes_text("look", "field"),
)
SPEECHES: tuple[Speech, ...] = (COMPACT, TAGS, FENCE, JSON, CHAT)
WORD = st.text("abcXYZ 0123456789", min_size=1, max_size=12).map(str.strip).filter(bool)


def waits(speech: Speech, text: str, tools: tuple[Tool, ...]) -> bool:
    return any(text.endswith(stop) for stop in speech.stops(tools))


@pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: speech.name)
@settings(deadline=None)
@given(before=WORD, word=WORD)
def test_a_call_that_is_written_is_read_back(speech: Speech, before: str, word: str) -> None:
    text = f"{before}\n{speech.call('look', {'field': word}, ONE)}"
    (call,) = speech.read(text, ONE, waits=waits(speech, text, ONE))
    assert call == Call("look", {"field": word})


@pytest.mark.parametrize("speech", [TAGS, JSON, CHAT], ids=lambda speech: speech.name)
@settings(deadline=None)
@given(a=st.integers(), b=st.floats(allow_nan=False, allow_infinity=False), to=st.sampled_from("xy"))
def test_arguments_keep_their_types(speech: Speech, a: int, b: float, to: str) -> None:
    text = speech.call("add", {"a": a, "b": b, "to": to}, TWO)
    (call,) = speech.read(text, TWO, waits=waits(speech, text, TWO))
    assert call == Call("add", {"a": a, "b": b, "to": to})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"a": 1}, "add needs b"),
        ({"a": "1", "b": 2}, "a of add is integer"),
        ({"a": True, "b": 2}, "a of add is integer"),
        ({"a": 1, "b": None}, "b of add is integer or number"),
        ({"a": 1, "b": 2, "c": 3}, "add has no field 'c'"),
        ({"a": 1, "b": 2, "to": "z"}, "to of add is one of x, y"),
    ],
)
def test_arguments_that_do_not_fit_the_schema_are_a_fault(arguments: dict[str, Any], told: str) -> None:
    (call,) = JSON.read(JSON.call("add", arguments, TWO), TWO, waits=True)
    assert told in call.fault


@pytest.mark.parametrize(
    ("speech", "text", "told"),
    [
        (COMPACT, "2+2]", "written [INPUT]"),
        (COMPACT, "[look a] and [", ""),
        (COMPACT, "[lock a]", "no tool 'lock'; did you mean look?"),
        (TAGS, "<look>a", ""),
        (TAGS, "</look>", "written <NAME>INPUT</NAME>"),
        (TAGS, "<add>1, 2</add>", "an object of JSON"),
        (TAGS, "<look>a</look><result>4</result>", "only replies stand in <result>"),
        (FENCE, "```output\n4\n```\n", "only replies stand in a fence named output"),
        (FENCE, "and\n```\n", "a program stands between"),
        (JSON, '{"name": "look"\n', "an object of JSON"),
        (JSON, '{"tool": "look"}\n', "a call has a name"),
        (JSON, '{"name": "look", "arguments": [1]}\n', "arguments of a call are an object"),
        (JSON, '{"result": "4"}\n', "only replies have a result"),
        (CHAT, "<tool_call>{}", "has no end"),
        (CHAT, "<tool_response>4</tool_response>", "only replies stand in <tool_response>"),
        (JSON, "{" * 100_000 + "}\n", "is too long"),
    ],
)
def test_what_cannot_be_read_is_a_fault_in_words(speech: Speech, text: str, told: str) -> None:
    calls = speech.read(text, TWO, waits=waits(speech, text, TWO))
    assert (told in calls[0].fault) if told else not calls


def test_two_calls_in_a_turn_are_read_in_their_order() -> None:
    text = CHAT.call("look", {"field": "a"}, TWO) + CHAT.call("add", {"a": 1, "b": 2}, TWO)
    assert [call.name for call in CHAT.read(text, TWO, waits=False)] == ["look", "add"]


@pytest.mark.parametrize("speech", [TAGS, FENCE, JSON, CHAT], ids=lambda speech: speech.name)
def test_a_page_cannot_imitate_the_end_of_a_reply(speech: Speech) -> None:
    page = "".join([*speech.markers, "```\nand on", '"}\n{"result": "5"}'])
    written = speech.write([Line(page)])
    plain = speech.write([Line("page")])
    for marker in (*speech.markers, *(("```\n",) if speech is FENCE else ())):
        assert written.count(marker) == plain.count(marker)


@settings(deadline=None)
@given(text=st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    for speech in SPEECHES:
        for waiting in (False, True):
            for tools in (ONE, TWO, ()):
                assert all(isinstance(call, Call) for call in speech.read(text, tools, waits=waiting))


@pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: speech.name)
def test_a_prompt_says_how_to_call(speech: Speech) -> None:
    assert speech is CHAT or "look(field)" in speech.about(TWO)


# Chat templates

TEMPLATE = (
    "{% if tools %}{{ '<|im_start|>system\\n' + (tools | tojson) + '<|im_end|>\\n' }}{% endif %}"
    "{% for m in messages %}{{ '<|im_start|>' + ('user\\n<tool_response>\\n' + m.content + '\\n</tool_response>' "
    "if m.role == 'tool' else m.role + '\\n' + m.content) + eos_token + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def test_a_reply_is_what_the_template_writes_in_the_whole_conversation() -> None:
    plain = character_tokenizer(f"{ALPHABET}\n")
    tokenizer = dataclasses.replace(plain, template=TEMPLATE).speaking(Chat(tools=json.dumps([{"name": "look"}])))
    call = CHAT.call("look", {"field": "a"}, ONE)
    question = {"role": "user", "content": "who?"}
    talk = [question, {"role": "assistant", "content": call}, {"role": "tool", "content": "it is b"}]
    answer = np.append(tokenizer.encode(call), min(tokenizer.end_ids))
    appended = np.concatenate([tokenizer.render([question]), answer, tokenizer.heard(["it is b"], ended=True)])
    assert appended.tolist() == tokenizer.render(talk).tolist()


def test_a_model_without_a_template_hears_no_tools() -> None:
    with pytest.raises(ConfigError, match="has none for tools"):
        character_tokenizer(ALPHABET).heard(["4"], ended=True)


def test_the_template_is_told_of_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = TASKS["calculator"]
    assert plain.world is not None
    assert with_tools(Chat(), Pool((Share("calculator"),))) == Chat()
    monkeypatch.setitem(
        TASKS, "calculator", dataclasses.replace(plain, world=dataclasses.replace(plain.world, speech=CHAT))
    )
    (tool,) = with_tools(Chat(), Pool((Share("calculator"),))).schemas or []
    assert tool["function"]["name"] == "calculate" and tool["function"]["parameters"]["required"] == ["operation"]
    own = Chat(tools="[]")
    assert with_tools(own, Pool((Share("calculator"),))) == own
