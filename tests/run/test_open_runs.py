"""Open rows from a file to a trained model: a scripted judge, rules, an own reward function beside them, and exams."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_judge
import pyarrow.parquet
import pytest
from data_files import jsonl
from small_runs import Shell, make_model, sizes

from assay.record.folder import RunFolder

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


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[fake_judge.Server]:
    with fake_judge.serving(judge) as server:
        monkeypatch.setenv("ASSAY_JUDGE_URL", server.url)
        monkeypatch.setenv("ASSAY_JUDGE_MODEL", "fake")
        yield server


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "open.jsonl", rows())
    jsonl(
        tmp_path / "held.jsonl",
        [{"prompt": f"name {word}", "soft": SOFT, "rules": [["without", "a"]]} for word in WORDS],
    )
    (tmp_path / "own.py").write_text(BRIEF)
    make_model(tmp_path / "model")
    return Shell(capsys)


def train(recipe: str, *more: str) -> list[str]:
    line = ["train", recipe, "--model", "model", "--data", "open.jsonl", "--eval-data", "held.jsonl", "--steps", "2"]
    return [*line, "--run", "run", *sizes(scale_num_prompts=4), "--quiet", *more]


def rollouts(run: Path) -> list[dict[str, Any]]:
    return [
        row
        for file in sorted((run / "rollouts").glob("*.parquet"))
        for row in pyarrow.parquet.read_table(file).to_pylist()
    ]


def by_hand(row: dict[str, Any]) -> float:
    """S_h S_s of VerIF: the share of hard rules that are kept, 1 without any; 1 if the judge likes it, or is not asked.
    An answer that was cut earns nothing.
    """
    problem = next(one for one in rows() if one["prompt"] == row["prompt"].strip())
    text = row["completion"]
    if row["finish"] != "stop":
        return 0.0
    hard = [bool(text.strip()) and "7" not in text, 0 < len(text) <= 12 and bool(text.strip())]
    share = sum(hard) / 2 if "rules" in problem else 1.0
    soft = float(bool(re.search(r"\w", text)) and likes(text.strip())) if "soft" in problem else 1.0
    return share * soft


@pytest.mark.slow
def test_rules_a_judge_and_an_own_function_beside_them(shell: Shell, served: fake_judge.Server, tmp_path: Path) -> None:
    found = shell(*train("verif", "--reward", "own.py:brief=0.5", "--dry-run", "--json"))
    assert [part["part"] for part in found.document["recipe"]["mechanism"]["reward"]] == ["scored", "product"]
    assert served.bodies == [], "a plan asks nobody"
    assert shell("data", "check", "open.jsonl", "--recipe", "verif").code == 0
    more = ("--scale.num-prompts", "8", "--scale.group-size", "4", "--scale.max-new", "24")
    assert shell(*train("verif", "--reward", "own.py:brief=0.5", *more)).code == 0
    written = rollouts(tmp_path / "run")
    assert len(written) == 64 and served.bodies
    for row in written:
        assert row["reward/verif"] == pytest.approx(by_hand(row))
        assert row["reward"] == pytest.approx(by_hand(row) + 0.5 * len(row["completion"]) / 100)
    ended = [by_hand(row) for row in written if row["finish"] == "stop"]
    assert len(ended) > 4 and min(ended) == 0 and 0.5 in ended and max(ended) == 1, "answers of each worth were seen"


@pytest.mark.slow
def test_exams_on_open_rows_have_reward_means_and_no_pass_rate(
    shell: Shell, served: fake_judge.Server, tmp_path: Path
) -> None:
    trained = shell(*train("judge-single"))
    assert trained.code == 0 and "pass@" not in trained.out + trained.err
    assert "no verifier judges 2 of 2 problems" in trained.err
    folder = RunFolder.read_only(tmp_path / "run")
    first, *_, last = [entry for entry in folder.read("evals") if entry["set"] == "test"]
    assert first["pass"] == {} and first["open"] == 2 and 0 <= last["scores"]["judge-single"]["mean"] <= 0.8
    assert all(row["verdict"] is None and row["reward"] in (0.0, 0.3, 0.8) for row in rollouts(tmp_path / "run"))
    assert not any("accuracy" in name for name in folder.read("metrics")[0])
    assert folder.best() is not None, "the best checkpoint is that of the highest mean reward"

    found = shell("eval", "run", "--n", 2, "--json")
    assert found.code == 0 and found.document["pass"] == {} and found.document["open"] == found.document["problems"]
    assert set(found.document["scores"]) == {"judge-single"}
    table = shell("eval", "run", "--data", "held.jsonl", "--n", 2)
    assert table.code == 0 and "mean judge-single" in table.out and "pass@" not in table.out
    bare = shell("eval", "model", "--data", "open.jsonl")
    assert bare.code == 64 and "--reward file.py:function" in bare.err


@pytest.mark.slow
def test_wins_among_answers_of_one_model_are_no_score(shell: Shell, served: fake_judge.Server, tmp_path: Path) -> None:
    trained = shell(*train("judge-prompts", "--steps", "1", "--scale.num-prompts", "2"))
    assert trained.code == 0 and "no reward rates an answer by itself" in trained.err
    entries = RunFolder.read_only(tmp_path / "run").read("evals")
    assert all(entry["pass"] == {} and "scores" not in entry for entry in entries)
