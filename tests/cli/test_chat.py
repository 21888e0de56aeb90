"""`assay chat` as a person and as a program use it: lines of a pipe, and a terminal with Ctrl-C."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import gguf_files
import pytest
from of_methods import named
from seeing import seeing_policy
from small_runs import ROOT, Reply, Shell, make_model, train_line

from assay.cli.chat import AtTerminal
from assay.host.terminal import plain
from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import ALPHABET

GREEDY = ("--temperature", 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of long contexts whose answers have no end."""
    folder = tmp_path_factory.mktemp("model") / "endless"
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 32768, attention_bias=True)
    policy = fresh_policy(shape, tokenizer, key=Key("endless"))
    save_policy(dataclasses.replace(policy, codec=dataclasses.replace(tokenizer, end_ids=frozenset([1]))), folder)
    return folder


CONTROLS = "\x1b\x07\x9b\r\x08\u202e"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose answers are control characters: titles, cleared screens, text that runs backwards."""
    folder = tmp_path_factory.mktemp("model") / "hostile"
    tokenizer = character_tokenizer(f"{CONTROLS}]0;2J1+")
    shape = PolicyConfig("qwen2", tokenizer.vocab, 16, 1, 2, 2, 8, 32, 256, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("hostile")), folder)
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Converted files go elsewhere; the compiled core stays where it is."""
    from assay.run import bases

    folder = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setattr(bases, "cache_folder", lambda: folder)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def chat(shell: Shell, text: str | bytes, *arguments: object) -> Reply:
    """`assay chat ARGUMENTS`, with this text on its standard input."""
    held = io.BytesIO(text.encode() if isinstance(text, str) else text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(held, encoding="utf-8"))
        return shell("chat", *arguments)


def documents(reply: Reply) -> list[dict[str, object]]:
    return [json.loads(line) for line in reply.out.splitlines()]


# --- a pipe -----------------------------------------------------------------------------------------------------


def test_each_line_of_a_pipe_is_answered(shell: Shell, model: Path) -> None:
    reply = chat(shell, "C 3 4=7\n\n1+1\n", model, "--max-new", 8, "--json")
    assert reply.code == 0
    first, second = documents(reply)
    assert set(first) == {"question", "answer", "tokens", "cut", "seconds"}
    assert (first["question"], second["question"]) == ("C 3 4=7", "1+1")
    plain = chat(shell, "C 3 4=7\n1+1", model, "--max-new", 8)
    assert plain.out == f"{str(first['answer']).rstrip()}\n{str(second['answer']).rstrip()}\n"
    for turn in (first, second):
        assert turn["cut"] == (turn["tokens"] == 8) or turn["tokens"] == 8, "the last token may be the end"


def test_the_first_answer_is_that_of_sample(shell: Shell, model: Path) -> None:
    for seed in range(3):
        how = ("--max-new", 12, "--seed", seed, "--top-p", 0.9, "--temperature", 0.8, "--json")
        (sampled,) = shell("sample", model, "C 3 4=7", *how).document["answers"]
        (turn,) = documents(chat(shell, "C 3 4=7\n", model, *how))
        assert (turn["answer"], turn["tokens"]) == (sampled["text"], sampled["tokens"])


def test_the_same_seed_has_the_same_conversation(shell: Shell, model: Path) -> None:
    lines = "1+1\n1+1\n1+1\n"
    one, same, other = (chat(shell, lines, model, "--max-new", 6, "--seed", seed).out for seed in (1, 1, 2))
    assert one == same != other
    assert len(set(one.splitlines())) > 1, "one question has another answer each time"


def test_commands_are_obeyed_and_are_no_questions(shell: Shell, model: Path) -> None:
    lines = "1+1\n/clear\n/help\n1+1\n/exit\n1+1\n"
    reply = chat(shell, lines, model, "--max-new", 6, "--json")
    assert reply.code == 0 and len(documents(reply)) == 2
    assert "[a new conversation]" in reply.err and "/exit or Ctrl-D leaves" in reply.err
    changed, given, taken_away, plain = (
        documents(chat(shell, text, model, "--max-new", 16, "--json", *more))[0]["answer"]
        for text, more in (
            ("/system 2\n1+1\n", ()),
            ("1+1\n", ("--system", "2")),
            ("/system\n1+1\n", ("--system", "2")),
            ("1+1\n", ()),
        )
    )
    assert changed == given != plain == taken_away


def test_what_cannot_be_answered_is_told_and_the_next_line_is_answered(shell: Shell, model: Path) -> None:
    reply = chat(shell, f"{'1' * 90}\n1+é\n1+1\n", model, "--max-new", 8, "--json")
    long, strange, answered, told = documents(reply)
    assert reply.code == told["code"] == 64 and "2 lines were refused" in str(told["message"])
    assert "has 92 tokens" in str(long["message"]) and "may have 56" in str(long["message"])
    assert "'é'" in str(strange["message"]) and strange["question"] == "1+é" and "answer" in answered


