"""Messages with calls, for templates that know of calls and for those that do not, and what follows an answer."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from assay.policy import character_tokenizer
from assay.policy.messages import calls_in_words
from assay.tasks import ALPHABET

KNOWS = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] %}"
    "{{ c.function.name }}({{ c.function.arguments.a }}){% endfor %};{% endfor %}"
    "{% if tools %}{{ tools | length }} tools{% endif %}{% if add_generation_prompt %}[assistant]{% endif %}"
)
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }};{% endfor %}[assistant]"
CALL: dict[str, Any] = {"id": "x", "type": "function", "function": {"name": "add", "arguments": {"a": 3}}}
SAID: list[dict[str, Any]] = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "Well.", "tool_calls": [CALL]},
    {"role": "tool", "content": "4"},
]
WORDS = '<tool_call>{"name": "add", "arguments": {"a": 3}}</tool_call>'
TOKENIZER = dataclasses.replace(character_tokenizer(ALPHABET), alphabet=None)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (KNOWS, "[user]hi;[assistant]Well.add(3);[tool]4;1 tools[assistant]"),
        (PLAIN, f"[user]hi;[assistant]Well.{WORDS};[tool]4;[assistant]"),
    ],
)
def test_a_call_is_read_whether_or_not_the_template_knows_of_calls(template: str, expected: str) -> None:
    ids = dataclasses.replace(TOKENIZER, template=template).render(SAID, tools=[{"function": {"name": "add"}}])
    assert TOKENIZER.decode(ids) == expected


def test_what_follows_an_answer_is_what_the_template_writes_behind_it() -> None:
    words = dataclasses.replace(TOKENIZER, template=KNOWS)
    news = [{"role": "tool", "content": "4"}, {"role": "user", "content": "and?"}]
    for ended in (False, True):
        ids = words.following(news, tools=None, ended=ended)
        assert TOKENIZER.decode(ids) == ";[tool]4;[user]and?;[assistant]"


def test_a_message_without_calls_stays_as_it_is() -> None:
    assert calls_in_words(SAID[0]) is SAID[0]
    assert calls_in_words({**SAID[1], "content": ""})["content"] == WORDS
