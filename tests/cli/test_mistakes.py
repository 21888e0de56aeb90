"""Mistakes that people make, each with the exit code and the words that lead on from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_runs import SIZES, Shell, make_model

MISTAKES: list[tuple[str, int, str]] = [
    ("train grpo --lr 1e-4", 2, "In Assay it is --scale.learning-rate."),
    ("train grpo --num-epochs 3", 2, "In Assay it is --epochs"),
    ("train grpo --batch-size 8", 2, "--scale.num-prompts"),
    ("train grpo --batch_size=8", 2, "--scale.num-prompts"),
    ("train grpo --output-dir x", 2, "In Assay write: --run x"),
    ("train grpo --out x", 2, "In Assay it is --run."),
    ("train grpo --gpus 8", 2, "In Assay it is --machine.learners."),
    ("train grpo --run-dir x", 2, "Did you mean '--run'?"),
    ("explain gpro", 2, "Did you mean 'grpo'?"),
    ("train gpro", 2, "Did you mean 'grpo'?"),
    ("explain dpao", 2, "Did you mean 'dapo'?"),
    ("train grpo --scale.max-new 8 --scale.max_new 16", 2, "given twice, as '8' and as '16'"),
    ("resume rows.jsonl", 2, "rows.jsonl is a file, and a run is a folder"),
    ("report rows.jsonl", 2, "rows.jsonl is a file, and a run is a folder"),
    (
        "train grpo --data rows.jsonl --eval-data rows.jsonl --model small --dry-run",
        64,
        "all 36 rows of rows.jsonl are held",
    ),
    ("train grpo --data rows.jsonl --eval-data copy.csv --model small --dry-run", 64, "rows.jsonl are held out by"),
    ("train --config rows.jsonl", 64, "cannot be read as TOML"),
    ("train --config nowhere.toml", 64, "there is no file nowhere.toml."),
    ("train --config lost.toml", 2, "Did you mean learning-rate, in the table [scale]?"),
    ("train grpo --scale.lr 1e-4", 2, "no setting 'lr'. In Assay it is 'learning_rate'."),
    ("train grpo --steps three", 2, "--steps is a whole number, not 'three'."),
    ("train grpo --data missing.jsonl --model small", 64, "missing.jsonl: no such file. A data set of the Hub"),
    ("eval nomodel", 2, "no model folder, run or base named 'nomodel'. `assay list bases`"),
    ("bank show rows.jsonl", 64, "Name a bank. If this was one, write it again"),
    ("list models", 2, "There are: bases, gym, measures, papers, parts, recipes, tasks, worlds."),
    ("train grpo --config cfg.yaml", 2, "key of cfg.yaml named 'stesp'. Did you mean 'steps'?"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, rows, the same rows as a table, and files that are none of these."""
    folder = tmp_path_factory.mktemp("folder")
    make_model(folder / "small")
    rows = [(f"What is {a}+{b}?", str(a + b)) for a in range(1, 7) for b in range(1, 7)]
    lines = (json.dumps({"question": question, "answer": answer}) + "\n" for question, answer in rows)
    (folder / "rows.jsonl").write_text("".join(lines))
    (folder / "copy.csv").write_text(
        "question,answer\n" + "".join(f"{question},{answer}\n" for question, answer in rows)
    )
    (folder / "lost.toml").write_text('recipe = "grpo"\nlerning-rate = 1e-5\n')
    (folder / "cfg.yaml").write_text("recipe: grpo\nstesp: 3\n")
    (folder / "none.py").write_text("def none(completions, **_):\n    return [None for _ in completions]\n")
    return folder


@pytest.fixture
def shell(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(folder)
    return Shell(capsys)


@pytest.mark.parametrize(("line", "code", "words"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_a_mistake_is_told_with_what_to_do(line: str, code: int, words: str, shell: Shell) -> None:
    reply = shell(*line.split())
    assert words in reply.err and reply.code == code, reply.err


@pytest.mark.slow
def test_reward_functions_that_judge_nothing_are_no_bug_of_ours(shell: Shell, tmp_path: Path) -> None:
    sizes = [word for name, value in SIZES.items() for word in (f"--{name}", str(value))]
    asked = ["--data", "rows.jsonl", "--model", "small", "--reward", "none.py:none", "--steps", "1", *sizes]
    reply = shell("train", "grpo", *asked, "--run", str(tmp_path / "run"))
    assert reply.code == 64, reply.err
    assert "no reward function gave a number for any of the 4 answers" in reply.err and "none.py:none" in reply.err


@pytest.mark.parametrize(("rate", "told"), [(10, True), (0.02, False)])
def test_a_rate_that_nobody_means_is_told(rate: float, told: bool, shell: Shell) -> None:
    """The run is not refused: who tries what a rate of 10 does may."""
    reply = shell("train", "grpo", "--task", "countdown:3", "--scale.learning-rate", rate, "--dry-run")
    assert (reply.code, f"scale.learning-rate is {rate}. AdamW moves" in " ".join(reply.out.split())) == (0, told)
