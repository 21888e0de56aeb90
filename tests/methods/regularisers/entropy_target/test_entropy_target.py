"""An entropy bonus that keeps near a target."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from kl_runs import small
from tiny import Table, episode, policy, register, run, segment, update
from torch import Tensor

from assay.credit import pack
from assay.memory import Memory
from assay.methods.regularisers.entropy_target.adapt import STORE, adapt_entropy
from assay.methods.regularisers.entropy_target.weight import entropy_weight
from assay.types import Row


@pytest.fixture(autouse=True)
def task(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def of_entropy(*values: float) -> list[Row]:
    return [
        Row(episode([segment([1] * len(values), entropy=np.array(values, np.float32))], sample=i)) for i in range(2)
    ]


def test_the_weight_of_the_bonus_rises_below_the_target_and_acts_there_alone() -> None:
    """c: 0, 0.1, 0.2, 0.1, 0.2, 0.25 (its bound); what a step applies is what the one before left."""
    memory, applied = Memory(0), []
    for mean in (0.1, 0.2, 0.3, 0.1, 0.1, 0.1):
        rows = of_entropy(mean - 0.05, mean + 0.05)
        marked, stats = entropy_weight(rows, memory=memory)
        assert all((row.term_weights["entropy"] == np.float32(stats["policy/entropy_weight"])).all() for row in marked)
        applied.append(stats["policy/entropy_weight"])
        memory = adapt_entropy(memory, rows=rows, target=0.2001, step=0.1, most=0.25)
    assert applied == pytest.approx([0.0, 0.1, 0.0, 0.1, 0.2, 0.25])
    assert memory.stores[STORE]["weight"] == 0.25
    assert adapt_entropy(memory, rows=[], target=0.2, step=0.1, most=0.25).stores[STORE]["weight"] == 0.25


def test_the_bonus_is_weighed_by_what_is_kept() -> None:
    """Two tokens of two: - c / 4 on each entropy."""
    memory = Memory(0).keep(STORE, {"weight": 0.3, "target": 1.0})
    rows, _ = entropy_weight([row.mark(advantage=np.ones(2)) for row in of_entropy(0.5, 0.5)], memory=memory)
    goal = small("entropy-target").mechanism.objective
    table = Table({row.episode.request.id: [-1.0] * 2 for row in rows})
    found: list[Tensor] = []
    table.backward = lambda chunk, out: found.append(out.entropy.grad)  # type: ignore[method-assign, union-attr, arg-type]
    update(table, pack(rows), goal, small("entropy-target").scale)
    torch.testing.assert_close(found[0], torch.full((4,), -0.3 / 4, dtype=torch.float64), rtol=1e-6, atol=0)


def test_a_run_keeps_the_weight_in_its_memory() -> None:
    recipe = small("entropy-target")
    keep = dataclasses.replace(recipe.mechanism.remember[0], target=5.0)  # type: ignore[call-arg]
    recipe = dataclasses.replace(recipe, mechanism=dataclasses.replace(recipe.mechanism, remember=(keep,)))
    notes, memory = run(recipe, policy("fp32", vocab=4))
    assert [s["policy/entropy_weight"] for s in notes.stats] == pytest.approx([0.0, 0.005, 0.01, 0.015])
    assert memory.stores[STORE] == {"weight": pytest.approx(0.02), "target": 5.0}
