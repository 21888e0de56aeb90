"""Reward functions of verl's and OpenRLHF's signatures are called as those systems call them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import Shell, make_model

from assay.verifiers.functions.adapting import adapted

ROWS: dict[str, Any] = {
    "prompts": ["1+1?", "2+2?"],
    "gold": ["2", "4"],
    "data_source": ["sums", "more sums"],
    "level": [1, 2],
    "completion_ids": [np.zeros(2), np.zeros(3)],
    "trainer_state": None,
}
ANSWERS = ["2", "5"]


def test_a_function_of_verl_is_asked_about_each_answer_with_its_row() -> None:
    seen: list[Any] = []

    def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> Any:
        seen.append((data_source, solution_str, ground_truth, extra_info))
        return float(solution_str == ground_truth)

    call = adapted(compute_score)
    assert call(completions=ANSWERS, **ROWS) == [1.0, 0.0]
    rows = [{"gold": "2", "data_source": "sums", "level": 1}, {"gold": "4", "data_source": "more sums", "level": 2}]
    assert seen == [("sums", "2", "2", rows[0]), ("more sums", "5", "4", rows[1])]
    assert call.__name__ == "compute_score", "messages name the person's function"
    call(completions=["2"], gold=["2"], extra_info=[{"index": 7}])
    assert seen[-1] == ("", "2", "2", {"index": 7})


def test_a_score_in_a_dictionary_an_async_function_and_a_chat() -> None:
    async def compute_score(solution_str: str, ground_truth: str) -> dict[str, float]:
        return {"score": float(solution_str == ground_truth), "acc": 0.0}

    chats = [[{"role": "assistant", "content": text}] for text in ANSWERS]
    assert asyncio.run(adapted(compute_score)(completions=chats, **ROWS)) == [1.0, 0.0]


def test_a_function_of_openrlhf_is_asked_about_the_batch() -> None:
    def reward_func(queries: list[str], prompts: list[str], labels: list[str]) -> dict[str, Any]:
        assert queries == ["1+1?2", "2+2?5"] and prompts == ["1+1?", "2+2?"]
        right = [query.endswith(label) for query, label in zip(queries, labels, strict=True)]
        return {"rewards": np.array(right, dtype=float), "scores": np.zeros(2)}

    assert adapted(reward_func)(completions=ANSWERS, **ROWS) == [1.0, 0.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda completions, solution_str, ground_truth: [],
        lambda solution_str, ground_truth, wanted: 0.0,
        lambda queries, prompts: [],
        lambda prompts, completions, **columns: [],
        len,
    ],
)
def test_any_other_function_stays_as_it_is(call: Any) -> None:
    assert adapted(call) is call


@pytest.mark.slow
def test_a_run_takes_a_file_of_verl_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_model(tmp_path / "small")
    lines = [json.dumps({"question": f"{n}+1?", "answer": str(n + 1)}) for n in range(40)]
    Path("rows.jsonl").write_text("\n".join(lines))
    Path("verl_reward.py").write_text(
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    assert extra_info['question'].endswith('+1?')\n"
        "    return {'score': float(ground_truth in solution_str)}\n"
    )
    given = ["--data", "rows.jsonl", "--model", "small", "--reward", "verl_reward.py:compute_score"]
    shell = Shell(capsys)
    assert shell("train", "grpo", *given, "--dry-run").code == 0
    reply = shell("eval", "small", *given[:2], *given[4:], "--n", 1, "--json")
    assert reply.code == 0, reply.err
    assert [one["judge"] for one in json.loads(reply.out)["judges"]] == ["verifier", "your reward compute_score"]
