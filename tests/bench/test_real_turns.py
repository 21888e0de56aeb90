"""Turns of arms on a pretrained model: what each is given, what is divided by what, and the page of what is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import kept, real_turns, tuning
from bench.pair import Broken, Missing
from bench.real_turns import ARMS, GOALS, PARTS
from bench.real_work import Question, Work, advantages, reward

MACHINE = {"processor": "AMD EPYC", "cores": 2, "flags": ["avx2"], "memory_gib": 23.5}
PLURAL = Question('What is the plural of the word "fox"?', (5, 6, 7), {"kind": "plural", "word": "fox"})


def work(**changed: Any) -> Work:
    plain = Work("model", {}, (PLURAL,), samples=2, answer=4, temperature=0.7, paid="even", steps=3, threads=2)
    return dataclasses.replace(plain, **changed)


def arm(seconds: Sequence[float], tokens: Sequence[int] = (8, 8), **options: Any) -> dict[str, Any]:
    steps = [{"seconds": s, "tokens": t, "peak_mb": 100.0} for s, t in zip(seconds, tokens, strict=True)]
    return {"system": "one", "options": options, "facts": {}, "steps": steps}


def test_arms_are_compared_with_arms_of_their_part() -> None:
    for name, one in ARMS.items():
        assert name == one.name and one.part in PARTS
        assert all(ARMS[other].part == one.part and not ARMS[other].against for other in one.against)
        assert bool(one.against) == (one.system is real_turns.OURS)
        form = one.options.get("precision")
        if one.part == "sample":  # products of one type beside products of the same type
            assert all(ARMS[other].options["precision"] == form for other in one.against)
    assert all(any(name.startswith(goal) for name in ARMS) for goal, _ in GOALS.values())


def test_work_is_read_as_it_was_written(tmp_path: Path) -> None:
    work().write(tmp_path / "build" / "job.json")
    assert Work.read(tmp_path / "build" / "job.json") == work() and work().rows == 2


def test_answers_are_paid_for_even_ids_or_by_the_verifier() -> None:
    assert reward(work(), PLURAL, [2, 3, 4, 6], "whatever", ended=False) == 0.75
    assert reward(work(), PLURAL, [], "", ended=False) == 0
    judged = work(paid="verdict")
    assert reward(judged, PLURAL, [1], "It is foxes.", ended=True) == 1
    assert reward(judged, PLURAL, [1], "It is foxes.", ended=False) == 0
    assert reward(judged, PLURAL, [2], "It is fox.", ended=True) == 0


def test_advantages_are_rewards_less_the_mean_of_their_group() -> None:
    assert advantages(np.array([1.0, 0.0, 2.0, 2.0]), samples=2).tolist() == [0.5, -0.5, 0.0, 0.0]


def test_a_ratio_is_of_one_round() -> None:
    arms = {"ours": arm([2.0, 4.0], [10, 20]), "theirs": arm([6.0, 4.0], [20, 20])}
    assert real_turns.ratios(arms, "ours", "theirs") == [3.0, 1.0]
    assert real_turns.per_token(arms, "ours", "theirs") == [1.5, 1.0]


def test_samplers_that_write_another_number_of_tokens_are_refused() -> None:
    real_turns.require_equal_work({"sample-llama-fp32": arm([1.0, 1.0])}, work())
    real_turns.require_equal_work({"step-trl": arm([1.0, 1.0], [3, 5])}, work())
    with pytest.raises(Broken, match="sample-llama-fp32 wrote 7 tokens, expected 8"):
        real_turns.require_equal_work({"sample-llama-fp32": arm([1.0, 1.0], [8, 7])}, work())


def test_the_page_says_what_was_measured_and_what_was_chosen(tmp_path: Path) -> None:
    assert real_turns.section(tmp_path) == ""
    arms = {
        "step-native-bf16": arm([2.0, 4.0], precision="bf16", kind="step"),
        "step-trl": arm([8.0, 12.0], dtype="bf16", parts=4),
        "sample-native-fp32": arm([1.0, 1.0]),
    }
    result = {"machine": MACHINE, "measured": "2026-11-27", "others": 2.0, "rounds": 2, "answer": 4, "threads": 2}
    kept.keep(tmp_path, real_turns.NAME, {**result, "paid": "even", "arms": arms})
    page = real_turns.section(tmp_path)
    assert "2 rounds, 2 threads, answers of 4 tokens, paid even, 2 other processes wanted a core:" in page
    assert "| step-native-bf16 | 3.00 (2.00 to 4.00) | all | 3 (2 to 4) | 100 | step-trl (goal 3) | 3.50" in page
    assert "| sample-native-fp32 | 1.00 (1.00 to 1.00) | all | 8 (8 to 8) | 100 |  |  |  |" in page
    assert "Chosen settings: step-trl: dtype bf16, parts 4." in page


class Scripted:
    """A process whose steps take as long as its options say."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> Scripted:
        if self.seconds < 0:
            raise Broken("does not run")
        return self

    def __exit__(self, *_: object) -> None: ...

    def step(self) -> dict[str, float]:
        return {"seconds": self.seconds}


def test_settings_are_chosen_one_after_another_and_then_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "TUNED", tmp_path / "tuned.json")
    took = {("a", 1): 5.0, ("b", 1): 3.0, ("b", 2): -1.0, ("b", 3): 2.0}
    tried: list[tuple[str, int]] = []

    def start(options: Any, steps: int) -> Any:
        tried.append((options["one"], options["two"]))
        return Scripted(took[tried[-1]])

    axes = {"one": ("a", "b"), "two": (1, 2, 3)}
    for again in (False, False, True):
        best = tuning.tune("machine/system", axes, start, again=again, say=lambda _: None)
        assert best == {"one": "b", "two": 3}
    assert tried == [("a", 1), ("b", 1), ("b", 2), ("b", 3)] * 2

    def lost(options: Any, steps: int) -> Any:
        return Scripted(-1.0)

    with pytest.raises(Broken, match="runs with none of its settings"):
        tuning.tune("machine/other", axes, lost, again=False, say=lambda _: None)


def test_arms_that_cannot_run_are_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = dataclasses.replace(real_turns.LLAMA, venv=".venv-absent")
    monkeypatch.setitem(ARMS, "sample-llama-fp32", dataclasses.replace(ARMS["sample-llama-fp32"], system=absent))
    with pytest.raises(Missing, match=r"bash bench/setup\.sh absent"):
        real_turns.main(["--arms", "sample-llama-fp32"])
