"""`bench.update_cost` at toy size: what it counts and writes. Its ratios are nothing that a test could ask for."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny import take_gradient

from assay.curate import Pairs
from assay.curate.pairs import SIDES
from assay.engine.interface import Want
from assay.engine.torch.engine import TorchEngine
from assay.known import RECIPES
from assay.objective import HighEntropy, Objective
from assay.recipe import Mechanism, at_profile, with_mechanisms
from bench import update_cost, update_table
from bench.micro_engine import engine_of
from bench.update_batch import Case, batch_of, cases, rows_of

TOY = update_cost.MODELS["S0"]
CASES = {case.name: case for case in cases()}


@pytest.fixture(autouse=True)
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_every_objective_of_every_recipe_is_a_case() -> None:
    asked = {(name, goal) for name, recipe in RECIPES.items() for goal in _objectives(name)}
    assert {(case.recipe.name, case.objective) for case in CASES.values()} == asked
    assert set(RECIPES) <= set(CASES)


def _objectives(name: str) -> set[Objective]:
    recipe = RECIPES[name]
    return {mechanism.rule(role).objective for mechanism in recipe.mechanisms for role in recipe.roles}


def _ranking(case: Case) -> bool:
    """Whether it trains some answers of each group alone, in pairs of better and worse ones by a reward."""
    return any(SIDES in part.writes and not isinstance(part, Pairs) for part in case.mechanism.curate)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not _ranking(case)])
def test_no_row_is_idle(name: str) -> None:
    """Of the answers, that is: those that stand beside other questions are scored and not trained."""
    engine = engine_of(TOY, "torch", "fp32")
    batch = batch_of(engine, rows_of(engine, TOY, CASES[name]), CASES[name], vocab=TOY.vocab)
    answers = TOY.prompts * TOY.samples
    assert np.count_nonzero(batch.counted_rows) == answers
    assert np.count_nonzero(batch.advantage) == answers * TOY.answer == np.count_nonzero(batch.counted)
    assert batch.mask[: answers * TOY.answer].all()


def _at_forks(mechanism: Mechanism) -> Mechanism:
    """That trains the tokens of the highest entropy of the step alone."""
    objective = dataclasses.replace(mechanism.objective, keep=(HighEntropy(share=0.2, by="step"),))
    return dataclasses.replace(mechanism, objective=objective)


@pytest.mark.slow
def test_passes_are_counted_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update_table, "MAIN", "S0")
    forking = with_mechanisms(RECIPES["dapo"], _at_forks)
    monkeypatch.setitem(RECIPES, "forking", dataclasses.replace(forking, name="forking"))
    names = ["reinforce", "grpo", "ppo", "forking"]
    command = ["--shape", "S0", "--engines", "torch", "--pairs", "2", "--repeats", "1", "--out", str(tmp_path)]
    update_cost.main([*command, "--recipes", *names])
    (path,) = tmp_path.glob("update_cost--*.json")
    run = json.loads(path.read_text())["S0 torch"]
    assert set(run["cases"]) == set(names)

    def passes(name: str) -> tuple[float, float, float]:
        case = run["cases"][name]
        return case["scored"][0], case["trained"][0], run["objectives"][case["objective"]]["surveyed"][0]

    # torch's sampler and learner do not agree bit for bit: where a batch has several updates, old is scored
    several = {name: at_profile(RECIPES[name], "laptop")[0].scale.num_updates > 1 for name in names}
    epochs = at_profile(RECIPES["ppo"], "laptop")[0].scale.num_epochs
    assert passes("reinforce") == (several["reinforce"], 0, 0)
    assert passes("grpo") == (several["grpo"] + 1, 0, 0)  # the reference
    assert passes("ppo") == (several["ppo"] + 1, epochs, 0)  # the critic's values, and what it learns
    assert passes("forking") == (several["forking"], 0, 1)

    table = (tmp_path / "update_cost.md").read_text()
    assert re.search(r"of scope `row` \d of 3 within 1.10.*of scope `step` \d of 1 within 1.10", table)
    (line,) = [line for line in table.splitlines() if line.startswith("| ppo |")]
    assert line.split("|")[2:4] == [" row ", "  "] and line.split("|")[7] == f" {several['ppo'] + 1}f, {epochs}t "
    capsys.readouterr()
    update_cost.main([*command, "--recipes", *names])
    assert capsys.readouterr().out == "", "what was measured is measured again"


def test_the_bare_update_is_the_weighted_likelihood() -> None:
    """Its gradient is that of - mean of A log pi."""
    engine = engine_of(TOY, "torch", "fp64")
    assert isinstance(engine, TorchEngine)
    batch = batch_of(engine, rows_of(engine, TOY, CASES["grpo"]), CASES["grpo"], vocab=TOY.vocab)
    taken: list[torch.Tensor] = []

    def step(**values: object) -> dict[str, float]:
        taken.append(take_gradient(engine))
        return {"grad_norm": 1.0, "skipped": 0.0}

    engine.step = step  # type: ignore[method-assign, assignment]
    update_cost.update(engine, batch, update_cost.BARE, update_cost.scale_of(TOY))
    tokens = torch.from_numpy(batch.advantage).double() / len(batch.ids)
    for chunk in engine.chunks(batch, tokens=10**6):
        outputs = engine.forward(chunk, Want())
        order = np.concatenate([np.arange(int(batch.at[i]), int(batch.at[i + 1])) for i in chunk.rows])
        (-(outputs.logp * tokens[torch.from_numpy(order)])).sum().backward()
        engine.backward(chunk, outputs)
    expected = take_gradient(engine)
    assert (taken[0] - expected).norm() <= 1e-10 * expected.norm()
