"""IPO: a margin that is regressed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from off_policy import Answer, world
from preferred import paired, require_learning, require_one_stage
from tiny import ALONE, register
from torch import Tensor

from assay.errors import ConfigError
from assay.methods.losses.ipo.loss import IPO
from assay.objective import Objective


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
