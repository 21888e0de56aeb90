"""Broken set-ups: `--dry-run` refuses each as the run does, with the same words and code, and nothing is begun."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from data_files import jsonl, sums
from hub_cache import pretend_hub
from small_runs import SIZES, Shell, make_model, train_line

from assay.cli.main import main
from assay.run import bases, disk_needs, pretrained

REWARDS = """
import json
def good(completions, **columns): return [1.0 for _ in completions]
def raises(completions, **columns): raise KeyError("score")
def short(completions, **columns): return [1.0]
def words(completions, **columns): return ["yes" for _ in completions]
def infinite(completions, **columns): return [float("inf") for _ in completions]
def wants(completions, difficulty, **columns): return [1.0 for _ in completions]
def leaves(completions, **columns): raise SystemExit(3)
"""
FILES: dict[str, Callable[[Path], object]] = {
    "my.py": lambda path: path.write_text(REWARDS),
    "torn.py": lambda path: path.write_text("def good(completions:\n"),
    "importing.py": lambda path: path.write_text("import no_such_package\ndef good(completions): return []\n"),
    "rows.jsonl": lambda path: jsonl(path, sums(60)),
    "few.jsonl": lambda path: jsonl(path, sums(2)),
    "bare.jsonl": lambda path: jsonl(path, [{"question": f"{i}?", "note": "x"} for i in range(60)]),
    "torn.jsonl": lambda path: path.write_text('{"question": "1 + 1?", "answer\n'),
    "long.jsonl": lambda path: jsonl(path, [*sums(60), {"question": "9" * 90, "answer": "1"}]),
    "model": make_model,
    "no-config": lambda path: _changed(path, lambda folder: (folder / "config.json").unlink()),
    "no-weights": lambda path: _changed(path, lambda folder: (folder / "model.safetensors").unlink()),
    "no-tokenizer": lambda path: _changed(path, lambda folder: (folder / "tokenizer.json").unlink()),
    "torn-weights": lambda path: _changed(path, lambda f: (f / "model.safetensors").write_bytes(b"\x08" + b"\0" * 40)),
    "other-weights": lambda path: _changed(path, lambda folder: _configured(folder, hidden_size=32)),
    "strange-family": lambda path: _changed(path, lambda folder: _configured(folder, model_type="mambo")),
    "small-vocabulary": lambda path: _changed(path, lambda folder: _configured(folder, vocab_size=5)),
    "empty": Path.mkdir,
    "full": lambda path: (path.mkdir(), (path / "thesis.tex").write_text("x")),
}

DATA = ["--data", "rows.jsonl"]
PYTHON = ["--machine.sampler-python", sys.executable]
BROKEN: dict[str, tuple[list[str], int]] = {
    # reward functions
    "a reward file with a syntax error": ([*DATA, "--reward", "torn.py:good"], 78),
    "an import that fails": ([*DATA, "--reward", "importing.py:good"], 78),
    "a function that is not there": ([*DATA, "--reward", "my.py:god"], 78),
    "a file that is not there": ([*DATA, "--reward", "mine.py:good"], 64),
    "a package that is not there": ([*DATA, "--reward", "my_package.style:brief"], 78),
    "a column that is missing": ([*DATA, "--reward", "my.py:wants"], 78),
    "a function that raises": ([*DATA, "--reward", "my.py:raises"], 64),
    "a function with too few numbers": ([*DATA, "--reward", "my.py:short"], 64),
    "a function with words": ([*DATA, "--reward", "my.py:words"], 64),
    "a function without a bound": ([*DATA, "--reward", "my.py:infinite"], 64),
    "a function that ends its process": ([*DATA, "--reward", "my.py:leaves"], 64),
    "a weight that is no number": ([*DATA, "--reward", "my.py:good=much"], 2),
    "two kinds of rewards": ([*DATA, "--reward", "my.py:good", "--only-reward", "my.py:good"], 2),
    # models
    "a name that is no model": (["--model", "tiny-qwen"], 2),
    "a model of the Hub that is not there": (["--model", "nobody/nothing"], 69),
    "a folder without config.json": (["--model", "no-config"], 74),
    "an empty folder": (["--model", "empty"], 74),
    "a folder without weights": (["--model", "no-weights"], 74),
    "a folder without a tokenizer": (["--model", "no-tokenizer"], 74),
    "weights that are torn": (["--model", "torn-weights"], 74),
    "weights of another shape": (["--model", "other-weights"], 64),
    "a family that nobody knows": (["--model", "strange-family"], 78),
    "a vocabulary that is too small": (["--model", "small-vocabulary"], 78),
    "a GGUF file that is not there": (["--model", "small.gguf"], 74),
    "a base that must be fetched": (["--model", "smollm2"], 2),
    "a layer that is not there": (["--lora.rank", "2", "--lora.targets", "foo"], 78),
    "a rank below one": (["--lora.rank", "-1"], 78),
    # problems
    "a data file that is not there": (["--data", "row.jsonl"], 64),
    "a data file that is torn": (["--data", "torn.jsonl"], 64),
    "too few rows": (["--data", "few.jsonl"], 64),
    "rows without answers": (["--data", "bare.jsonl"], 64),
    "a prompt that does not fit": (["--data", "long.jsonl"], 64),
    "held-out rows that are the data": ([*DATA, "--eval-data", "rows.jsonl"], 64),
    "a task that is not there": (["--task", "countdwon:3"], 2),
    "a level that is not there": (["--task", "countdown:77"], 64),
    "answers that do not fit": (["--scale.max-new", "63"], 64),
    # settings and places
    "a setting that is not there": (["--scale.learning-rat", "1"], 2),
    "a value out of range": (["--scale.learning-rate", "-1"], 78),
    "a recipe that is not there": (["gpro"], 2),
    "a run folder that is not empty": (["--run", "full"], 2),
    "a run in place of a file": (["--run", "my.py"], 2),
    "a tracker that is not there": (["--track", "wandbb"], 2),
    "a judge without an address": (["--mechanism.reward", "judge-pairs"], 78),
    "servers that do not answer": (["--machine.samplers", "http://127.0.0.1:9"], 69),
    "a vLLM that is not there": (["--machine.samplers", "1", "--machine.sampler", "vllm", *PYTHON], 78),
    "a device that is not there": (["--machine.device", "cuda"], 78),
    "a disk that is full": (["--seed", "1"], 78),
}


def _changed(path: Path, change: Callable[[Path], object]) -> None:
    change(make_model(path))


def _configured(folder: Path, **settings: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, write in FILES.items():
        write(folder / name)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_the_dry_run_refuses_what_the_run_refuses(
    name: str, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setattr(bases, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(pretrained, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv("ASSAY_SAMPLER_SECRET", "s" * 64)
    for variable in ("ASSAY_JUDGE_URL", "ASSAY_JUDGE_MODEL"):
        monkeypatch.delenv(variable, raising=False)
    pretend_hub(monkeypatch, tmp_path / "hub")
    if "disk" in name:
        full = shutil.disk_usage(files)._replace(free=1000)
        monkeypatch.setattr(disk_needs.shutil, "disk_usage", lambda _: full)
    given, code = BROKEN[name]
    recipe, given = (given[0], given[1:]) if given[0].isalpha() else ("grpo", given)
    place = [] if "--run" in given else ["--run", str(tmp_path / "run")]
    model = [] if "--model" in given else ["--model", "model"]
    task = [] if {"--data", "--task"} & set(given) else ["--task", "countdown:3"]
    sizes = [part for key, value in SIZES.items() if f"--{key}" not in given for part in (f"--{key}", str(value))]
    line = ["train", recipe, *model, *task, *place, *sizes, "--steps", "1", "--quiet", *given]
    (files / "__pycache__").mkdir(exist_ok=True)  # which Python makes where a file is imported
    shell, before = Shell(capsys), sorted(files.iterdir())
    planned, ran = shell(*line, "--dry-run", "--json"), shell(*line, "--json")
    assert planned.code == code, planned.out + planned.err
    assert planned.document == ran.document, "the run says something else"
    assert not (tmp_path / "run").exists() and sorted(files.iterdir()) == before, "nothing is begun"


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [[], ["--lora.rank", "2"], ["--machine.optimiser-bits", "8", "--machine.engine", "torch"]]
)
def test_a_checkpoint_is_as_large_as_was_foreseen(
    more: list[str], files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files have headers, and moments in eight bits a scale for each 256 of them."""
    foreseen: list[int] = []

    def told(*asked: Any) -> int:
        foreseen.append(save_bytes(*asked))
        return foreseen[-1]

    save_bytes = disk_needs.save_bytes
    monkeypatch.setattr(disk_needs, "save_bytes", told)
    assert main(train_line(files / "model", tmp_path / "run", "--quiet", *more)) == 0
    newest = max((tmp_path / "run" / "ckpt").glob("step-*"))
    stored = sum(path.stat().st_size for path in newest.rglob("*.safetensors"))
    assert foreseen[0] <= stored <= 1.1 * foreseen[0] + 20_000
