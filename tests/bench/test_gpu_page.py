"""The page of `make gpu`: what became of each goal, and tables that say what failed and what was left out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from small_runs import ROOT

from bench import gpu_checks, gpu_device
from bench.gpu_goals import AGREEMENT, Goal, goals_of
from bench.gpu_models import Row
from bench.gpu_record import PARTS
from bench.gpu_report import model_line, report


def data(**parts: Any) -> dict[str, Any]:
    """Results with these parts and no others."""
    empty = {"machine": {"torch": "2"}, "toy": False, "stages": {}, "goals": [], **{part: [] for part in PARTS}}
    return empty | parts


def model(name: str, **numbers: float) -> dict[str, Any]:
    row = Row(name, 494_032_768, 1e5, 1.0, 1.0, 8.0, 8.0, 0.5, 0.3, "cuda torch triton")
    return vars(row) | {"step_s": row.step_s} | numbers


def trl(name: str, configuration: str, step_s: float | None, why: str = "") -> dict[str, Any]:
    row = {"model": name, "configuration": configuration, "step_s": step_s, "peak_gib": 20.0, "steps": 2, "tokens": 384}
    return row | {"why": why}


def words(**parts: Any) -> dict[str, str]:
    return {goal.name: goal.word for goal in goals_of(data(**parts))}


def test_a_goal_is_reached_at_its_bound_and_missed_beyond_it() -> None:
    assert Goal("a", 0.5, "at least", 0.5).word == Goal("a", 0.5, "at most", 0.5).word == "reached"
    assert Goal("a", 0.5, "at least", 0.49).word == Goal("a", 0.5, "at most", 0.51).word == "missed"
    assert Goal("a", 0.5, "at least").word == "not measured"


def test_nothing_measured_reaches_and_misses_no_goal() -> None:
    assert len(words()) == 17 and set(words().values()) == {"not measured"}
    skipped = vars(Row("0.5B", 1, skipped="the time was up")) | {"step_s": None}
    assert set(words(rows=[skipped], trl=[trl("0.5B", "generate", 9.0)]).values()) == {"not measured"}
    assert set(words(toy=True, rows=[model("0.5B")]).values()) == {"not measured"}


@pytest.mark.parametrize(
    ("name", "share", "word"),
    [("0.1B", 0.30, "reached"), ("0.1B", 0.29, "missed"), ("0.5B", 0.49, "missed"), ("1.5B", 0.50, "reached")],
)
def test_sampling_is_to_reach_shares_of_its_floor(name: str, share: float, word: str) -> None:
    assert words(rows=[model(name, sample_share=share)])[f"sampling, {name}, of its floor"] == word


def test_learning_is_to_reach_shares_of_the_products_of_the_card() -> None:
    told = words(rows=[model(name, learn_share=0.35) for name in gpu_device.MODELS])
    told = {name: word for name, word in told.items() if name.startswith("learning")}
    assert told == {
        "learning, 0.5B, of the card's products": "reached",
        "learning, 1.5B, of the card's products": "missed",
    }


def test_a_step_is_compared_with_generate_and_with_the_best_of_trl() -> None:
    """Ours takes 2 s: 8 s of `generate` are four times as many, 1.5 s of the other less."""
    rows = [model("0.5B"), model("1.5B"), model("0.1B")]
    others = [trl("0.5B", "generate", 8.0), trl("0.5B", "paged", 1.5), trl("1.5B", "paged", None, "failed")]
    told = words(rows=rows, trl=[*others, trl("1.5B", "generate", 7.9)])
    assert told["a step, 0.5B: TRL with generate / ours"] == "reached"
    assert told["a step, 0.5B: TRL's best / ours"] == "missed"
    assert told["a step, 1.5B: TRL with generate / ours"] == "missed"
    assert told["a step, 1.5B: TRL's best / ours"] == "reached"
    assert told["a step, 0.1B: TRL's best / ours"] == "not measured"


def test_host_agreement_and_peak_have_goals() -> None:
    profile = [{"model": "0.5B", "host_share": 0.10}, {"model": "1.5B", "host_share": 0.11}]
    agreement = vars(gpu_checks.at_most(AGREEMENT, 2e-6, 1e-4))
    rows = [model("0.1B", peak_gib=8.5), model("0.5B", peak_gib=7.7), model("1.5B", peak_gib=8.3)]
    told = words(rows=rows, profile=profile, checks=[agreement])
    assert (told["host, 0.5B, of a step"], told["host, 1.5B, of a step"]) == ("reached", "missed")
    assert told["sampler and learner in fp32, nats"] == "missed"
    peaks = [told[f"peak, {name}, off the plan"] for name in ("0.1B", "0.5B", "1.5B")]
    assert peaks == ["missed", "reached", "reached"]


def test_the_page_says_what_failed_and_what_was_skipped() -> None:
    checks = [gpu_checks.at_most("gap", 0.5, 0.1), gpu_checks.at_least("gain", 0.5, 0.1)]
    goals = [{"name": "host", "side": "at most", "bound": 0.1, "value": 0.2, "word": "missed"}]
    skipped = vars(Row("9B", 9_000_000_000, skipped="needs much")) | {"step_s": None}
    text = report(data(checks=[vars(check) for check in checks], rows=[skipped], goals=goals))
    assert "| gap | 0.5 | <= 0.1 | **FAILED** |" in text and "| gain | 0.5 | >= 0.1 | ok |" in text
    assert "| 9B (9,000M) | needs much |" in text and "| host | at most 0.1 | 0.2 | **missed** |" in text


def test_every_row_has_as_many_cells_as_its_table() -> None:
    """Of all parts at once, with reasons in which a bar stands."""
    phase = {
        "name": "sampling",
        "wall_s": 1.0,
        "busy_s": 0.9,
        "host_s": 0.1,
        "host_waits_s": 0.5,
        "device_waits_s": 0.2,
    }
    kernel = {"name": "norm", "inputs": "", "ours_s": 1e-3, "torch_s": 2e-3, "bytes_moved": 10**9, "operations": None}
    whole = data(
        stages={"models": {"state": "failed", "note": "a | b", "seconds": 3.0}, "trl": {"state": "not begun"}},
        checks=[vars(gpu_checks.at_most("gap", 0.5, 0.1))],
        rows=[model("0.5B"), vars(Row("9B", 1, skipped="a | b")) | {"step_s": None}],
        trl=[trl("0.5B", "generate", 9.0), trl("0.5B", "paged", None, "a | b")],
        profile=[{"model": "0.5B", "host_share": 0.1, "phases": [phase | {"kernels": [["k<a|b>", 3, 0.4]]}]}],
        kernels=[kernel | {"share": 0.4, "difference": 1e-3, "why": "a | b"}],
        goals=[{"name": "host", "side": "at most", "bound": 0.1, "value": None, "word": "not measured"}],
    )
    blocks = [block.splitlines() for block in report(whole).split("\n\n") if block.startswith("|")]
    assert len(blocks) == 8
    for lines in blocks:
        assert len({line.count("|") for line in lines}) == 1, lines
    assert "| 0.5B | generate | 9 | 2 | 4.5 | 20 | 2 | 384 |  |" in report(whole)
    assert "| norm |  | 1 | 2 | 2 | 1 |  | 0.4 | 0.001 | a / b |" in report(whole)
    assert "the device waits for the host in 10.0% of a step" in report(whole)


def test_a_row_of_a_model_says_how_far_the_peak_is_from_the_plan() -> None:
    line = model_line(model("0.5B", peak_gib=8.4))
    assert line == "| 0.5B (494M) | 1e+05 | 2 | 1 | 1 | 0.50 | 0.30 | 8.4 | 8 | 1.050 | cuda torch triton |"


def test_make_knows_the_word() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^gpu:.*## .*eight minutes.*\n\t\$\(PYTHON\) -m bench\.gpu --minutes 6$", makefile, re.MULTILINE)
