"""OpenAI's interface as data: what bodies ask, what is refused and in which words, calls, chunks of a stream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.worlds.door.chat import Ended, Refused, Said, chat_of, tokens_of
from assay.worlds.door.replies import Streamed, begun, completion, spoken

ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    },
}
CALL = '<tool_call>{"name": "add", "arguments": {"a": 3}}</tool_call>'
HELLO = [{"role": "user", "content": "hello"}]


def body(**more: Any) -> dict[str, Any]:
    return {"messages": HELLO, **more}


def test_a_body_with_everything() -> None:
    asked = chat_of(
        body(
            tools=[ADD],
            tool_choice="auto",
            max_tokens=9,
            max_completion_tokens=7,
            temperature=0,
            top_p=0.5,
            stop="\n",
            n=2,
            seed=-4,
            logprobs=True,
            stream=True,
            stream_options={"include_usage": True},
            model="m",
        )
    )
    assert (asked.most, asked.temperature, asked.top_p, asked.stops, asked.count, asked.seed) == (
        7,
        0,
        0.5,
        ("\n",),
        2,
        -4,
    )
    assert asked.logprobs and asked.stream and asked.usage and asked.model == "m" and asked.forced is None
    assert [tool.name for tool in asked.known] == ["add"]


def test_messages_are_those_of_chat_templates() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 3}'}}
    asked = chat_of(
        {
            "messages": [
                {"role": "developer", "content": [{"type": "text", "text": "be "}, {"type": "text", "text": "brief"}]},
                {"role": "assistant", "content": None, "tool_calls": [call], "refusal": None},
                {"role": "tool", "tool_call_id": "c", "content": "4"},
            ]
        }
    )
    named = {"type": "function", "function": {"name": "add", "arguments": {"a": 3}}, "id": "c"}
    assert asked.messages == (
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": "", "tool_calls": [named]},
        {"role": "tool", "content": "4", "tool_call_id": "c"},
    )


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"messages": []}, "messages is a list of at least one message, not []"),
        ({"messages": [{"role": "judge"}]}, "messages[0] is an object whose role is one of system"),
        ({"max_tokens": 0}, "max_tokens is a whole number from 1"),
        ({"max_tokens": True}, "not True"),
        ({"temperature": "hot"}, "temperature is a number from 0"),
        ({"temperature": -1}, "not -1"),
        ({"top_p": 0}, "top_p is a number above 0 to 1, not 0"),
        ({"n": 65}, "n is a whole number from 1 to 64, not 65"),
        ({"stop": ["a", ""]}, "stop is a text, or a list"),
        ({"stream": "yes"}, "stream is true or false, not 'yes'"),
        ({"top_logprobs": 3}, "top_logprobs is 0 here"),
        ({"response_format": {"type": "json_object"}}, "no grammar binds the model"),
        ({"tools": [{"type": "function"}]}, "tools[0] is"),
        ({"tool_choice": "required"}, "tool_choice is auto, none, required or a tool of []"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "this model reads text"),
        ({"messages": [{"role": "assistant", "tool_calls": [3]}]}, "a call is an object with a function"),
    ],
)
def test_what_is_no_request_is_told_so(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(Refused) as error:
        chat_of({**body(), **wrong})
    assert error.value.status == 400 and told in str(error.value)
    assert error.value.body["error"]["message"] == str(error.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = ["messages", "tools", "tool_choice", "max_tokens", "temperature", "top_p", "stop", "n", "seed", "logprobs"]
NAMES += ["stream", "stream_options", "model"]


@given(st.dictionaries(st.sampled_from(NAMES), JSON), st.booleans())
def test_no_body_is_anything_but_a_question_or_a_refusal(given: dict[str, Any], talks: bool) -> None:
    try:
        chat_of({**given, **({"messages": HELLO} if talks else {})})
        tokens_of({"token_ids": [1], "sampling_params": given}, vocab=3)
    except Refused as refused:
        assert refused.status == 400


def test_tokens() -> None:
    asked = tokens_of({"token_ids": [1, 2], "sampling_params": {"max_tokens": 5, "temperature": 0.5}}, vocab=3)
    assert (asked.ids, asked.most, asked.temperature) == ((1, 2), 5, 0.5)
    for ids in ([], [3], [-1], ["1"], [True], None):
        with pytest.raises(Refused, match="token_ids is a list of at least one whole number from 0 to 2"):
            tokens_of({"token_ids": ids}, vocab=3)


def test_which_tool_must_be_called() -> None:
    named = {"type": "function", "function": {"name": "add"}}
    assert [chat_of(body(tools=[ADD], tool_choice=one)).forced for one in ("auto", "required", named)] == [
        None,
        "",
        "add",
    ]
    assert chat_of(body(tools=[ADD], tool_choice="none")).tools == ()
    assert begun(None) == "" and begun("") + 'add"' == '<tool_call>{"name": "add"'
    assert spoken(begun("add") + '{"a": 3}}</tool_call>', chat_of(body(tools=[ADD])).known, "x").calls


def test_calls_are_taken_out_of_the_words_and_others_stay() -> None:
    tools = chat_of(body(tools=[ADD])).known
    said = spoken(f"Well. {CALL}\n{CALL}", tools, "x")
    function = {"name": "add", "arguments": '{"a": 3}'}
    assert said.content == "Well."
    assert said.calls == tuple({"id": f"call-x-{i}", "type": "function", "function": function} for i in range(2))
    assert spoken(CALL, tools, "x").message["content"] is None
    for text in ("<tool_call>{</tool_call>", CALL.replace("add", "sub"), "<tool_call>", "plain "):
        assert spoken(text, tools, "x") == spoken(text, (), "x") and spoken(text, tools, "x").content == text
    misfit = spoken(CALL.replace("3", '"three"'), tools, "x")  # the client says what is wrong with it
    assert json.loads(misfit.calls[0]["function"]["arguments"]) == {"a": "three"}


def test_a_whole_reply() -> None:
    asked = chat_of(body(tools=[ADD], n=2, logprobs=True))
    answers = [
        Ended(1, CALL, "stop", ids=(4, 5), logprobs=(-1.0, -2.0), tokens=("a", "é"), read=7),
        Ended(0, "hi", "length", ids=(4,), logprobs=(-0.5,), tokens=("a",), read=7),
    ]
    made = completion(asked, answers, name="x", model="m")
    assert made["usage"] == {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    assert [(one["index"], one["finish_reason"]) for one in made["choices"]] == [(0, "length"), (1, "tool_calls")]
    assert made["choices"][1]["logprobs"]["content"][1] == {
        "token": "é",
        "logprob": -2.0,
        "bytes": [0xC3, 0xA9],
        "top_logprobs": [],
    }


def streamed(asked: Any, pieces: list[str]) -> tuple[str, list[Any], str]:
    """(the words, the calls, why it ended) as a client puts the chunks of a stream together."""
    stream = Streamed(asked, "x", "m")
    chunks = [chunk for piece in pieces for chunk in stream.piece(Said(0, piece))]
    chunks += stream.ended(Ended(0, "".join(pieces), "stop"))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
    return "".join(delta.get("content", "") for delta in deltas), calls, chunks[-1]["choices"][0]["finish_reason"]


@given(
    st.lists(st.sampled_from(["a", " b", "\n", "<", "<tool", "_call>", CALL, "</tool_call>"]), max_size=6),
    st.integers(1, 5),
)
def test_a_stream_says_what_a_whole_reply_says(parts: list[str], size: int) -> None:
    text, asked = "".join(parts), chat_of(body(tools=[ADD]))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    words, calls, finish = streamed(asked, pieces)
    whole = completion(asked, [Ended(0, text, "stop")], name="x", model="m")["choices"][0]
    assert words == (whole["message"]["content"] or "")
    assert [call["function"] for call in calls] == [call["function"] for call in whole["message"].get("tool_calls", ())]
    assert finish == whole["finish_reason"]
