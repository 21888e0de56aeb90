"""Every key that other trainers published is answered, by a setting that exists or by a reason."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from foreign_keys import BASES, LISTS, VALUES, beside, published, written
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import AssayError, UsageError
from assay.known import RECIPES
from assay.run import session
from assay.run.configure import override, to_data
from assay.run.experiment import Experiment
from assay.run.foreign import translation
from assay.run.foreign.keys import SYSTEMS, ForeignKey, ForeignKeys, keys_of
from assay.run.setup import FIELDS, Setup, composed
from assay.source import Pool, Share

ROWS = [(system, key) for system in SYSTEMS for key, row in keys_of(system).rows.items() if row.ours]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    items = itertools.product(range(40), range(25))
    path.write_text("".join(json.dumps({"prompt": f"{a}+{b}", "answer": str(a + b)}) + "\n" for a, b in items))
    return path


# The tables


@pytest.mark.parametrize("name", LISTS)
def test_every_published_key_is_answered_by_a_setting_or_a_reason(name: str) -> None:
    of = keys_of(LISTS[name])
    answers = {key: of.row(key) for key in published(name)}
    assert len(answers) > 70
    assert [key for key, row in answers.items() if row is None] == []
    assert [key for key, row in answers.items() if row and not row.ours and len(row.because.split()) < 4] == []


def test_two_thirds_of_what_changes_a_result_in_grpoconfig_have_a_counterpart() -> None:
    """Of the fields that GRPOConfig declares, and of all that it has."""
    own, inherited = published("trl_own"), published("trl_inherited")
    assert len(own) == 79 and len(inherited) == 112
    for fields in (own, [*own, *inherited]):
        computing = [row for name in fields if (row := keys_of("trl").row(name)) and row.computes]
        assert len(computing) > 50
        assert 3 * sum(bool(row.ours) for row in computing) >= 2 * len(computing)


NO_RESULT = ("tracking.", "track", "saving.", "evaluation.", "run", "machine.")  # settings that change no training


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_key_changes_the_result_if_one_of_its_settings_does(system: str) -> None:
    wrong = []
    for key, row in keys_of(system).rows.items():
        of_training = any(not name.startswith(NO_RESULT) for name in row.settings)
        if row.ours and row.computes != of_training and not row.ours.startswith("machine.optimiser"):
            wrong.append(key)
    assert wrong == []


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_setting_of_a_table_exists(system: str) -> None:
    """A field of a setup, a setting of an experiment, or a field of a part of some recipe."""
    names = {name for row in keys_of(system).rows.values() for name in row.settings}
    known = {field.replace("_", "-") for field in FIELDS} | {field.name for field in dataclasses.fields(Experiment)}
    assert [name for name in names if name not in known and not _exists(name)] == []


def _exists(setting: str) -> bool:
    path = setting.replace("-", "_")
    values: dict[str, Any] = {"low": 0.1, "high": 0.1, "dual": 3.0, "up": 1.0, "down": 1.0}
    gate = "soft" if path.endswith((".up", ".down")) else "clip"
    experiment = Experiment(RECIPES["grpo"], "some", Pool((Share("countdown"),)))
    whole = (
        path
        if path.split(".")[0] in ("machine", "saving", "evaluation", "tracking", "lora", "chat")
        else f"recipe.{path}"
    )
    try:
        if ".gate." in path:
            experiment = override(experiment, "recipe.mechanism.objective.gate", gate)
            return override(experiment, whole, values[path.rpartition(".")[2]]) is not None
        held: Any = experiment
        for name in whole.split("."):
            held = getattr(held, name)
        return True
    except AttributeError:
        return False


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_rule_has_rows_and_every_row_its_rule(system: str) -> None:
    assert set(keys_of(system).by()) == set(translation.RULES[system])


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_key_without_counterpart_that_changes_a_result_is_never_passed_over(system: str) -> None:
    """It is refused or told, unless only a loss reads it that is refused itself."""
    rows = keys_of(system).rows.values()
    unread = [row.key for row in rows if not row.ours and row.computes and row.outcome == "idle"]
    assert all(key.startswith(("vespo_", "actor_rollout_ref.actor.policy_loss.")) for key in unread)


# What a key does


def translate(of: ForeignKeys, values: dict[str, Any], rows: Path) -> translation.Translation:
    """The translation of a file with these values."""
    named = {key: str(rows) if value == "ROWS" else value for key, value in values.items()}
    return translation.of_values(of, Path("file"), named)


def effective(given: Mapping[str, Any]) -> dict[str, Any]:
    """What the source of a setup comes to: its fields, its settings, and the mechanism of its recipe with them."""
    recipe = RECIPES[given.get("recipe", "grpo")]
    for path, value in given["settings"].items():
        recipe = override(recipe, path, value) if path.startswith("mechanism.") else recipe
    of_recipe = dict(leaves(to_data(recipe.mechanism), "mechanism"))
    settings = {path: value for path, value in given["settings"].items() if not path.startswith("mechanism.")}
    return {name: value for name, value in given.items() if name != "settings"} | settings | of_recipe


def leaves(data: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """(path, value) of each field of a part."""
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}.{name}")
        else:
            yield f"{path}.{name}", value


@pytest.mark.parametrize(("system", "key"), ROWS)
def test_a_key_with_a_counterpart_changes_just_that_or_is_refused_or_told(system: str, key: str, rows: Path) -> None:
    of = keys_of(system)
    row = of.row(key)
    assert row is not None
    name, value = written(key), VALUES[key] if key in VALUES else another(row)
    common = {**BASES[system], **beside(key)}
    before = translate(of, {at: one for at, one in common.items() if at != name}, rows)
    after = translate(of, {**common, name: value}, rows)
    one, other = effective(before.given), effective(after.given)
    changed = {path for path in {*one, *other} if one.get(path) != other.get(path)}
    said = next(answer for answer in after.answers if answer.key == name)
    if not changed:
        assert said.outcome in ("told", "refused"), f"{name} = {value!r} changes nothing, and nobody is told"
    asked = [setting.replace("-", "_") for setting in row.settings]
    related = [
        path for path in changed if any(f"{path}.".startswith(f"{a}.") or f"{a}.".startswith(f"{path}.") for a in asked)
    ]
    assert related or not changed, f"{name} changes {changed}, and its row says {asked}"


def another(row: ForeignKey) -> Any:
    """A value that is not the default."""
    if row.values:
        return [value for value in row.values if value != str(row.default)][-1]
    if isinstance(row.default, bool):
        return not row.default
    if isinstance(row.default, int | float):
        return row.default * 2 + (row.default == 0) * 0.5 if isinstance(row.default, float) else row.default * 2 + 1
    counted = ("steps", "saving", "scale.max-new", "scale.top-k", "seed", "lora", "evaluation", "mechanism.reward")
    return 3 if row.ours.startswith(counted) else 0.5 if row.ours.startswith(("scale", "mechanism")) else "name"


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_least_file_of_each_system_is_a_run(system: str, rows: Path) -> None:
    """With the defaults of the system, on a generated task."""
    made = translate(keys_of(system), dict(BASES[system]), rows).given
    own = {name: value for name, value in made.items() if name not in ("data", "prompt_column", "task")}
    setup = composed(own, {"task": ("countdown:3",), "model": "", "steps": 2})
    assert isinstance(setup, Setup)
    experiment, _ = session.planned(setup)
    assert experiment.recipe.scale.num_steps == 2


@pytest.mark.parametrize("system", SYSTEMS)
def test_another_key_is_refused_with_the_nearest(system: str, tmp_path: Path) -> None:
    keys = list(BASES[system])
    path = tmp_path / "run.sh"
    words = [
        f"--{key}=x" if system in ("trl", "openrlhf") else f"{key}=x" for key in keys if "." in key or system == "trl"
    ]
    strange = keys[0].replace("model", "modle") if system == "trl" else f"{keys[0]}s"  # codespell:ignore modle
    path.write_text(
        " ".join(["python3 train.py", *words, f"--{strange}=1" if system in ("trl", "openrlhf") else f"{strange}=1"])
    )
    with pytest.raises(UsageError, match=rf"no key of {SYSTEMS[system]} named '{strange}'. Did you mean '{keys[0]}'"):
        translation.translated(path)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3000) | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whatever_a_file_says_is_translated_or_refused(system: str, data: st.DataObject) -> None:
    """No value of any key brings down the translation but by an error that names the key."""
    of = keys_of(system)
    keys = data.draw(st.lists(st.sampled_from(sorted(of.rows)), min_size=1, max_size=3))
    values = {written(key): data.draw(ANYTHING) for key in keys}
    try:
        made = translation.of_values(of, Path("file"), {**BASES[system], **values})
    except AssayError as error:
        assert any(key in str(error) for key in (*values, *BASES[system]))
    else:
        assert {answer.key for answer in made.answers} >= set(values)
