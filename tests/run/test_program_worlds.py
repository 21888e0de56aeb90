"""Runs in the worlds with Python and with a database, and what they need of the machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from in_turns import small_model

import assay
from assay.policy import character_tokenizer
from assay.rng import Key
from assay.run import external_needs
from assay.source import Pool, Share
from assay.tasks import ALPHABET

SMALL: dict[str, Any] = {
    "scale": {"group_size": 2, "num_prompts": 4, "max_new": 24},
    "machine": {"hosts": 1},
    "quiet": True,
}
SMALL["evaluation"] = {"num_problems": 2, "num_samples": 2}
CODEC = character_tokenizer(ALPHABET)


def trained(folder: Path, task: str, recipe: str) -> assay.Run:
    model = small_model(folder, Key("small"))
    return assay.train(recipe, task=task, levels=[1], model=model, steps=2, run=folder / "run", **SMALL)


@pytest.mark.deep
def test_a_run_asks_a_database(tmp_path: Path) -> None:
    run = trained(tmp_path, "sql-tool", "grpo")
    assert run.steps == 2
    assert all(row.get("world/faults", 0) == 0 for row in run.metrics())


@pytest.mark.deep
@pytest.mark.external("sandbox")
@pytest.mark.parametrize("recipe", ["sft", "grpo"])
def test_a_run_computes_with_python(tmp_path: Path, recipe: str) -> None:
    run = trained(tmp_path, "interpreter", recipe)
    assert run.steps == 2
    assert all(row.get("world/faults", 0) == 0 for row in run.metrics())


def test_a_run_needs_the_sandbox_of_its_world_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    needed: dict[str, Any] = {}

    def require(needs: Mapping[str, Sequence[str]], what: str) -> dict[str, str]:
        needed.update(needs)
        return {}

    monkeypatch.setattr(external_needs, "require", require)
    external_needs.require_externals(Pool((Share("interpreter", (1,)), Share("sql-tool", (1,)))))
    assert needed == {"sandbox": ["interpreter"]}
