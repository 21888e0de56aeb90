"""Configuration as data: there and back, typed overrides, and a text of every resolved recipe.

`ASSAY_WRITE_GOLDEN=1` writes the recorded texts again; read the difference before you commit it.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import os
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from golden_text import defaults, golden
from hypothesis import given, settings
from hypothesis import strategies as st
from posing import POSING
from small_runs import ROOT
from sweeps import over

from assay.errors import AssayError, ConfigError, UnknownName
from assay.known import METHOD_OF, RECIPES, SLOTS
from assay.objective import Objective
from assay.part import KINDS, Term, parts_of
from assay.recipe import PROFILES, Mechanism, Stage, at_profile
from assay.run.configure import from_data, override, to_data
from assay.run.experiment import Evaluation, Experiment, Machine, Saving, check
from assay.run.session import plan
from assay.scale import Scale
from assay.source import Pool, Share

GOLDEN = ROOT / "tests" / "golden"
METHODS = ROOT / "tests" / "methods"
POOL = Pool((Share("countdown", (3,)), Share("lis", (8,), 2.0)), wording="natural")
OWN = dict.fromkeys(POSING, Share("dsl-deduction", (2, 3)))  # tasks of recipes that are not for every task
OWN |= {
    name: Share.parse(recipe.usual_task)
    for name, recipe in RECIPES.items()
    if name not in OWN and any(part.unfit(POOL) for part in parts_of(recipe.mechanisms))
}


def experiment(name: str = "dapo", profile: Any = "laptop") -> Experiment:
    pool = dataclasses.replace(POOL, shares=(OWN[name],)) if name in OWN else POOL
    return plan(RECIPES[name], model="m", pool=pool, profile=profile)[0]


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(to_data(value), allow_nan=False))


# --- there and back -----------------------------------------------------------------------------------------


@pytest.mark.slow
@over(RECIPES, PROFILES)
def test_every_recipe_at_every_profile_goes_through_json_and_back(name: str, profile: Any) -> None:
    before = experiment(name, profile)
    assert from_data(Experiment, through_json(before)) == before


@over((slot, name) for slot, registry in SLOTS.items() for name in registry)
def test_every_part_carries_its_name_and_its_values(place: tuple[str, str]) -> None:
    slot, name = place
    record = SLOTS[slot][name]
    data = to_data(record())
    assert data["part"] == name
    assert {field.name for field in dataclasses.fields(record)} == set(data) - {"part"}


def test_every_slot_is_a_field_that_takes_its_kind() -> None:
    records = (Mechanism, Objective, Stage, Term)
    fields = {name: hint for record in records for name, hint in get_type_hints(record).items()}
    for kind in KINDS:
        for slot in kind.slots:
            hint = fields[slot]
            assert kind in (hint, *get_args(hint)), slot


numbers = st.floats(allow_nan=False, allow_infinity=False)
scales = st.builds(
    Scale,
    **{
        name: {int: st.integers(-(10**12), 10**12), float: numbers}.get(kind, st.sampled_from([None, 0.5, 2.0]))
        for name, kind in get_type_hints(Scale).items()
        if name != "schedule"
    },
    schedule=st.sampled_from(["constant", "linear", "cosine"]),
)
pools = st.builds(
    Pool,
    st.lists(st.builds(Share, st.text(), st.lists(st.integers()).map(tuple), numbers), max_size=3).map(tuple),
    st.sampled_from(["compact", "natural"]),
)


@given(scale=scales, pool=pools, seed=st.integers(), keep=st.integers())
@settings(max_examples=25, deadline=None)
@pytest.mark.slow
def test_any_values_go_through_json_and_back(scale: Scale, pool: Pool, seed: int, keep: int) -> None:
    recipe = dataclasses.replace(RECIPES["grpo"], scale=scale)
    before = Experiment(recipe, "a model", pool, seed=seed, saving=Saving(keep=keep))
    assert from_data(Experiment, through_json(before)) == before


@given(
    value=st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from(["7", "-7", " 7", "seven", "", "0x7"]),
        st.lists(st.integers()),
        numbers,
    )
)
@settings(max_examples=60, deadline=None)
def test_data_of_a_wrong_type_is_an_error_of_ours_that_names_the_place(value: Any) -> None:
    data = to_data(Machine()) | {"threads": value}
    try:
        whole = int(value) if isinstance(value, str) or value == int(value) else None
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or isinstance(value, bool):
        with pytest.raises(ConfigError) as caught:
            from_data(Machine, data)
        assert "threads" in str(caught.value) and repr(value) in str(caught.value)
    else:
        found = from_data(Machine, data).threads
        assert type(found) is int and found == whole


# --- overrides ----------------------------------------------------------------------------------------------

GOOD: list[tuple[str, Any, Any]] = [  # path, text or data, the data that stand there afterwards
    ("recipe.scale.num-steps", "7", 7),
    ("recipe.scale.num_steps", "1e3", 1000),
    ("recipe.scale.learning_rate", "1e-4", 1e-4),
    ("recipe.scale.learning-rate", 2, 2.0),
    ("recipe.scale.clip_norm", "none", None),
    ("recipe.scale.clip_norm", None, None),
    ("recipe.scale.clip_norm", "0.5", 0.5),
    ("recipe.scale.schedule", "cosine", "cosine"),
    ("recipe.models.policy.trained", "no", False),
    ("recipe.models.policy.trained", "TRUE", True),
    ("recipe.roles.policy", "other", "other"),
    ("recipe.mechanism.objective.gate.high", "0.3", 0.3),
    ("recipe.mechanism.objective.gate.dual", "none", None),
    ("recipe.mechanism.expand.0.max_rounds", "3", 3),
    ("recipe.mechanism.curate", "", []),
    ("recipe.mechanism.curate", (), []),
    ("recipe.mechanism.curate", "first-groups", [{"part": "first-groups"}]),
    ("pool.shares.1.weight", "0.5", 0.5),
    ("pool.shares.0.levels", "4,5", [4, 5]),
    ("pool.shares.0.levels", (4, 5), [4, 5]),
    ("pool.shares.0.levels.0", "4", 4),
    ("machine.device", "cpu", "cpu"),
    ("seed", "-3", -3),
]


def at(data: Any, path: str) -> Any:
    for name in path.replace("-", "_").split("."):
        data = data[int(name)] if isinstance(data, list) else data[name]
    return data


@pytest.mark.parametrize(("path", "value", "expected"), GOOD)
def test_an_override_changes_one_place_and_nothing_else(path: str, value: Any, expected: Any) -> None:
    before = experiment()
    after = override(before, path, value)
    found = to_data(after)
    there = at(found, path)
    assert there == expected and type(there) is type(expected)
    *above, last = path.replace("-", "_").split(".")
    rest, same = found, to_data(before)
    for name in above:
        place: Any = int(name) if isinstance(rest, list) else name
        rest, same = rest[place], same[place]
    place = int(last) if isinstance(rest, list) else last
    rest[place] = same[place] = "the one place"
    assert found == to_data(before) or at(found, path) == "the one place"
    top = path.split(".")[0]
    assert {k: v for k, v in to_data(after).items() if k != top} == {
        k: v for k, v in to_data(before).items() if k != top
    }


def test_a_part_is_replaced_by_its_name_with_its_own_defaults() -> None:
    found = override(experiment("grpo"), "recipe.mechanism.credit", "leave-one-out")
    assert to_data(found)["recipe"]["mechanism"]["credit"]["part"] == "leave-one-out"
    two = override(experiment("dapo"), "recipe.mechanism.curate", "mixed-groups,first-groups")
    assert [part["part"] for part in to_data(two)["recipe"]["mechanism"]["curate"]] == ["mixed-groups", "first-groups"]


BAD: list[tuple[str, Any, type[AssayError], str]] = [
    ("recipe.scale.num_steps", "many", ConfigError, "recipe.scale.num_steps: expected int, came 'many'"),
    ("recipe.scale.num_steps", "1.5", ConfigError, "expected int, came '1.5'"),
    ("recipe.scale.num_steps", "inf", ConfigError, "expected int, came 'inf'"),
    ("recipe.scale.num_steps", "none", ConfigError, "expected int, came 'none'"),
    ("recipe.scale.num_steps", "", ConfigError, "expected int, came ''"),
    ("recipe.scale.num_steps", True, ConfigError, "expected int, came True"),
    ("recipe.scale.learning_rate", "fast", ConfigError, "expected float, came 'fast'"),
    ("recipe.scale.schedule", "step", ConfigError, "one of constant, linear, cosine, not 'step'"),
    ("recipe.models.policy.trained", "maybe", ConfigError, "expected bool, came 'maybe'"),
    ("recipe.mechanism.credit", "group_relativ", UnknownName, "Did you mean 'group-relative'"),
    ("recipe.mechanism.curate", "first-groups,mixed", UnknownName, "Did you mean 'mixed-groups'"),
    ("recipe.mechanism.objective", "fine", ConfigError, "expected the fields of Objective, came 'fine'"),
    ("recipe.mechanism.expand.1", "refill", ConfigError, "no item '1'; there are 1"),
    ("recipe.mechanism.expand.first", "refill", ConfigError, "no item 'first'"),
    ("recipe.scale.num_steps.x", "1", ConfigError, "'x' does not exist"),
    ("recipe.scale.num_step", "1", UnknownName, "Did you mean 'num_steps'"),
    ("recipe.models.police.trained", "no", UnknownName, "Did you mean 'policy'"),
    ("pool.shares.0.levels", "3,x", ConfigError, "expected int, came 'x'"),
]


@pytest.mark.parametrize(("path", "value", "kind", "says"), BAD)
def test_a_wrong_override_says_where_and_what(path: str, value: Any, kind: type[AssayError], says: str) -> None:
    with pytest.raises(kind) as caught:
        override(experiment(), path, value)
    assert says in str(caught.value)


def test_a_missing_or_unknown_field_in_a_file_is_an_error_of_ours() -> None:
    data = to_data(experiment())
    with pytest.raises(UnknownName, match=r"no setting in Experiment named 'modl'.*'model'"):
        from_data(Experiment, {**data, "modl": "x"})
    with pytest.raises(ConfigError, match=r"recipe\.scale.*num_prompts"):
        del data["recipe"]["scale"]["num_prompts"]
        from_data(Experiment, data)


# --- profiles -----------------------------------------------------------------------------------------------


@over(RECIPES, PROFILES)
def test_every_number_that_a_profile_moves_is_printed(name: str, profile: Any) -> None:
    paper = RECIPES[name].scale
    found, rules = at_profile(RECIPES[name], profile, max_new=100)
    for field in dataclasses.fields(Scale):
        before, after = getattr(paper, field.name), getattr(found.scale, field.name)
        lines = [rule for rule in rules if rule.startswith(f"{field.name}: ")]
        if before != after:
            assert len(lines) == 1 and lines[0].startswith(f"{field.name}: {before} -> {after} ("), lines
        else:
            assert not lines
    if profile == "paper":
        assert dataclasses.replace(found.scale, max_new=paper.max_new) == paper


def test_constants_in_tokens_follow_the_answer_length() -> None:
    """DAPO's buffer of 4096 in answers of 20480 tokens is a fifth of any other length: 20 of 100."""
    paper, _ = at_profile(RECIPES["dapo"], "paper")
    found, rules = at_profile(RECIPES["dapo"], "laptop", max_new=100)
    buffers = [
        part["buffer"] for recipe in (paper, found) for part in to_data(recipe.mechanism)["reward"] if "buffer" in part
    ]
    assert buffers == [4096, 20]
    assert any("buffer" in rule and "4096 -> 20" in rule for rule in rules), rules


