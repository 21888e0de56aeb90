"""DPO: pairs against a frozen reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from off_policy import Answer
from preferred import beginner, paired, require_learning, require_one_stage
from tiny import ALONE, recipe_of, register, run
from torch import Tensor
from torch.nn.functional import logsigmoid

from assay.collect import Frozen
from assay.engine.interface import Span
from assay.errors import ConfigError
from assay.objective import Objective
from assay.objective.pairwise import DPO


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("most", [1, 4])
@pytest.mark.parametrize("likelihood", [0.0, 0.6])
def test_dpo(seed: int, most: int, likelihood: float) -> None:
    made, found = paired(seed, most)
    assert len(found) >= (2 if most == 1 else 4)

    def formula(answers: Sequence[Answer]) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for winner, loser in ((answers[w], answers[l]) for w, l in found):
            margin = (winner.logp - winner.ref).sum() - (loser.logp - loser.ref).sum()
            total = total - logsigmoid(0.3 * margin) - likelihood * winner.logp.mean()
        return total / len(found)

    made.require(Objective(whole=DPO(beta=0.3, likelihood=likelihood)), formula)


def test_dpo_by_hand() -> None:
    """At the reference each token of the winner is pushed by beta / 2, of the loser by - beta / 2."""
    made, _ = paired(0, 1, {"g": [("pp", True), ("p", False)]})
    for row, answer in zip(made.rows, made.answers, strict=True):
        row.ref[:] = answer.logp.detach().numpy()  # type: ignore[index]
    winner, loser = made.learnt(Objective(whole=DPO(beta=0.1)))
    np.testing.assert_allclose(winner, [-0.05] * 2, rtol=1e-5)
    np.testing.assert_allclose(loser, [0.05], rtol=1e-5)


@pytest.mark.parametrize("gone", [0, 1])
def test_half_a_pair_is_none(gone: int) -> None:
    """A cut of the batch that goes through a group leaves its pairs out."""
    made, _ = paired(0, 1, {"g": [("p", True), ("p", False)], "h": [("p", True), ("p", False)]})
    del made.rows[gone], made.answers[gone]
    found = made.learnt(Objective(whole=DPO(beta=0.1)))
    assert found[0].tolist() == [0.0] and (np.concatenate(found[1:]) != 0).all()


def test_no_pairs_no_step() -> None:
    made, found = paired(0, 2, {"g": [("p", True), ("p", True)]})
    assert not found and not np.concatenate(made.learnt(Objective(whole=DPO()))).any()


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


def test_a_frozen_set_answers(letters: None) -> None:
    """Whatever the policy learns, all answers are of the weights with which the run began."""
    recipe = recipe_of("dpo", max_new=4, num_prompts=8, group_size=8, num_steps=3, learning_rate=0.05)
    engine = beginner()
    start = engine.copy()
    notes, _ = run(recipe, engine)
    for episodes in notes.episodes:
        for one in episodes:
            (score,) = start.score([Span(one.request.context, one.stream("ids").astype(np.int32))])
            np.testing.assert_allclose(one.stream("old"), score.logp, atol=1e-5)
    assert sum(stats.get("update/steps", 0) for stats in notes.stats) > 0


def test_a_set_that_learns_is_no_frozen_one(letters: None) -> None:
    recipe = recipe_of("dpo", max_new=3, num_prompts=2, group_size=2, num_steps=1)
    mechanism = dataclasses.replace(recipe.mechanism, collect=(Frozen(model="policy"),))
    with pytest.raises(ConfigError, match="trained=False"):
        run(dataclasses.replace(recipe, mechanism=mechanism), beginner())


@pytest.mark.slow
@pytest.mark.learning
def test_dpo_learns_from_what_a_frozen_policy_wrote(letters: None) -> None:
    require_learning("dpo")


def test_the_reference_of_dpo_is_where_the_run_began() -> None:
    require_one_stage("dpo")
