"""Chat templates in the manner of today's families, with system prompts, switches and tools, against `transformers`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell, make_model, train_line
from test_tokenizer import byte_level, sentence_piece, set_template, theirs

from assay.errors import ConfigError, DataError
from assay.policy import load_policy, load_tokenizer
from assay.policy.conversation import Chat
from assay.run.named_model import locate

THINKING = (  # tools in the system turn; an empty thought where thinking is switched off; thoughts of old turns dropped
    "{%- if tools %}\n"
    "    {{- '<|im_start|>system\\n' }}\n"
    "    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}\n"
    "    {{- 'Tools:' }}\n"
    "    {%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}\n"
    "    {{- '<|im_end|>\\n' }}\n"
    "{%- elif messages[0].role == 'system' %}\n"
    "    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}\n"
    "{%- endif %}\n"
    "{%- for message in messages if message.role != 'system' %}\n"
    "    {%- set content = message.content %}\n"
    "    {%- if message.role == 'assistant' and '</think>' in content %}\n"
    "        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n"
    "    {%- endif %}\n"
    "    {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>\\n' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}\n"
    "    {{- '<|im_start|>assistant\\n' }}\n"
    "    {%- if enable_thinking is defined and enable_thinking is false %}\n"
    "        {{- '<think>\\n\\n</think>\\n\\n' }}\n"
    "    {%- endif %}\n"
    "{%- endif %}"
)
HEADERS = (  # a system turn always, with the date; roles between marks; tools in the first user turn
    "{{- bos_token }}\n"
    "{%- set system = messages[0].content | trim if messages[0].role == 'system' else '' %}\n"
    "{%- set rest = messages[1:] if messages[0].role == 'system' else messages %}\n"
    "{%- if not date_string is defined %}{%- set date_string = '26 Jul 2024' %}{%- endif %}\n"
    "{{- '[system]\\n\\nToday: ' + date_string + '\\n' + system + '[eot]' }}\n"
    "{%- for message in rest %}\n"
    "    {{- '[' + message['role'] + ']\\n\\n' }}\n"
    "    {%- if tools is not none and loop.first %}\n"
    "        {%- for t in tools %}{{- t | tojson(indent=4) }}{%- endfor %}\n"
    "    {%- endif %}\n"
    "    {{- message['content'] | trim + '[eot]' }}\n"
    "{%- endfor %}\n"
    "{%- if add_generation_prompt %}{{- '[assistant]\\n\\n' }}{%- endif %}"
)
NO_SYSTEM = (  # roles user and model, in turn
    "{{ bos_token }}"
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<turn>' + role + '\n' + message['content'] | trim + '<end>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<turn>model\n' }}{% endif %}"
)
INSTRUCTIONS = (  # the system message goes into the last instruction
    "{%- if messages[0]['role'] == 'system' %}"
    "{%- set system = messages[0]['content'] %}{%- set loop_messages = messages[1:] %}"
    "{%- else %}{%- set loop_messages = messages %}{%- endif %}{{- bos_token }}"
    "{%- for message in loop_messages %}{%- if message['role'] == 'user' %}"
    "{%- if tools is not none and loop.last %}{{- '[TOOLS] ' + (tools | tojson) + '[/TOOLS]' }}{%- endif %}"
    "{%- if loop.last and system is defined %}{{- '[INST] ' + system + '\\n\\n' + message['content'] + '[/INST]' }}"
    "{%- else %}{{- '[INST] ' + message['content'] + '[/INST]' }}{%- endif %}"
    "{%- elif message['role'] == 'assistant' %}{{- ' ' + message['content'] | trim + eos_token }}{%- endif %}"
    "{%- endfor %}"
)
STYLES = {"thinking": THINKING, "headers": HEADERS, "no-system": NO_SYSTEM, "instructions": INSTRUCTIONS}
USER = [{"role": "user", "content": " What is 2+2? "}]
SYSTEM = [{"role": "system", "content": "Be brief."}, *USER]
TURNS = [*USER, {"role": "assistant", "content": "<think>\nhm\n</think>\n\nfour"}, {"role": "user", "content": "and?"}]
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {"é": {}}}}}
TALKS = {"user": USER, "system": SYSTEM, "turns": TURNS}


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    byte_level(tmp_path)
    set_template(tmp_path, STYLES[request.param])
    return request.param


@pytest.mark.thin(12)
@pytest.mark.parametrize("how", [{}, {"enable_thinking": False}, {"enable_thinking": True}, {"date_string": "1 May"}])
@pytest.mark.parametrize("tools", [None, [TOOL]], ids=["bare", "tools"])
@pytest.mark.parametrize("talk", TALKS)
def test_rendering_is_that_of_transformers(
    style: str, how: dict[str, Any], tools: list[Any] | None, talk: str, tmp_path: Path
) -> None:
    ours, reference = load_tokenizer(tmp_path), theirs(tmp_path)
    if style == "no-system" and talk == "system":
        with pytest.raises(DataError, match=r"System role not supported\. Put what the system message says into the"):
            ours.render(TALKS[talk])
        return
    options = {"add_generation_prompt": True, "return_dict": False, "tools": tools, **how}
    expected = reference.apply_chat_template(TALKS[talk], **options)
    assert ours.render(TALKS[talk], variables=how, tools=tools).tolist() == expected


@pytest.mark.slow
def test_settings_of_a_run_are_in_every_prompt(tmp_path: Path) -> None:
    byte_level(tmp_path)
    set_template(tmp_path, THINKING)
    ours, reference = load_tokenizer(tmp_path), theirs(tmp_path)
    (tmp_path / "tools.json").write_text(json.dumps([TOOL]))
    chat = Chat(system="Be brief.", thinking="off", tools=str(tmp_path / "tools.json"))
    options = {"add_generation_prompt": True, "return_dict": False, "tools": [TOOL], "enable_thinking": False}
    want = reference.apply_chat_template(SYSTEM, **options)
    speaking = ours.speaking(chat)
    for prompt in (" What is 2+2? ", USER, SYSTEM):
        assert speaking.render(prompt).tolist() == want
    other = [{"role": "system", "content": "Be long."}, *USER]
    assert speaking.render(other).tolist() == reference.apply_chat_template(other, **options)
    assert ours.render(USER).tolist() != want
    for name, content in speaking.files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "tools.json").unlink()
    assert load_tokenizer(tmp_path).render(USER).tolist() == want
    assert load_tokenizer(tmp_path).speaking(Chat()).render(USER).tolist() == ours.render(USER).tolist()


def test_a_folder_with_a_template_for_tools_uses_it(tmp_path: Path) -> None:
    byte_level(tmp_path)
    set_template(
        tmp_path,
        [{"name": "tool_use", "template": THINKING}, {"name": "default", "template": "{{ messages[0].role }}"}],
    )
    ours, reference = load_tokenizer(tmp_path), theirs(tmp_path)
    for tools in (None, [TOOL]):
        want = reference.apply_chat_template(USER, tools=tools, add_generation_prompt=True, return_dict=False)
        assert ours.render(USER, tools=tools).tolist() == want


def test_messages_without_a_template_are_written_plainly(tmp_path: Path) -> None:
    byte_level(tmp_path / "bytes")
    ours = load_tokenizer(tmp_path / "bytes")
    text = "System: Be brief.\n\nUser:  What is 2+2? \n\nAssistant:"
    assert ours.render(SYSTEM).tolist() == ours.encode(text).tolist()
    assert ours.render("is").tolist() == ours.encode("is").tolist()
    assert ours.speaking(Chat(system="Be brief.")).render(" What is 2+2? ").tolist() == ours.encode(text).tolist()
    sentence_piece(tmp_path / "pieces")  # a tokenizer that opens texts by itself: so does the plain template
    pieces = load_tokenizer(tmp_path / "pieces")
    assert pieces.render(USER)[0] == pieces.id_of("bos_token")
    assert pieces.render(USER).tolist().count(1) == 1
    with pytest.raises(ConfigError, match="writes no tools"):
        ours.speaking(Chat(tools="[]"))


@pytest.mark.slow
def test_a_run_that_speaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What prompts were put into is kept with the model, so that it is asked later as it was in training."""
    shell, model = Shell(capsys), make_model(tmp_path / "model")
    reply = shell(*train_line(model, tmp_path / "run", "--chat.variables", "nonsense=1"))
    assert reply.code == 78 and "no variable 'nonsense'" in reply.err
    reply = shell(*train_line(model, tmp_path / "spoken", "--chat.system", "1+2"))
    assert reply.code == 0, reply.err
    plain, trained = load_policy(model).codec, load_policy(locate(str(tmp_path / "spoken"))).codec
    given = [{"role": "system", "content": "1+2"}, {"role": "user", "content": "3"}]
    assert trained.render("3").tolist() == plain.render(given).tolist() != plain.render("3").tolist()