def recorded(path: Path, text: str) -> None:
    if os.environ.get("ASSAY_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    known = path.read_text() if path.exists() else ""
    moved = "\n".join(difflib.unified_diff(known.splitlines(), text.splitlines(), "recorded", "now", lineterm=""))
    assert not moved, f"{moved}\nIf this is meant: ASSAY_WRITE_GOLDEN=1 python -m pytest {__file__}"


def golden_of(name: str) -> Path:
    return METHODS / METHOD_OF[name].removeprefix("assay.methods.").replace(".", "/") / f"{name}.txt"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_at_every_profile_is_the_recorded_one(name: str) -> None:
    recorded(golden_of(name), golden(RECIPES[name]))


def test_the_defaults_of_a_run_are_the_recorded_ones() -> None:
    recorded(GOLDEN / "defaults.txt", defaults())


def test_every_recorded_recipe_is_one() -> None:
    """The golden text of a recipe that went goes with it."""
    assert set(METHODS.glob("*/*/*.txt")) == {golden_of(name) for name in RECIPES}


# --- ranges -------------------------------------------------------------------------------------------------


def test_a_variance_without_degrees_of_freedom_is_refused() -> None:
    """With 2 a pair would be divided by infinity: advantages of 0, and nothing would be learnt."""
    with pytest.raises(ConfigError, match="ddof is one of 0, 1, not '2'"):
        override(RECIPES["grpo"], "mechanism.credit.ddof", "2")


@pytest.mark.parametrize(
    ("group", "name", "least"),
    [
        *((Evaluation, name, 1) for name in ("num_problems", "num_samples", "final_problems", "final_samples")),
        (Evaluation, "every", 0),
        (Machine, "threads", 0),
        (Machine, "micro_tokens", 1),
        (Machine, "cache_mb", 1),
        (Machine, "probe", 0),
        (Saving, "every", 1),
        (Saving, "keep", 2),
        (Saving, "rollouts_every", 0),
        (Saving, "rollouts_max", 0),
    ],
)
def test_the_least_value_is_taken_and_one_less_is_refused(group: type, name: str, least: int) -> None:
    place = f"{group.__name__.lower()}.{name}"
    check(override(experiment(), place, least))
    with pytest.raises(ConfigError, match=rf"{place} must be at least {least}, not {least - 1}\."):
        check(override(experiment(), place, least - 1))


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if recipe.scale.num_minibatches > 2])
def test_a_warm_up_lasts_as_many_rollouts_with_fewer_updates(name: str) -> None:
    paper, moved = RECIPES[name].scale, at_profile(RECIPES[name], "one-gpu")[0].scale
    assert moved.warmup_steps / moved.num_updates == pytest.approx(paper.warmup_steps / paper.num_updates, abs=0.5)
    assert moved.num_minibatches == 2 and bool(moved.warmup_steps) == bool(paper.warmup_steps)
