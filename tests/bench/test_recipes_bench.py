"""The bench of every recipe, as far as it can be judged without training: its processes, keys and table."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.known import RECIPES
from bench import recipes
from bench.notes_of_recipes import NOTES


def refuse() -> None:
    raise ConfigError("groups of one have no mean")


def leave() -> None:
    os._exit(3)


@pytest.mark.slow
def test_a_run_has_a_process_of_its_own() -> None:
    assert recipes.alone(os.getpid) != os.getpid()
    assert recipes.alone(divmod, 7, 2) == (3, 1)
    with pytest.raises(RuntimeError, match="groups of one have no mean"):
        recipes.alone(refuse)
    with pytest.raises(RuntimeError, match="ended with 3 and said nothing"):
        recipes.alone(leave)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        recipes.alone(divmod, 1, 0)


def test_a_key_is_of_the_recipe_the_seed_and_the_settings_and_not_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {recipes.key_of(name, seed) for name in ("grpo", "dr-grpo") for seed in (0, 1)}
    assert len(keys) == 4
    recipes.key_of.cache_clear()
    reworded = dataclasses.replace(RECIPES["grpo"], notes=("said in other words",), claim="more")
    monkeypatch.setitem(RECIPES, "grpo", reworded)
    assert recipes.key_of("grpo", 0) in keys
    recipes.key_of.cache_clear()
    monkeypatch.setattr(recipes, "TOKENS", recipes.TOKENS + 1)
    assert recipes.key_of("grpo", 0) not in keys
    recipes.key_of.cache_clear()


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(recipes, "RESULTS", tmp_path)
    monkeypatch.setattr(recipes, "PROBLEMS", 8)
    recipes.key_of.cache_clear()
    yield tmp_path
    recipes.key_of.cache_clear()


def record(name: str, seed: int, right: list[int], **changes: Any) -> dict[str, Any]:
    made = {"key": recipes.key_of(name, seed), "seed": seed, "right": right, "length": 9.0, "steps": 25, "updates": 25}
    made |= {"tokens": 230_000.0, "trained": 230_000.0, "busy": 20.0, "memory_mib": 600, "skipped": 0, "entropy": 0.4}
    return made | changes


@pytest.mark.slow
def test_the_table_is_of_what_is_there_and_says_what_ended_below(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = [0, 8, 16, 4, 0, 32, 64, 2]
    monkeypatch.setattr(recipes, "base_record", lambda: {"right": start, "length": 9.0})
    monkeypatch.setattr(recipes, "NOTES", {"psr": "its rate is far too high for it."})
    for seed in (0, 1):
        recipes.write("grpo", record("grpo", seed, [min(64, r + 2 + seed) for r in start]))
    recipes.write("psr", record("psr", 0, [max(0, r - 1) for r in start], entropy=None))
    recipes.write("nsr", record("nsr", 0, [max(0, r - 2) for r in start]))
    recipes.write("ppo", record("ppo", 0, start, key="of other settings"))
    lines = recipes.render().splitlines()
    rows = [line for line in lines if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == ["grpo", "psr", "nsr"]
    cells = [cell.strip() for cell in rows[0].split("|")]
    gain = np.mean([[min(64, r + 2 + seed) - r for r in start] for seed in (0, 1)]) / 64
    assert cells[2] == "2" and cells[5].startswith(f"{gain:+.3f} [")
    means = [np.mean([min(64, r + 2 + seed) for r in start]) / 64 for seed in (0, 1)]
    assert cells[4] == f"{abs(means[0] - means[1]) / 2**0.5:.3f}"
    assert cells[6].startswith("1.000 [")  # of 64 samples each has one right at least
    assert [cell.strip() for cell in rows[1].split("|")][7] == "-"
    text = "\n".join(lines)
    assert "- `psr` (-0.012): its rate is far too high for it." in text
    assert "- `nsr` (-0.023): not yet looked into." in text
    assert "ppo" in lines[-1] and "grpo" in lines[-1]  # two seeds are not three
    refused = next(line for line in lines if line.startswith("- `azr`: "))
    assert "the task 'countdown' cannot be posed" in refused and "azr" not in lines[-1]


def test_a_line_takes_the_place_of_an_older_run_of_its_seed(results: Path) -> None:
    recipes.write("grpo", record("grpo", 1, [1] * 8))
    recipes.write("grpo", record("grpo", 0, [2] * 8))
    recipes.write("grpo", record("grpo", 1, [3] * 8))
    lines = [json.loads(line) for line in (results / "grpo.jsonl").read_text().splitlines()]
    assert [(line["seed"], line["right"][0]) for line in lines] == [(0, 2), (1, 3)]
    assert sorted(recipes.of("grpo")) == [0, 1]


def test_nobody_ends_below_the_base_unexplained() -> None:
    """Of the runs that are kept, whatever their recipe is today."""
    (base,) = recipes.done("-base")
    start = np.mean(base["right"])
    means = {name: np.mean([run["right"] for run in runs]) for name in RECIPES if (runs := recipes.done(name))}
    assert len(means) > 100
    assert {name for name, mean in means.items() if mean < start} <= set(NOTES)
