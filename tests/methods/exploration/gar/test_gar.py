"""GAR: what a theorem of the fuser is worth, what a changed statement costs, who trains, and runs of both players."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import episode, policy, recipe_of, register, require_resumable, run

from assay.memory import Memory
from assay.methods.exploration.gar.fused import (
    changed,
    fuse_pairs,
    fusion,
    kept_statement,
    over_all,
    provable,
    shares,
)
from assay.source import Pool, Share
from assay.tasks import task
from assay.types import Episode, Reward, Row, Verdict

SPEC = {"hypotheses": ["p", "( p > q )"], "goal": "q", "witness": ""}


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def answer(row: str, *, parent: str = "", sample: int = 0, group: str = "g") -> Episode:
    """A row of labels for modus ponens: ABm proves it, A and B prove a hypothesis, AB leaves two formulas."""
    made = episode([1], sample=sample, group=group)
    request = dataclasses.replace(made.request, problem=task("metamath").pose(SPEC, level=1), parent=parent)
    verdict = Verdict.ok(row) if row == "ABm" else Verdict.fail("wrong")
    return dataclasses.replace(made, request=request, text=f"#{row}", verdict=verdict)


def fused(text: str = "p,(p>q):q", *, sample: int = 0) -> Episode:
    asked = task("pose:metamath").pose({"shown": [SPEC, SPEC], "example": SPEC}, level=1)
    made = episode([1], sample=sample, role="proposer")
    verdict = Verdict.ok(text) if ":" in text else Verdict.fail("format")
    request = dataclasses.replace(made.request, problem=asked)
    return dataclasses.replace(made, request=request, text=text, verdict=verdict)


def worth(*rows: str, unproved: float = 0.0) -> float | None:
    own = fused()
    (found,) = fusion([own], everyone=[own, *(answer(r, parent=own.request.id) for r in rows)], unproved=unproved)
    return None if found is None else found.value


def test_a_proof_of_another_statement_is_known() -> None:
    rows = {"ABm": False, "A": True, "B": True, "AB": False, "zz": False, "": False, "BA": False}
    assert {row: changed(answer(row)) for row in rows} == rows
    lost = dataclasses.replace(answer("A"), verdict=Verdict.invalid("worker_lost"))
    assert not changed(lost) and not changed(episode([1]))
    assert shares([answer("ABm"), answer("A"), answer("AB"), answer("AB")]) == (0.5, 0.25)


def test_the_reward_of_the_prover_by_hand() -> None:
    found = kept_statement([answer(row) for row in ("ABm", "A", "AB")], penalty=0.5)
    assert [one.value for one in found if one is not None] == [1.0, 0.5, 0.0]
    assert [one.value for one in kept_statement([answer("A")], penalty=1.0) if one is not None] == [0.0]


def test_the_reward_of_the_fuser_by_hand() -> None:
    """p = 1/4, m = 0; p = 1/2, m = 1/4; p = 0; p = 1."""
    assert worth("ABm", "AB", "AB", "AB") == pytest.approx(0.75)
    assert worth("ABm", "A", "AB", "AB") == pytest.approx((1 - 0.5) * (1 - 0.25))
    assert worth("AB", "AB") == 0.0 and worth("ABm") == 0.0
    assert worth("AB", "AB", unproved=1.0) == 1.0 and worth("ABm", unproved=1.0) == 0.0
    assert worth() is None, "nobody has tried it yet"
    (none,) = fusion([fused("nothing")], everyone=[], unproved=0.0)
    assert none is not None and none.value == 0.0


@given(st.lists(st.sampled_from(["ABm", "A", "AB"]), min_size=1, max_size=8))
def test_the_reward_of_the_fuser_lies_between_nothing_and_one_and_falls_with_changed_statements(
    rows: list[str],
) -> None:
    found = worth(*rows)
    assert found is not None and 0 <= found < 1
    honest = worth(*["ABm" if row == "A" else row for row in rows])
    assert honest is not None and found <= honest
    assert (found == 0) == (rows.count("AB") in (0, len(rows)) or rows.count("A") == len(rows))


def test_theorems_that_are_proved_by_at_most_half_train_the_prover() -> None:
    groups = {"none": "AB AB", "half": "ABm AB", "changed": "A AB", "most": "ABm A AB", "all": "ABm ABm"}
    rows = [
        Row(answer(one, group=name, sample=i)) for name, said in groups.items() for i, one in enumerate(said.split())
    ]
    own = Row(fused())
    marked = provable([*rows, own], most=0.5)
    assert {row.group for row in marked[:-1] if row.in_loss} == {"half", "changed"} and marked[-1].in_loss


def test_the_advantage_of_the_fuser_is_over_all_theorems() -> None:
    """Rewards 0, 0, 3 in three groups: the mean is 1, the deviation of three is sqrt 3."""
    rows = [
        Row(dataclasses.replace(episode([1, 2], group=name), rewards=(Reward("fusion", value),)))
        for name, value in (("a", 0.0), ("b", 0.0), ("c", 3.0))
    ]
    found = [row.advantage for row in over_all(rows, epsilon=1e-12)]
    assert np.allclose(np.array(found), np.array([[-1, -1], [-1, -1], [2, 2]]) / 3**0.5)
    assert all(not np.any(row.advantage) for row in over_all(rows[:2], epsilon=1e-6))


def test_a_prompt_shows_two_theorems_of_one_level() -> None:
    pool = Pool((Share("metamath", (1, 2)),))
    asked = fuse_pairs(Memory(0), 0, 6, pool=pool)
    assert {one.task for one in asked} == {"pose:metamath"} and {len(one.spec["shown"]) for one in asked} == {2}
    assert all(one.solution is None and len(one.parents) == 2 for one in asked)
    assert asked == fuse_pairs(Memory(0), 0, 6, pool=pool) and asked[2:] == fuse_pairs(Memory(0), 2, 4, pool=pool)


def small(**scale: Any) -> Any:
    values = {"num_prompts": 16, "group_size": 4, "num_steps": 5, "warmup_steps": 0, **scale}
    return recipe_of("gar", max_new=3, **values)


def test_both_players_train_in_a_batch_of_their_own() -> None:
    notes, _ = run(small(), policy("fp32", vocab=4, init_std=0.1))
    first, *played = notes.episodes
    assert {e.provenance for e in first} == {"teacher"} and {e.request.role for e in first} == {"proposer"}
    assert {e.request.role for step in played for e in step} == {"policy", "proposer"}
    trained = {row.role for rows in notes.rows for row in rows if row.in_loss}
    assert "proposer" in trained and max(map(len, notes.batches)) <= 2


@pytest.mark.slow
def test_a_run_goes_on_with_the_same_bits() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4, init_std=0.1), after=2)


@pytest.mark.learning
def test_the_fuser_learns_what_is_a_theorem() -> None:
    """The share of its texts that are problems of letters rises."""
    notes, _ = run(small(num_steps=30, learning_rate=0.01), policy("fp32", vocab=4, init_std=0.1))
    posed = [[e.right for e in step if e.request.role == "proposer"] for step in notes.episodes[6:]]
    assert np.mean(posed[-3:]) >= np.mean(posed[:3])
