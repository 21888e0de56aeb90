"""Constants that are stated for a number of the scale follow it, whoever set the number: a profile, the task, a person,
the model's context.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_files import jsonl, sums
from of_methods import said
from posing import pool_of
from small_runs import Shell, make_model, sizes
from tiny import episode

from assay.known import RECIPES, SLOTS
from assay.part import parts_of
from assay.recipe import Recipe
from assay.reward import SoftOverlong
from assay.run import session
from assay.run.experiment import Experiment
from assay.run.preflight import Facts, warnings
from assay.source import Pool, Share

POOL = Pool((Share("countdown", (3, 4)),))
OWN = "mechanism.reward.1.buffer"


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def planned(name: str, profile: Any = "laptop", **settings: object) -> tuple[Experiment, list[str]]:
    overrides = {path.replace("__", "."): str(value) for path, value in settings.items()}
    return session.plan(RECIPES[name], model="x/y", pool=pool_of(name, POOL), profile=profile, overrides=overrides)


def scaled(recipe: Recipe) -> dict[str, tuple[str, bool, Any]]:
    """place -> what it is stated for, whether inversely, its value."""
    return dict(_scaled((recipe.mechanism, recipe.stages), ""))


def _scaled(value: Any, place: str) -> Iterator[tuple[str, tuple[str, bool, Any]]]:
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _scaled(item, f"{place}.{number}")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            here, inner = f"{place}.{field.name}", getattr(value, field.name)
            if "scales_with" in field.metadata:
                yield here, (field.metadata["scales_with"], field.metadata["inverse"], inner)
            else:
                yield from _scaled(inner, here)


@pytest.mark.parametrize(("name", "buffer"), [("dapo", 5), *said("BUFFERS").items()])
def test_short_answers_that_a_person_asks_for_are_not_all_punished(name: str, buffer: int) -> None:
    """4096 of 20480 are a fifth, 4.8 of 24."""
    made, rules = planned(name, scale__max_new=24)
    parts = [part for part in made.recipe.mechanism.reward if isinstance(part, SoftOverlong)]
    assert [part.buffer for part in parts] == [buffer]
    assert any(rule.startswith("SoftOverlong.buffer: ") and f"-> {buffer} " in rule for rule in rules), rules


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if scaled(recipe)])
def test_constants_follow_the_numbers_that_a_person_sets(name: str) -> None:
    """In proportion to the paper's own number, without a profile's between them to round twice."""
    paper, wished = RECIPES[name], {"num_prompts": 3, "group_size": 4, "max_new": 500}
    made, _ = planned(name, **{f"scale__{field}": value for field, value in wished.items()})
    found = scaled(made.recipe)
    for place, (measure, inverse, value) in scaled(paper).items():
        ratio = wished[measure] / getattr(paper.scale, measure)
        expected = value / ratio if inverse else value * ratio
        if isinstance(value, int):
            assert found[place][2] == max(1, round(expected)), place
        else:
            assert found[place][2] == pytest.approx(expected, rel=1e-3), place


def test_what_a_person_sets_is_followed_by_nothing() -> None:
    made, _ = planned("dapo", **{"scale__max_new": 24, OWN: 20})
    assert made.recipe.mechanism.reward[1] == SoftOverlong(buffer=20, factor=1.0)


def test_a_part_that_a_person_names_comes_at_the_scale_of_the_run() -> None:
    """Its default is a fifth of DAPO's limit; what a person says of it stays."""
    made, rules = planned("grpo", scale__max_new=24, mechanism__reward="outcome,soft-overlong")
    assert made.recipe.mechanism.reward[1] == SoftOverlong(buffer=5)
    assert "SoftOverlong.buffer: 4096 -> 5 (in proportion to max_new)" in rules
    own, _ = planned("grpo", mechanism__reward="soft-overlong", **{"mechanism.reward.0.buffer": 7})
    assert own.recipe.mechanism.reward == (SoftOverlong(buffer=7),)


STATED = [
    (record, field)
    for registry in SLOTS.values()
    for record in registry.values()
    for field in dataclasses.fields(record)
    if field.metadata.get("at")
]


@pytest.mark.parametrize(("record", "field"), STATED, ids=lambda one: getattr(one, "__name__", None) or one.name)
def test_a_default_is_stated_for_the_scale_of_a_paper_that_has_it(record: type, field: Any) -> None:
    parts = [
        (recipe, part)
        for recipe in RECIPES.values()
        for part in parts_of((*recipe.mechanisms, *(stage.when for stage in recipe.stages)))
        if type(part) is record
    ]
    measures = {
        getattr(recipe.scale, field.metadata["scales_with"])
        for recipe, part in parts
        if getattr(part, field.name) == field.default
    }
    assert field.metadata["at"] in measures


