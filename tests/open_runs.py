"""Runs on rows without a reference answer, for tests: the rows, a scripted judge, a reward function and a model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fake_judge
import pyarrow.parquet
import pytest
from data_files import jsonl
from small_runs import make_model, sizes

WORDS = ["rain", "snow", "hail", "wind", "sun", "fog", "ice", "sea", "sky", "dew", "mud", "ash", "oak", "elm", "yew"]
SOFT = ["it is about the weather", "it is kind"]
BRIEF = "def brief(completions, **columns):\n    return [len(text) / 100 for text in completions]\n"


def rows() -> list[dict[str, Any]]:
    """By turns rows with both kinds of rules, with hard ones alone, and with soft ones alone."""
    hard = {"rules": [["without", "7"], ["length-at-most", 12]]}
    kinds: list[dict[str, Any]] = [hard | {"soft": SOFT}, hard, {"soft": SOFT[:1]}]
    return [{"prompt": f"say {word}", **kinds[i % 3]} for i, word in enumerate(WORDS)]


def likes(text: str) -> bool:
    return sum(map(ord, text)) % 2 == 0


def judge(count: int, asked: dict[str, Any]) -> fake_judge.Act:
    """Finds every criterion met by a text whose characters have an even sum, and rates it 8, else 3."""
    text, found = asked["messages"][1]["content"], fake_judge.blocks(asked)
    if '{"met"' in text:
        criteria = re.findall(r"^\d+\. ", found["criteria"], re.MULTILINE)
        return fake_judge.Act(text=json.dumps({"met": [likes(found["candidate"])] * len(criteria)}))
    if '{"rating"' in text:
        return fake_judge.Act(text=json.dumps({"rating": 8 if likes(found["candidate"]) else 3}))
    return fake_judge.plain(count, asked)


@contextmanager
def serving() -> Iterator[fake_judge.Server]:
    """The judge, where a run looks for it."""
    with fake_judge.serving(judge) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_JUDGE_URL", server.url)
        patch.setenv("ASSAY_JUDGE_MODEL", "fake")
        yield server


def written(folder: Path) -> None:
    """The files of rows, the reward function and the model of a run."""
    jsonl(folder / "open.jsonl", rows())
    held = [{"prompt": f"name {word}", "soft": SOFT, "rules": [["without", "a"]]} for word in WORDS]
    jsonl(folder / "held.jsonl", held)
    (folder / "own.py").write_text(BRIEF)
    make_model(folder / "model")


def train(recipe: str, *more: str) -> list[str]:
    line = ["train", recipe, "--model", "model", "--data", "open.jsonl", "--eval-data", "held.jsonl", "--steps", "2"]
    return [*line, "--run", "run", *sizes(scale_num_prompts=4), "--quiet", *more]


def rollouts(run: Path) -> list[dict[str, Any]]:
    return [
        row
        for file in sorted((run / "rollouts").glob("*.parquet"))
        for row in pyarrow.parquet.read_table(file).to_pylist()
    ]
