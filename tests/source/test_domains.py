"""Domains of a pool, and what is drawn and examined of them."""

from __future__ import annotations

import dataclasses

import pytest
from altered import altered
from hypothesis import given
from hypothesis import strategies as st
from tiny import TINY

import assay.tasks
from assay.memory import Memory
from assay.source import Examine, Only, Pool, Share, Unsolved
from assay.source.domains import Domain, only, restricted
from assay.source.examined import examine, unsolved

MIX = Pool((Share("mod-chain", (3,), 2.0), Share("countdown", (3,)), Share("knights", (5,), 3.0)))


def weights(tasks: Domain) -> list[float]:
    return [share.weight for share in restricted(MIX, tasks).shares]


def test_domains_by_hand() -> None:
    assert weights("all") == [2.0, 1.0, 3.0] and weights("first") == [2.0, 0.0, 0.0]
    assert weights("others") == [0.0, 1.0, 3.0]
    alone = Pool((Share("countdown", (3,)),))
    assert restricted(alone, "first") == restricted(alone, "others") == alone


@given(step=st.integers(0, 50), count=st.integers(1, 12))
def test_a_domain_draws_its_tasks_alone(step: int, count: int) -> None:
    memory = Memory(0, step=step)
    tasks = {which: {p.task for p in only(memory, 0, count, pool=MIX, tasks=which)} for which in ("first", "others")}
    assert tasks["first"] == {"mod-chain"} and tasks["others"] <= {"countdown", "knights"}


def test_rows_of_files_are_refused_beside_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        assay.tasks.TASKS, "rows", altered(dataclasses.replace(TINY, name="rows"), rows=lambda split: ())
    )
    mixed = Pool((Share("mod-chain", (3,)), Share("rows")))
    for source in (Only(tasks="first"), Unsolved(tasks="others"), Examine(tasks="first")):
        assert "generated tasks" in (source.unfit(mixed) or "")
        assert source.unfit(MIX) is None and source.unfit(Pool((Share("rows"),))) is None
    assert Only().unfit(mixed) is None


def test_the_set_that_is_examined_is_of_the_domain_and_the_hard_ones_are_drawn() -> None:
    values = {"pool": MIX, "size": 6, "tasks": "first"}
    every = examine(Memory(0), 0, 99, most=1.0, **values)  # type: ignore[arg-type]
    assert len(every) == 6 and {p.task for p in every} == {"mod-chain"}
    rates = dict(zip([p.id for p in every], [0.0, 6 / 16, 7 / 16, 1.0, 0.5, 0.25], strict=True))
    memory = Memory(0).keep("examined", rates)
    drawn = unsolved(memory, 0, 3, drawn=3, most=6 / 16, place="examined", **values)  # type: ignore[arg-type]
    assert sorted(p.id for p in drawn) == sorted(every[i].id for i in (0, 1, 5))