def test_a_warm_up_lasts_as_many_rollouts_where_a_person_sets_the_updates() -> None:
    """DAPO warms up for 160 of 16 updates, 10 rollouts; a laptop for 5 of 2."""
    assert planned("dapo", "paper", scale__num_minibatches=8)[0].recipe.scale.warmup_steps == 80
    made, rules = planned("dapo", scale__num_minibatches=4)
    assert made.recipe.scale.warmup_steps == 10
    assert "warmup_steps: 5 -> 10 (over as many rollouts)" in rules
    assert planned("dapo", scale__num_minibatches=4, scale__warmup_steps=7)[0].recipe.scale.warmup_steps == 7


# The model's context


@pytest.mark.slow
def test_dapo_fits_itself_to_a_short_context_and_says_so(tmp_path: Path, shell: Shell) -> None:
    """A model of 64 positions, and prompts of a token a character between two marks. A paper's limit is no wish of the
    person who has short rows and a small model.
    """
    model, data = make_model(tmp_path / "model"), jsonl(tmp_path / "rows.jsonl", sums(40))
    left = 64 - 2 - max(len(row["question"]) for row in sums(40))
    for recipe in ("grpo", "dapo"):
        line = ["train", recipe, "--model", model, "--data", data, "--steps", 1, "--run", tmp_path / recipe]
        wishes = [word for word in sizes() if word not in ("--scale.max-new", "6")]
        reply = shell(*line, *wishes, "--mechanism.expand", "none")
        assert reply.code == 0, reply.err
        limit = RECIPES[recipe].scale.max_new
        assert f"max_new: {limit} -> {left} (the context of 64" in reply.err
    assert f"SoftOverlong.buffer: 4096 -> {round(4096 * left / 20480)} (in proportion to max_new)" in reply.err


@pytest.mark.slow
def test_a_part_that_punishes_every_answer_of_the_first_step_is_said_aloud(tmp_path: Path, shell: Shell) -> None:
    """Answers of at most 6 tokens, each within 4096 of the limit."""
    model = make_model(tmp_path / "model")
    line = ["train", "dapo", "--model", model, "--task", "countdown:3", "--steps", 1, *sizes()]
    reply = shell(*line, "--run", tmp_path / "loud", f"--{OWN}", 4096)
    assert reply.code == 0, reply.err
    said = "warning: soft-overlong (buffer 4096, factor 1) lowers the reward of 4 of 4 probe answers, by 1 on average"
    assert said in reply.err


@pytest.mark.parametrize(
    ("lengths", "told"), [([22] * 10, True), ([22] * 9 + [12], True), ([22] * 8 + [12] * 2, False)]
)
def test_answers_far_from_the_limit_are_no_reason_for_a_word(lengths: list[int], told: bool) -> None:
    """A buffer of 5 in 24 tokens begins behind 19."""
    made, _ = planned("dapo", scale__max_new=24)
    episodes = [episode([1] * length, sample=i, reward=float(i % 2)) for i, length in enumerate(lengths)]
    facts = Facts(3_000_000, context=512, longest=40, ends={"tokenizer": frozenset({2})}, episodes=episodes)
    found = "\n".join(warnings(made, facts))
    assert ("soft-overlong (buffer 5, factor 1) lowers the reward of" in found) == told, found


# Adapters


@pytest.mark.parametrize(("profile", "rate"), [("paper", 1e-5), ("one-gpu", 1e-5), ("laptop", 2e-3)])
def test_adapters_take_the_rate_of_adapters(profile: Any, rate: float) -> None:
    """Ten times that of all weights: 1e-6 of the paper, 2e-4 of a laptop."""
    made, rules = planned("grpo", profile, lora__rank=16)
    assert made.recipe.scale.learning_rate == pytest.approx(rate)
    (told,) = [rule for rule in rules if rule.startswith("learning_rate: 1e-06 -> ")]
    assert "LoRA Without Regret" in told and "the rate of all weights" in told
    assert planned("grpo", profile)[0].recipe.scale.learning_rate == pytest.approx(rate / 10)
    own, _ = planned("grpo", profile, lora__rank=16, scale__learning_rate=3e-5)
    assert own.recipe.scale.learning_rate == 3e-5


NUMBERS = {"num_prompts": 8, "num_steps": 2, "learning_rate": 3e-4, "max_new": 9}


@pytest.mark.parametrize("profile", ["laptop", "processor", "one-gpu"])
def test_nothing_is_said_of_a_profile_where_a_person_said_another_number(profile: str) -> None:
    def about(rules: list[str]) -> list[str]:
        return [line for line in rules if any(name in line.partition("(")[0] for name in NUMBERS)]

    given = {f"scale.{name}": value for name, value in NUMBERS.items()}
    experiment, rules = planned("grpo", profile, **given)
    assert experiment.recipe.scale.learning_rate == 3e-4 and about(rules) == []
    assert about(planned("grpo", profile)[1]) != []
