"""Which groups fill a step, by hand and for all groups; and the run without a process model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kl_runs import small
from tiny import group_of, policy, register, run

from assay.curate.parts import band_first


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def kept(*groups: Sequence[float], num_prompts: int, cut_in: str = "", cut: bool = False) -> list[str]:
    """Names of the groups that train, in the order of their draws."""
    rows = [row for place, rewards in enumerate(groups) for row in group_of(rewards, name=f"{place}")]
    rows = [
        row.mark(episode=dataclasses.replace(row.episode, finish="length")) if row.group == cut_in else row
        for row in rows
    ]
    marked = band_first(rows, num_prompts=num_prompts, low=0.2, high=0.8, cut=cut)
    return list(dict.fromkeys(row.group for row in marked if row.in_loss))


RIGHT, WRONG = [1.0] * 4, [0.0] * 4
QUARTER, HALF = [1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]


def test_the_band_comes_first_and_others_fill_the_step_by_hand() -> None:
    groups = (RIGHT, QUARTER, WRONG, HALF)
    assert kept(*groups, num_prompts=2) == ["1", "3"]
    assert kept(*groups, num_prompts=3) == ["0", "1", "3"], "the first of the others fills"
    assert kept(*groups, num_prompts=1, cut_in="1") == ["3"], "a group with a cut answer is no longer in the band"
    assert kept(*groups, num_prompts=1, cut_in="1", cut=True) == ["1"]
    six = ([1.0] + [0.0] * 5, [1.0] * 2 + [0.0] * 4)  # 1/6 is below the band, 1/3 in it
    assert kept(*six, num_prompts=1) == ["1"]


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=4, max_size=4), min_size=1, max_size=8), st.integers(1, 8)
)
def test_the_step_is_always_full_and_none_of_the_band_waits_for_others(
    groups: list[list[float]], num_prompts: int
) -> None:
    found = kept(*groups, num_prompts=num_prompts)
    inside = [str(i) for i, rewards in enumerate(groups) if 0 < sum(rewards) < 4]
    assert len(found) == min(num_prompts, len(groups))
    assert set(found) >= set(inside[:num_prompts])


def test_a_run_fills_its_steps_and_needs_no_process_model() -> None:
    made = small("prime-filter", num_prompts=4, group_size=4, num_steps=4)
    assert list(made.models) == ["policy"] and not made.mechanism.forwards
    notes, _ = run(made, policy("fp32", vocab=4))
    assert [len({row.group for row in rows if row.in_loss}) for rows in notes.rows] == [4] * 4
    assert any(len({e.request.group for e in step}) > 4 for step in notes.episodes), "more were drawn than train"
