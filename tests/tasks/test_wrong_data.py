"""Wrong files, columns and flags about them: every message word for word, as a person reads it.

`ASSAY_WRITE_GOLDEN=1` writes tests/golden/wrong_data.json again; read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from data_files import jsonl, sums
from small_runs import ROOT, Shell

from assay.policy import character_tokenizer, fresh_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import ALPHABET

GOLDEN = ROOT / "tests" / "golden" / "wrong_data.json"
GOOD = '{"prompt": "What is 1 + 1?", "answer": "2"}\n'
MANY = sums(60)

Case = tuple[str | bytes | list[Any], str, list[str], int]


def case(content: str | bytes | list[Any], *flags: str, suffix: str = ".jsonl", code: int = 64) -> Case:
    """What stands in the file, with which flags it is named, and the exit code."""
    return content, suffix, list(flags), code


def row(**columns: Any) -> list[Any]:
    """Nine good rows and, third, a bad one."""
    others = [{"prompt": question["question"], "answer": question["answer"]} for question in sums(9)]
    return [*others[:2], columns, *others[2:]]


def talk(*messages: dict[str, Any]) -> list[Any]:
    return [{"prompt": list(messages), "answer": "1"}]


USER = {"role": "user", "content": "What is 1 + 1?"}

CASES: dict[str, Case] = {
    "a torn last line": case(GOOD * 2 + '{"prompt": "What is 2 + 2?", "ans'),
    "two writers in one line": case(GOOD.strip() + GOOD + GOOD),
    "a block of NUL": case(GOOD.encode() + b"\0" * 64 + b"\n" + GOOD.encode()),
    "latin-1": case(GOOD.encode() + '{"prompt": "Größe?", "answer": "1"}\n'.encode("latin-1")),
    "utf-16": case(GOOD.encode("utf-16")),
    "two files joined": case(GOOD.encode() + b"\xef\xbb\xbf" + GOOD.encode()),
    "an empty file": case(""),
    "empty lines alone": case("\n\n  \n"),
    "a list in a line": case(GOOD + '["What is 1 + 1?", "2"]\n'),
    "python in place of json": case("{'prompt': 'What is 1 + 1?', 'answer': '2'}\n"),
    "a trailing comma": case('{"prompt": "What is 1 + 1?", "answer": "2",}\n'),
    "a key twice": case('{"prompt": "a", "answer": "1", "answer": "2"}\n'),
    "NaN": case('{"prompt": "a", "answer": NaN}\n'),
    "a number beyond all numbers": case('{"prompt": "a", "answer": 1e999}\n'),
    "half a character": case('{"prompt": "\\ud83d", "answer": "1"}\n'),
    "nested without end": case('{"prompt": ' + "[" * 100_000 + "\n"),
    "an empty prompt": case(row(prompt="  ", answer="1")),
    "no prompt": case(row(answer="1")),
    "a number as prompt": case(row(prompt=7, answer="1")),
    "a conversation written as text": case(row(prompt=json.dumps([USER]), answer="1")),
    "a conversation among texts": case(row(prompt=[USER], answer="1")),
    "a list as answer": case(row(prompt="Q", answer=["1", "2"])),
    "nothing behind the mark": case(row(prompt="Q", answer="so it is\n####")),
    "a box that never closes": case(row(prompt="Q", answer="so \\boxed{\\frac{1}{2}")),
    "rows without an answer": case([*row(prompt="Q"), {"prompt": "R", "answer": ""}]),
    "no answers": case([{"prompt": "Q", "id": 1}, {"prompt": "R", "id": 2}]),
    "a prompt misspelt": case([{"promt": "Q", "answer": "1"}]),  # codespell:ignore promt
    "a column that is not there": case(row(prompt="Q", answer="1"), "--prompt-column", "asked"),
    "an answer that is not there": case([{"prompt": "Q", "info": {"gold": "1"}}], "--answer-column", "info.gld"),
    "nobody asks": case(talk({"role": "system", "content": "Be brief."})),
    "the assistant has the last word": case(talk(USER, {"role": "assistant", "content": "2"})),
    "no messages": case(talk()),
    "a message without content": case(talk({"role": "user", "text": "What is 1 + 1?"})),
    "a role of another kind": case(talk({"role": "human", "content": "What is 1 + 1?"})),
    "a picture as content": case(talk({"role": "user", "content": [{"type": "image", "url": "a.png"}]})),
    "an empty message": case(talk({"role": "user", "content": " "})),
    "fourteen bad rows": case([{"prompt": "", "answer": str(i)} for i in range(14)] + row(prompt="Q", answer="1")),
    "csv with a cell too many": case("prompt,answer\nWhat is 1 + 1?,2\nWhat is 1,000 + 1?,1001\n", suffix=".csv"),
    "csv with semicolons": case("prompt;answer\nWhat is 1 + 1?;2\n", suffix=".csv"),
    "csv that names a column twice": case("prompt,answer,prompt\na,1,b\n", suffix=".csv"),
    "csv with a quote that never closes": case('prompt,answer\n"What is 1 + 1?,2\nb,3\n', suffix=".csv"),
    "parquet that is none": case(GOOD, suffix=".parquet"),
    "json that is torn": case('[{"prompt": "a", "answer": "1"},', suffix=".json"),
    "an ending that nobody knows": case(GOOD, suffix=".xlsx"),
    "a file that is not there": case(GOOD, "--data", "{folder}/row.jsonl"),
    "a folder": case(GOOD, "--data", "{folder}"),
    "a data set of the hub without its package": case(GOOD, "--data", "openai/gsm8k:main:train", code=78),
    "an empty name": case(GOOD, "--data", " ", code=2),
    "compact rows": case(MANY, "--wording", "compact"),
    "too few rows to hold some out": case(sums(3)),
    "a held-out file that is wrong": case(MANY, "--eval-data", "{folder}/missing.jsonl"),
    "a mixture with a task that is not there": case(MANY, "--task", "countdwon:3", code=2),
}
RUNS: dict[str, Case] = {
    "a letter that the tokenizer lacks": case([*MANY, {"question": "Größe?", "answer": "1"}]),
    "prompts that fill the context": case([*MANY, {"question": "What?" * 12, "answer": "1"}]),
}


def golden(name: str, message: str) -> None:
    found = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    if os.environ.get("ASSAY_WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps({**found, name: message}, indent=1, ensure_ascii=False) + "\n")
    else:
        assert found.get(name) == message


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "small"
    tokenizer = character_tokenizer(ALPHABET)
    shape = PolicyConfig("qwen2", tokenizer.vocab, 8, 1, 1, 1, 8, 8, 64, attention_bias=True)
    save_policy(fresh_policy(shape, tokenizer, key=Key("wrong data")), folder)
    return folder


def complain(shell: Shell, folder: Path, model: Path, given: Case, *more: str) -> str:
    """The message of the refusal, with the places of this machine taken out."""
    content, suffix, flags, code = given
    path = folder / f"rows{suffix}"
    if isinstance(content, list):
        jsonl(path, content)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = [flag.format(folder=folder) for flag in flags]
    named = [] if "--data" in said else ["--data", str(path)]
    line = ["train", "grpo", "--model", str(model), *named, *said, "--run", str(folder / "run"), *more, "--json"]
    reply = shell(*line)
    assert (reply.code, reply.document["code"]) == (code, code), reply.err
    assert "Traceback" not in reply.err
    assert not (folder / "run").exists(), "nothing was begun"
    return reply.document["message"].replace(str(folder), "FOLDER").replace(str(model), "MODEL")


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_used_is_said_before_a_model_is_loaded(
    name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def loads(*_: Any) -> None:
        raise AssertionError("a model was loaded")

    with mock.patch("assay.run.session.load_model", loads), mock.patch("importlib.util.find_spec", without_datasets()):
        golden(name, complain(Shell(capsys), tmp_path, model, CASES[name]))


@pytest.mark.parametrize("name", RUNS)
def test_what_does_not_fit_a_model_is_said_before_anything_is_begun(
    name: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    golden(name, complain(Shell(capsys), tmp_path, model, RUNS[name], "--scale.max-new", "40"))


def without_datasets() -> Callable[..., Any]:
    import importlib.util

    find = importlib.util.find_spec
    return lambda name, *rest: None if name == "datasets" else find(name, *rest)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--eval-data", "x.jsonl"], "--eval-data needs a data file: name it with --data."),
        (["--skip-bad-rows"], "--skip-bad-rows needs a data file: name it with --data."),
        (["--data", "{rows}"], "no base was made for rows: name a model with --model."),
        (["--dta", "{rows}"], "unknown argument '--dta'. Did you mean '--data'?"),
    ],
)
def test_flags_that_say_nothing(
    flags: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = jsonl(tmp_path / "rows.jsonl", MANY)
    reply = Shell(capsys)("train", "grpo", *[flag.format(rows=rows) for flag in flags], "--dry-run")
    assert reply.code == 2
    assert words in reply.err


def test_every_message_in_the_golden_file_has_its_case() -> None:
    assert set(json.loads(GOLDEN.read_text())) == {*CASES, *RUNS}