def test_bytes_that_are_no_text_are_refused(shell: Shell, model: Path) -> None:
    reply = chat(shell, b"1+1\n\xff\xfe\n", model, "--max-new", 2)
    assert reply.code == 64 and "no text in UTF-8" in reply.err
    with pytest.MonkeyPatch.context() as patch:  # as Python reads it where no locale is set
        patch.setattr(sys, "stdin", io.StringIO("1\udcff\n1+1\n"))
        reply = shell("chat", model, "--max-new", 2, "--json")
    refused, answered, _ = documents(reply)
    assert reply.code == 64 and "no text in UTF-8" in str(refused["message"]) and "answer" in answered


def test_a_long_conversation_leaves_out_its_beginning_and_says_so_once(shell: Shell, model: Path) -> None:
    reply = chat(shell, "1+1\n" * 20, model, "--max-new", 6, "--json")
    assert reply.code == 0 and len(documents(reply)) == 20
    assert reply.err.count("no longer fits into the context of 64 tokens") == 1


def test_an_answer_has_at_most_half_of_the_context(shell: Shell, model: Path) -> None:
    (turn,) = documents(chat(shell, "1+1\n", model, *GREEDY, "--json"))
    assert turn["tokens"] == 32 and turn["cut"], "the model knows no end"
    reply = chat(shell, "1+1\n", model, "--max-new", 64)
    assert reply.code == 2 and "leave room for a question" in reply.err


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("nowhere", 2, "no model folder, run or base named 'nowhere'"),
        ("./nowhere", 74, "nowhere"),
        ("nowhere.gguf", 74, "no file nowhere.gguf"),
        ("smollm2", 2, "`assay get smollm2`"),
        ("m --max-new 0", 2, "--max-new must be at least 1"),
        ("m --temperature -1", 2, "--temperature must be 0 (greedy) or more"),
        ("m --top-p 2", 2, "--top-p must be in (0, 1]"),
        ("m --precision fp8", 2, "no precision named 'fp8'"),
    ],
)
def test_bad_input_is_refused_before_a_line_is_read(
    shell: Shell, line: str, code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path))  # in that of the user the model may be there
    reply = chat(shell, "1+1\n", *line.split(), "--json")
    assert reply.code == code and says in reply.document["message"]


@pytest.mark.slow
def test_a_gguf_file_and_a_model_that_sees_talk(shell: Shell, tmp_path: Path) -> None:
    file = gguf_files.model().write(tmp_path / "tiny.gguf")
    reply = chat(shell, "the\nthe 12\n", file, "--max-new", 10, "--json")
    assert reply.code == 0 and len(documents(reply)) == 2
    bare = gguf_files.model().without("tokenizer.chat_template").write(tmp_path / "bare.gguf")
    assert chat(shell, "the\n", bare, "--max-new", 10, "--system", "a").code == 0
    pytest.importorskip("transformers")
    save_policy(seeing_policy(), tmp_path / "seeing")
    assert chat(shell, "1+1\n2+2\n", tmp_path / "seeing", "--max-new", 4).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["grpo", *sorted(named("CHATS"))])
def test_the_policy_of_a_run_speaks_with_the_settings_of_the_run(
    recipe: str, shell: Shell, model: Path, tmp_path: Path
) -> None:
    """Also of a recipe with several stages."""
    run = tmp_path / "run"
    assert shell(*train_line(model, run, "--system", "Think.", "--quiet", recipe=recipe)).code == 0
    own, same, plain = (
        documents(chat(shell, "1+1\n1\n2\n3\n", run, *more, "--json"))
        for more in ((), ("--system", "Think."), ("--system", ""))
    )
    (sampled,) = shell("sample", run, "1+1", "--json").document["answers"]
    answers = [[turn["answer"] for turn in turns] for turns in (own, same, plain)]
    assert answers[0] == answers[1] != answers[2] and answers[0][0] == sampled["text"]
    assert max(int(str(turn["tokens"])) for turn in own) == 6, "scale.max-new of the run"


@pytest.mark.slow
def test_a_system_message_that_the_template_refuses_or_leaves_out_is_refused_at_once(
    shell: Shell, tmp_path: Path
) -> None:
    refuses = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role here') }}{% endif %}"
    deaf = gguf_files.TEMPLATE.replace("in messages", "in messages if m.role != 'system'")
    for name, template, code, told in (
        ("refuses", refuses + gguf_files.TEMPLATE, 64, "into the first message of the user"),
        ("deaf", deaf, 78, "the chat template leaves the system message out"),
    ):
        file = gguf_files.model().having(
            tokenizer__chat_template=("text", template), llama__context_length=("u32", 512)
        )
        path = file.write(tmp_path / f"{name}.gguf")
        replies = [
            chat(shell, "1\n", path, "--system", "a", "--max-new", 2),
            shell("sample", path, "1", "--system", "a", "--max-new", 2),
            shell(*train_line(path, tmp_path / "run", "--system", "a")),
            shell(*train_line(path, tmp_path / "run", "--system", "a", "--dry-run")),
        ]
        assert [reply.code for reply in replies] == [code] * 4, [reply.err for reply in replies]
        assert all(told in reply.err for reply in replies) and not (tmp_path / "run").exists()
        assert chat(shell, "1\n", path, "--max-new", 2).code == 0


