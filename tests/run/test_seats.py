"""Seats that nobody trains: a frozen model speaks for them, whatever the recipe, in training and in exams."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from tiny import policy

from assay.known import RECIPES
from assay.lab.trial import small_run
from assay.models import Models
from assay.record.folder import RunFolder
from assay.run.seats import frozen_players, seated
from assay.scale import Model
from assay.source import Pool, Share

ASKED = Pool((Share("wish-model", (2,)),))


def test_a_recipe_gets_a_frozen_model_for_the_user() -> None:
    plain = RECIPES["grpo"]
    without = dataclasses.replace(plain, models={"policy": Model()})
    made = seated(without, ASKED)
    assert made.models == {"policy": Model(), "user": Model(trained=False)}
    assert made.roles == {"policy": "policy", "user": "user"}
    assert seated(made, ASKED) is made, "nobody is seated twice"
    for task in ("wish", "countdown"):
        assert seated(without, Pool((Share(task, (2,)),))) is without


def test_the_frozen_base_of_a_recipe_is_not_loaded_twice() -> None:
    made = seated(RECIPES["dpo"], ASKED)
    assert made.models == RECIPES["dpo"].models and made.roles["user"] == "reference"
    follows = Model(trained=False, follows="policy")
    copied = seated(dataclasses.replace(RECIPES["dpo"], models={"policy": Model(), "reference": follows}), ASKED)
    assert copied.roles["user"] == "user", "a reference that follows the policy is no user who stays as he is"


def test_in_exams_the_frozen_model_plays_too() -> None:
    still, moving = policy(), policy(seed=1)
    specs = {"policy": Model(), "user": Model(trained=False), "slow": Model(trained=False, follows="policy")}
    models = Models(
        {"policy": moving, "user": still, "slow": moving}, {"policy": "policy", "user": "user", "other": "slow"}, specs
    )
    assert frozen_players(models) == {"user": still}


@pytest.mark.slow
def test_a_run_whose_user_is_a_model(tmp_path: Path) -> None:
    """The user's words stand as replies in the answers of the policy, and no row is the user's."""
    run = small_run("grpo", tmp_path, task="wish-model", levels=[1], settings={"scale.max_new": 24})
    assert [record["step"] for record in run.metrics()] == [1, 2, 3]
    exams = RunFolder.read_only(run.path).read("evals")
    assert {entry["set"] for entry in exams} == {"test"} and all("plays" in entry for entry in exams)
