"""Growing limits: when a stage begins, by hand and for all series, and a run through the stages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import policy, recipe_of, register, require_resumable, run

from assay.errors import ConfigError
from assay.known import recipe
from assay.methods.exploration.deepscaler_len.binding import LimitBinds, limit_binds
from assay.part_checks import check_parts
from assay.recipe import Recipe, at_profile


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def binds(*values: float, window: int = 2, factor: float = 1.5) -> bool:
    return limit_binds({"length/truncated": values}, metric="length/truncated", factor=factor, window=window)


def test_the_limit_binds_by_hand() -> None:
    """Means of two: 0.3, 0.2, 0.15, 0.2, 0.25: only the last is above 1.5 * 0.15 = 0.225."""
    series = (0.4, 0.2, 0.2, 0.1, 0.3, 0.2)
    assert [binds(*series[:n]) for n in range(len(series) + 1)] == [False] * 6 + [True]
    assert not binds(0.3, 0.2), "the only mean is its own lowest"
    assert not binds(), "nothing was seen yet"
    assert binds(0.0, 0.0, 0.1), "from none to some"
    assert LimitBinds().metric == "length/truncated"


@given(st.lists(st.floats(0, 1), max_size=30), st.integers(1, 6))
def test_a_series_that_falls_never_binds_and_a_constant_one_neither(values: list[float], window: int) -> None:
    assert not binds(*sorted(values, reverse=True), window=window, factor=1.5)
    assert not binds(*[0.3] * len(values), window=window, factor=1.0 + 1e-9)


def small(**scale: object) -> Recipe:
    return recipe_of("deepscaler-len", max_new=6, **{"num_prompts": 2, "group_size": 4, "num_steps": 8, **scale})


def test_a_mean_of_no_steps_is_refused() -> None:
    check_parts(LimitBinds(window=1), "when")
    with pytest.raises(ConfigError, match=r"when\.window must be 1 or more, not 0"):
        check_parts(LimitBinds(window=0), "when")


def test_the_limits_of_the_paper_and_of_a_laptop() -> None:
    """8192, 16384 and 24576 tokens; at another limit the same shares of it."""
    for found, limit, expected in (
        (recipe("deepscaler-len"), 24576, [8192, 16384, 24576]),
        (at_profile(recipe("deepscaler-len"), "laptop", max_new=24)[0], 24, [8, 16, 24]),
    ):
        shares = [stage.mechanism.ask[-1].share if stage.mechanism else 1.0 for stage in found.stages]  # type: ignore[attr-defined]
        assert [round(share * limit) for share in shares] == expected


def test_a_run_grows_its_answers_and_its_groups() -> None:
    notes, memory = run(small(), policy("fp32", vocab=4))
    longest = [max(e.request.max_new for e in step) for step in notes.episodes]
    sizes = [len(step) // 2 for step in notes.episodes]
    assert longest == [2] * 5 + [4] * 2 + [6] and sizes == [2] * 5 + [4] * 3 and memory.stage == 2
    for step in notes.rows:
        for row in step:
            assert (
                row.episode.finish != "length"
                or not row.episode.right
                or len(row.episode) == row.episode.request.max_new
            )
            assert row.in_denominator, "an answer that was cut trains as well"


@pytest.mark.slow
def test_a_stopped_run_goes_on_in_its_stage() -> None:
    require_resumable(small(), lambda: policy("fp32", vocab=4), after=6)