def test_control_characters_of_an_answer_reach_a_pipe_as_they_are_and_a_terminal_spelt_out(
    shell: Shell, hostile: Path
) -> None:
    how = ("--max-new", 60)
    (turn,) = documents(chat(shell, "1+1\n", hostile, *how, "--json"))
    answer = str(turn["answer"])
    assert set(answer) & set(CONTROLS)
    assert chat(shell, "1+1\n", hostile, *how).out == f"{answer.rstrip()}\n"
    screen, behind = pty.openpty()  # the output alone is a terminal, as in `echo 1+1 | assay chat MODEL`
    with os.fdopen(behind, "w", encoding="utf-8") as stream, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        assert chat(shell, "1+1\n", hostile, *how).code == 0
        shown = ""
        while not shown.endswith("\r\n") and select.select([screen], [], [], 60)[0]:  # it may come in pieces
            shown += os.read(screen, 1 << 16).decode()
    os.close(screen)
    assert shown == plain(answer.rstrip()).replace("\n", "\r\n") + "\r\n" and not set(shown[:-2]) & {*CONTROLS}


def test_a_second_ctrl_c_within_an_answer_ends_the_program() -> None:
    talk = AtTerminal(None)  # pyright: ignore[reportArgumentType]
    talk._press(signal.SIGINT, None)
    assert talk.pressed
    with pytest.raises(KeyboardInterrupt):
        talk._press(signal.SIGINT, None)


# --- a terminal -------------------------------------------------------------------------------------------------


class Terminal:
    """`assay chat` in a process of its own, in front of a terminal."""

    def __init__(self, *arguments: object) -> None:
        self.process, self.end = pty.fork()
        if self.process == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.environ |= {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TERM": "dumb"}
            os.execv(sys.executable, [sys.executable, "-m", "assay", "chat", *map(str, arguments)])
        self.shown, self.seen = "", 0

    def until(self, text: str) -> str:
        """What is shown from where the last call ended, up to this text."""
        end, begin = time.monotonic() + 60, self.seen
        while text not in self.shown[begin:]:
            assert time.monotonic() < end and self._read(), f"{text!r} never came: {self.shown[-500:]!r}"
        self.seen = self.shown.index(text, begin) + len(text)
        return self.shown[begin : self.seen]

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def press(self) -> None:
        """Ctrl-C, not at the very moment at which the prompt appears: then Python sees it at the next key only."""
        time.sleep(0.3)
        self.type("\x03")

    def more(self) -> bool:
        """Whether something is shown after that."""
        return len(self.shown) > self.seen or self._read()

    def left(self) -> int:
        """Reads to the end; the exit code."""
        with contextlib.suppress(OSError):
            while self._read():
                pass
        _, status = os.waitpid(self.process, 0)
        os.close(self.end)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.end], [], [], 30)
        found = os.read(self.end, 4096) if ready else b""
        self.shown += found.decode(errors="replace")
        return bool(found)


@pytest.mark.slow
def test_ctrl_c_ends_an_answer_and_then_the_conversation(endless: Path) -> None:
    shown = Terminal(endless, *GREEDY, "--max-new", 30000)
    assert "its context holds 32768 tokens, an answer at most 30000" in shown.until("> ")
    for question in ("1+1", "2+2"):
        shown.type(f"{question}\n")
        shown.until(f"{question}\r\n")
        assert shown.more()
        shown.press()
        assert "\r\n[cut off]\r\n" in shown.until("\r\n> ")
    shown.press()
    assert shown.left() == 0


@pytest.mark.slow
def test_one_ctrl_c_at_the_prompt_does_not_leave_and_ctrl_d_does(model: Path) -> None:
    shown = Terminal(model, "--max-new", 4)
    shown.until("> ")
    shown.press()
    shown.until("[Ctrl-C once more leaves]\r\n> ")
    shown.type("1+1\n")
    shown.until("\r\n\r\n> ")
    shown.press()
    shown.until("[Ctrl-C once more leaves]\r\n> ")
    shown.type("1" * 90 + "\n")
    shown.until("DataError: the message has 92 tokens")
    shown.until("> ")
    shown.type("\x04")
    assert shown.left() == 0


@pytest.mark.slow
def test_what_a_model_writes_never_moves_the_cursor_of_a_person(hostile: Path) -> None:
    shown = Terminal(hostile, "--max-new", 100)
    shown.until("> ")
    shown.type("1+1\n")
    shown.until("\r\n\r\n> ")
    shown.type("\x04")
    assert shown.left() == 0
    text = shown.shown.replace("\r\n", "\n")
    assert not set(text) & {*CONTROLS} and "\\x" in text, text


@pytest.mark.slow
@pytest.mark.parametrize("leaving", ["/exit\n", ""], ids=["exit", "ctrl-c"])
def test_a_person_leaves_without_a_word(model: Path, leaving: str) -> None:
    shown = Terminal(model, "--max-new", 4)
    shown.until("> ")
    if leaving:
        shown.type(leaving)
    else:
        shown.press()
        shown.until("[Ctrl-C once more leaves]\r\n> ")
        shown.press()
    assert shown.left() == 0
