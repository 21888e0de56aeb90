"""Open rows in a run: rules that code checks, a scripted judge, and an own reward function beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_judge
import open_runs
import pytest
from open_runs import likes, rollouts, rows, train
from small_runs import Shell


@pytest.fixture
def served() -> Iterator[fake_judge.Server]:
    with open_runs.serving() as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    open_runs.written(tmp_path)
    return Shell(capsys)


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
    assert served.bodies == [], "a plan asks about no answer"
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


def test_a_judge_that_no_row_needs_yet_is_named_with_what_to_set(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ASSAY_JUDGE_URL", "ASSAY_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    reply = shell(*train("verif", "--dry-run"))
    assert reply.code == 0, reply.err
    assert "not known yet: set ASSAY_JUDGE_URL and ASSAY_JUDGE_MODEL" in reply.out
