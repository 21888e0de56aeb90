"""IPO: a margin that is regressed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from off_policy import Answer, world
from preferred import paired, require_learning, require_one_stage
from tiny import ALONE, register
from torch import Tensor
from trl_rows import rows

from assay.credit import Constant
from assay.errors import ConfigError
from assay.known import recipe
from assay.methods.losses.ipo.loss import IPO
from assay.objective import Objective
from bench import trl_ours
from bench.trl_ours import Taught
from bench.trl_preferences import Paired


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ipo(seed: int) -> None:
    made, found = paired(seed, 3)

    def formula(answers: Sequence[Answer]) -> Tensor:
        margins = [
            (answers[w].logp - answers[w].ref).mean() - (answers[l].logp - answers[l].ref).mean() for w, l in found
        ]
        return torch.stack([(margin - 1 / (2 * 0.4)) ** 2 for margin in margins]).mean()

    made.require(Objective(whole=IPO(tau=0.4)), formula)


def test_no_marks_no_run() -> None:
    with pytest.raises(ConfigError, match="pairs"):
        world(0).learnt(Objective(whole=IPO()))


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, ALONE)


@pytest.mark.slow
@pytest.mark.learning
def test_ipo_learns_from_what_a_frozen_policy_wrote(letters: None) -> None:
    """Slowly: its target is far, and what it takes from losers goes to other wrong answers as well."""
    require_learning("ipo", learning_rate=0.003, num_prompts=16, least=0.1)


def test_the_reference_of_ipo_is_where_the_run_began() -> None:
    require_one_stage("ipo")


def test_the_loss_that_is_compared_with_trls(monkeypatch: pytest.MonkeyPatch) -> None:
    logp = np.array([-1.0, -2.0, -0.5, -0.5], np.float32)
    monkeypatch.setattr(trl_ours, "fresh", lambda folder: None)
    monkeypatch.setattr(trl_ours, "policy_folder", lambda: "")
    monkeypatch.setattr(trl_ours, "scores_of", lambda engine, batch: logp)
    made = trl_ours.curated(rows([1.0, 0.0]), recipe("dpo").mechanism)
    batch = trl_ours.packed([row.mark(ref=np.zeros(2, np.float32)) for row in made], Constant(1.0))
    assert trl_ours.loss_of(Taught(batch, recipe("ipo").mechanism.objective)) == pytest.approx((-1 - 5) ** 2)
    assert Paired("ipo").options(made) == {"loss_type": ["ipo"], "loss_weights": [1.0], "beta": 0.1}
