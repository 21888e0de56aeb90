"""Nothing that a stranger wrote is obeyed by a terminal: not a token, a column, a file name, a message."""

from __future__ import annotations

import ast
import io
import json
import logging
import os
import pty
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import ROOT, Shell

from assay.host import terminal
from assay.record.panel import panel

HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\x9b31m\u202eevil\u2066"
SPELT = r"\x1b[2J\x1b]0;owned\x07\x0d\x9b31m\u202eevil\u2066"


def obeyed(text: str) -> list[str]:
    """Control characters, and marks that turn the direction of writing, by the tables of Unicode."""
    import unicodedata

    turning = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    return [
        c
        for c in text
        if (unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t")
        or unicodedata.bidirectional(c) in turning
    ]


@given(st.text())
def test_what_is_spelt_holds_nothing_to_obey_and_plain_text_stays(text: str) -> None:
    assert not obeyed(terminal.plain(text))
    if text.isprintable():
        assert terminal.plain(text) == text


def test_control_characters_are_spelt() -> None:
    assert terminal.plain(HOSTILE) == SPELT
    assert terminal.plain("α, 3 ≤ x\n\tÅ 你好 👩‍🚀") == "α, 3 ≤ x\n\tÅ 你好 👩‍🚀"


def test_a_message_cannot_pass_for_two(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.say("the column 'x\nwarning: all is well' is missing")
    assert capsys.readouterr().err == "the column 'x\n  warning: all is well' is missing\n"


def test_columns_and_file_names_of_data_are_spelt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(capsys)
    path = tmp_path / "rows\x1b[2J.jsonl"
    path.write_text(json.dumps({"prompt": "1+1", HOSTILE: "2"}) + "\n")
    missing = tmp_path / "rows\x1b[5m.jsonl"
    for line in (["data", "check", path], ["data", "check", missing], ["train", "grpo", "--data", path, "--dry-run"]):
        reply = shell(*line)
        assert r"\x1b" in reply.out + reply.err
        assert not obeyed(reply.out + reply.err)


@pytest.mark.parametrize("line", [[HOSTILE], ["train", HOSTILE], ["train", "grpo", "--steps", HOSTILE]])
def test_a_wrong_word_of_the_command_line_is_spelt(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)(*line)
    assert reply.code == 2 and not obeyed(reply.err) and r"\x1b" in reply.err


class Screen(io.StringIO):
    """A terminal that keeps what it was sent."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Screen()], ids=["lines", "live"])
def test_titles_and_notes_of_the_panel_are_spelt(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    with panel(3, stream=stream, title=f"grpo on {HOSTILE}") as shown:
        shown.note(f"warning: {HOSTILE}")
        shown.update(1, {"reward/mean": 1.0})
    told = stream.getvalue()
    assert SPELT in told
    assert "\x1b]0;" not in told and "\x1b[2J" not in told and not set("\x07\x9b\u202e\u2066") & set(told)


def test_log_records_and_warnings_are_spelt(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    terminal.guard()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning(UserWarning(HOSTILE), UserWarning, "f.py", 1)
    logging.getLogger("anyone").warning("%s", HOSTILE)
    told = capsys.readouterr().err
    assert told.count(SPELT) == 2 and not obeyed(told)


PROGRAM = "from assay.host import terminal; terminal.hand_over('a\\x1b]0;owned\\x07b')"


@pytest.mark.slow
def test_an_answer_is_spelt_on_a_terminal_and_kept_in_a_pipe() -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    piped = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, env=environment, check=True)
    assert piped.stdout == b"a\x1b]0;owned\x07b\n"
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", PROGRAM], stdout=theirs, env=environment, check=True)
    os.close(theirs)
    assert os.read(ours, 1000).strip() == rb"a\x1b]0;owned\x07b"
    os.close(ours)


def test_a_stream_that_lacks_a_letter_spells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file name with bytes that are no UTF-8 is half of a character to Python, and ASCII has no Greek."""
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(held, encoding="ascii"))
    terminal.show("\udce9 α")
    assert held.getvalue() == b"\\udce9 \\u03b1\n"


def writers(path: Path) -> list[str]:
    """Places of a file that write to a standard stream by themselves."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
        if isinstance(node, ast.Attribute) and node.attr in ("write", "writelines"):
            stream = node.value.attr if isinstance(node.value, ast.Attribute) else ""
            found += [f"{path.relative_to(ROOT)}:{node.lineno}"] if stream in ("stdout", "stderr") else []
    return found


@pytest.mark.slow
def test_one_function_writes_to_terminals() -> None:
    files = sorted((ROOT / "assay").rglob("*.py"))
    assert len(files) > 200
    ours = [path for path in files if not path.is_relative_to(ROOT / "assay" / "sandbox" / "inside")]
    assert not [place for path in ours for place in writers(path)], "a sandbox's own process writes into its pipes"
    drawn = [path.name for path in files if "rich.console import Console" in path.read_text()]
    assert drawn == ["compare.py", "progress.py", "panel.py"], "whoever draws with rich spells out what it is given"
