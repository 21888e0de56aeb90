"""Entropy and score along a run, and where entropy was spent: by hand, and for runs whose course is known."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.lab.analyses import entropy_exchange, measure
from assay.lab.analyses.entropy_exchange import Answers, answers_of, cells, falls, series, tokens
from assay.lab.analyses.exchange import exchange, parts, shares, turn
from assay.lab.analyses.measure import Lacking
from assay.lab.analyses.pair import Pair, Side
from assay.policy import character_tokenizer, fresh_policy, load_policy, save_policy
from assay.policy.config import PolicyConfig
from assay.rng import Key
from assay.tasks import ALPHABET

TOKENIZER = character_tokenizer(ALPHABET)
SHAPE = PolicyConfig("qwen2", TOKENIZER.vocab, 16, 1, 2, 1, 8, 32, 64, attention_bias=True, init_std=0.3)
KEY = Key("test")


def test_the_line_of_the_exchange_is_found_again() -> None:
    entropy = np.linspace(0.6, 0.1, 40) + np.random.default_rng(0).normal(0, 0.02, 40)
    found = exchange(entropy, -0.3 * np.exp(entropy) + 0.9, KEY)
    assert (found.a, found.b, found.explained) == pytest.approx((0.3, 0.9, 1.0))
    assert found.changes == pytest.approx(1.0) and found.chance == pytest.approx(1 / 501)


def test_two_trends_fit_a_line_and_are_not_taken_for_an_exchange() -> None:
    """Score and entropy that have nothing in common but the time."""
    generator = np.random.default_rng(1)
    entropy, score = (
        line + generator.normal(0, 0.01, 60) for line in (np.linspace(0.6, 0.1, 60), np.linspace(0, 1, 60))
    )
    found = exchange(entropy, score, KEY)
    assert found.explained > 0.95 and found.by_step > 0.95, "the line fits all the same"
    assert abs(found.changes) < 0.35 and found.chance > 0.01


def test_a_turn_is_where_it_was_put() -> None:
    entropy = np.concatenate([0.6 - 0.02 * np.arange(20), np.full(30, 0.22)])
    found = turn(range(1, 51), entropy)
    assert found is not None and found.step in (20, 21) and found.explained == pytest.approx(1.0)
    assert found.before == pytest.approx(-0.02, rel=0.01) and found.after == pytest.approx(0.0, abs=1e-4)
    assert turn(range(9), np.zeros(9)) is None
    noise = turn(range(50), np.random.default_rng(0).normal(size=50))
    assert noise is not None and noise.explained < 0.35, "noise has no two stages"


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=40), st.integers(1, 10))
def test_parts_are_equal_and_in_order(values: list[float], count: int) -> None:
    part = parts(np.array(values), count)
    sizes = np.bincount(part, minlength=count)
    assert sizes.sum() == len(values) and sizes.max() - sizes.min() <= 1
    ordered = [part[i] for i in np.argsort(values, kind="stable")]
    assert ordered == sorted(ordered)
    assert shares(part, np.abs(values), count).sum() == pytest.approx(1.0 if any(values) else 0.0)


def answers(**changes: Any) -> Answers:
    """Four answers to two problems, of two tokens each."""
    values: dict[str, Any] = {
        "group": np.array([0, 0, 1, 1]),
        "right": np.array([True, False, True, False]),
        "advantage": np.array([1.0, -1.0, 3.0, -1.0]),
        "cost": np.array([0.1, 0.2, 0.3, 0.4]),
        "answer": np.repeat(np.arange(4), 2),
        "place": np.tile([0.0, 0.5], 4),
        "entropy": np.array([1.0, 0.0] * 4),
        "moved": np.array([0.5, 0.0] * 4),
        "change": np.array([-1.0, 0.0, -3.0, -1.0, -2.0, -1.0, 0.0, 0.0]),
    }
    return Answers(**{**values, **changes})


def test_falls_and_cells_by_hand() -> None:
    found = falls(answers())
    assert found["right"] is not None and found["right"].mean == pytest.approx((-0.5 - 1.5) / 2)
    assert found["wrong"] is not None and found["wrong"].mean == pytest.approx((-2.0 + 0.0) / 2)
    assert falls(answers(right=np.array([True, False, False, False])))["right"] is None
    table = {(row["perplexity"], row["advantage"]): row for row in cells(answers())}
    # thirds of four by rank: 0, 0, 1, 2
    assert table["low", "+"] == {"perplexity": "low", "advantage": "+", "answers": 0.25, "right": 0.5, "weight": 1 / 6}
    assert table["middle", "+"]["weight"] == pytest.approx(3 / 6) and table["middle", "-"]["answers"] == 0.0
    assert sum(float(row["weight"]) for row in table.values()) == pytest.approx(1.0)


def test_tokens_by_hand() -> None:
    found = tokens(answers())
    assert found["place"]["tokens"] == pytest.approx([1 / 2, 0, 0, 0, 0, 1 / 2, 0, 0, 0, 0])
    assert found["place"]["moved"] == pytest.approx([1, *[0] * 9])
    assert sum(found["entropy"]["entropy"][5:]) == pytest.approx(1.0)


def recorded(policy: Any) -> dict[str, list[Any]]:
    """Rollouts with what a policy itself makes of them."""
    import torch

    from assay.engine.choose import frozen_engine
    from assay.engine.interface import Span

    engine = frozen_engine(policy, device="cpu", precision="fp32")
    with torch.no_grad():
        context, rows = [1, 5], [[6, 7, 8], [9, 10], [6, 9, 10]]
        found = engine.score([Span(np.array(context), np.array(row)) for row in rows], entropy=True)
    return {
        "group": ["0", "0", "1"],
        "verdict": ["ok", "fail", "ok"],
        "context": [context] * 3,
        "tokens": rows,
        "origin": [[0] * len(row) for row in rows[:2]] + [[1, 0, 0]],
        "old": [one.logp.tolist() for one in found],
        "entropy": [one.entropy.tolist() for one in found if one.entropy is not None],
        "temperature": [1.0] * 3,
        "advantage": [[1.0] * 3, [-1.0] * 2, [0.5] * 3],
    }


@pytest.mark.slow
def test_fixed_answers_change_with_the_policy_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = (fresh_policy(SHAPE, TOKENIZER, key=Key(name)) for name in ("first", "last"))
    for name, policy in (("first", first), ("last", last)):
        save_policy(policy, tmp_path / name)
    rollouts = recorded(load_policy(tmp_path / "first"))  # as stored, in half precision
    same, moved = (
        answers_of(Pair(Side("base"), Side(name, model=str(tmp_path / name))), rollouts) for name in ("first", "last")
    )
    assert np.abs(same.change).max() < 1e-3 and same.moved.max() < 1e-3
    assert np.abs(moved.change).max() > 0.1 and moved.moved.max() > 0.1
    assert same.entropy.tolist() == moved.entropy.tolist() and len(same.entropy) == 3 + 2 + 2, (
        "a given token is not own"
    )
    assert same.answer.tolist() == [0, 0, 0, 1, 1, 2, 2] and same.right.tolist() == [True, False, True]
    old = rollouts["old"][2][1:]
    assert same.cost[2] == pytest.approx(-sum(old) / 2)
    metrics = [{"step": i, "policy/entropy": 0.5 - 0.01 * i, "reward/accuracy": 0.1 + 0.01 * i} for i in range(1, 21)]
    monkeypatch.setattr(entropy_exchange, "_first_rollouts", lambda pair: (1, rollouts, metrics))
    reading = measure("entropy-exchange").take(Pair(Side("base"), Side("last", model=str(tmp_path / "last"))))
    assert reading.figures["exchange"]["a"] > 0 and len(reading.tables) == 5 and "step 1" in reading.says
    assert json.loads(json.dumps(reading.figures))["score"] == "reward/accuracy"


def test_runs_without_a_record_are_lacking(tmp_path: Path) -> None:
    with pytest.raises(Lacking, match="is no run"):
        measure("entropy-exchange").take(Pair(Side("a", model="countdown"), Side("b", model=str(tmp_path))))
    rows = [{"step": i, "policy/entropy": 0.5, "reward/mean": math.sqrt(i)} for i in range(9)]
    with pytest.raises(Lacking, match="the run recorded those of 9"):
        series(rows)
    with pytest.raises(Lacking, match="of 0"):
        series([{"step": 1}] * 20)
    assert series([*rows, rows[0]])[3] == "reward/mean"
