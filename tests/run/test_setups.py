"""One description of a run: files, the command line and Python say the same thing, and a run folder repeats its run."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import GRADED, SIZES, Shell, make_model

import assay
from assay.errors import AssayError, ConfigError, DataError, UsageError
from assay.known import RECIPES
from assay.lab.setup_example import example
from assay.run import session, setup_file
from assay.run.configure import from_data, to_data
from assay.run.experiment import Experiment
from assay.run.setup import Setup, composed

SMALL = {name: str(value) for name, value in SIZES.items()} | {"scale.num-steps": "1"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def read(text: str, folder: Path) -> Setup:
    path = folder / "some.toml"
    path.write_text(text)
    return composed(setup_file.read(path))


# Files


@pytest.mark.over_recipes
@pytest.mark.parametrize("name", RECIPES)
def test_an_example_says_nothing_but_the_recipe_and_with_all_its_lines_what_the_paper_says(
    name: str, tmp_path: Path
) -> None:
    written = example(RECIPES[name])
    assert read(written, tmp_path) == Setup(name)
    heads = ("[", "recipe = ")
    lines = [line if line.startswith(heads) else line.removeprefix("# ") for line in written.splitlines()[1:]]
    lines = ['model = "x/y"' if line.startswith("model") else line for line in lines]
    lines = ['profile = "paper"' if line.startswith("profile") else line for line in lines]
    whole = read("\n".join(line for line in lines if not line.startswith("Of the recipe")), tmp_path)
    assert len(whole.settings) > 60
    longest = {"scale.max_new": RECIPES[name].scale.max_new}  # else the profile fits it to the task
    plain = Setup(name, model="x/y", profile="paper", steps=whole.steps, settings=longest)
    assert to_data(session.planned(whole)[0]) == to_data(session.planned(plain)[0])


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.one_of(st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False, allow_infinity=False), texts)
segments = st.sampled_from(["a", "b", "num_steps", "0", "1", "gate", "learning_rate"])
paths = st.builds(
    lambda group, rest: ".".join([group, *rest]),
    st.sampled_from(["recipe.scale", "recipe.mechanism", "machine", "evaluation", "lora"]),
    st.lists(segments, min_size=1, max_size=3),
)


@given(
    st.builds(
        Setup,
        recipe=texts,
        model=texts,
        task=st.lists(texts, max_size=3).map(tuple),
        data=st.lists(texts, max_size=3).map(tuple),
        right_from=st.floats(allow_nan=False, allow_infinity=False),
        steps=st.none() | st.integers(0, 10**12),
        skip_bad_rows=st.booleans(),
        settings=st.dictionaries(paths, st.one_of(values, st.lists(values, max_size=3)), max_size=6),
    )
)
def test_what_is_written_is_read(setup: Setup) -> None:
    expected = dataclasses.replace(setup, settings={path: as_text(value) for path, value in setup.settings.items()})
    with tempfile.TemporaryDirectory() as folder:
        assert read(setup_file.text(setup, about=["of\ttwo", "lines"]), Path(folder)) == expected


def as_text(value: Any) -> Any:
    """Numbers and truth values of settings are read as the command line has them."""
    return value if isinstance(value, str | list) else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recpe = 'grpo'", "Did you mean 'recipe'"),
        ("recipe = 'grpo'\n[scal]\nnum-prompts = 3", "Did you mean 'scale'"),
        ("recipe = 'grpo'\nlearning_rate = 1e-4\nnum_generations = 4", "scale.group-size = 4"),
        ("steps = 'many'", "steps: expected int, came 'many'"),
        ("seed = 1.5", "seed: expected int, came 1.5"),
        ("profile = 'huge'", "profile is one of auto, paper"),
        ("recipe = ", "cannot be read as TOML"),
        ("reward = 'a.py:f'\nonly-reward = 'a.py:f'", "leave one out"),
        ("recipe = 'grpo'\neval-data = 'x.jsonl'", "--eval-data needs a data file"),
        ("recipe = 'grpo'\nsteps = 3\n[scale]\nnum-steps = 4", "are one setting"),
    ],
)
def test_a_file_that_cannot_be_meant_is_refused_with_what_would_do(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(AssayError) as caught:
        session.planned(read(text, tmp_path))
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no file .*nowhere\.toml"):
        setup_file.read(tmp_path / "nowhere.toml")


# Composition


def test_later_sources_override_earlier_ones_field_by_field_and_setting_by_setting() -> None:
    first = {"recipe": "grpo", "steps": 5, "settings": {"scale.top_p": 0.9, "machine.threads": 1}}
    second = {"seed": 3, "settings": {"scale.top-p": 0.8}}
    expected = {"recipe.scale.top_p": 0.8, "machine.threads": 1}
    assert composed(first, second) == Setup("grpo", steps=5, seed=3, settings=expected)


@pytest.mark.parametrize(
    ("earlier", "later", "left"),
    [
        ({"steps": 5}, {"settings": {"scale.num-steps": 7}}, Setup(settings={"recipe.scale.num_steps": 7})),
        ({"settings": {"scale.num-steps": 7}}, {"steps": 5}, Setup(steps=5)),
        ({"system": "a"}, {"settings": {"chat.system": "b"}}, Setup(settings={"chat.system": "b"})),
        ({"settings": {"tracking.sinks": "wandb"}}, {"track": ["trackio"]}, Setup(track=("trackio",))),
        ({"reward": ["a.py:f"]}, {"only_reward": ["b.py:f"]}, Setup(only_reward=("b.py:f",))),
        ({"only_reward": ["a.py:f"]}, {"reward": ["b.py:f"]}, Setup(reward=("b.py:f",))),
    ],
)
def test_two_names_of_one_thing_override_each_other(earlier: Any, later: Any, left: Setup) -> None:
    assert composed(earlier, later) == left


def test_options_override_files_and_later_files_earlier_ones(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("recipe = 'grpo'\ntask = ['countdown:3']\nsteps = 7\n[scale]\ntop-p = 0.9\n")
    (tmp_path / "b.toml").write_text("steps = 8\n[scale]\ntop-k = 5\n")
    reply = shell("train", "--config", "a.toml", "--config", "b.toml", "--scale.top-p", "0.7", "--dry-run", "--json")
    scale = reply.document["recipe"]["scale"]
    assert (scale["num_steps"], scale["top_p"], scale["top_k"]) == (8, 0.7, 5)
    reply = shell("train", "dapo", "--config", "a.toml", "--steps", "9", "--dry-run", "--json")
    assert (reply.document["recipe"]["name"], reply.document["recipe"]["scale"]["num_steps"]) == ("dapo", 9)


# Run folders


def scores(run: assay.Run) -> dict[str, Any]:
    """What does not depend on where and when the run was."""
    return {name: value for name, value in run.scores().items() if name not in ("run", "seconds")}


def small(settings: dict[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in (f"--{name}", value)]


@pytest.mark.slow
def test_a_run_folder_holds_the_file_that_repeats_it(shell: Shell, model: Path, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(GRADED)
    rows = [{"question": f"What is {a}+{b}?", "answer": str(a + b)} for a in range(1, 7) for b in range(1, 7)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = ["--data", "rows.jsonl", "--reward", "my.py:graded=0.5", "--system", 'say "it"', "--right-from", "0.25"]
    options += ["--model", str(model), "--seed", "4", "--mechanism.objective.gate", "clip"]
    options += ["--mechanism.objective.gate.high", "0.3", "--stop", "\\n", *small(SMALL)]
    assert shell("train", "grpo", *options, "--run", "first", "--quiet").code == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(elsewhere)
        again = shell(
            *("train", "--config", str(tmp_path / "first" / "run.toml"), "--trust-code"),
            *("--run", "second", "--quiet"),
        )
    assert again.code == 0, again.err
    came = [assay.Run(path) for path in (tmp_path / "first", elsewhere / "second")]
    experiments = [json.loads((run.path / "run.json").read_text())["experiment"] for run in came]
    assert from_data(Experiment, experiments[0]) == from_data(Experiment, experiments[1])
    assert (came[0].path / "run.toml").read_text() == (came[1].path / "run.toml").read_text()
    assert scores(came[0]) == scores(came[1])


@pytest.mark.slow
def test_a_run_from_python_holds_it_too_and_says_what_no_file_can_name(model: Path, tmp_path: Path) -> None:
    def graded(completions: list[str], **_: Any) -> list[float]:
        return [float(len(text) % 3) for text in completions]

    run = assay.train("grpo", task="countdown:3", model=model, settings=SMALL, reward=graded, run=tmp_path / "run")
    written = (run.path / "run.toml").read_text()
    assert "# The reward function graded was passed by a program" in written
    plain = assay.train("grpo", task="countdown:3", model=model, settings=SMALL, run=tmp_path / "plain", quiet=True)
    again = assay.train(config=plain.path / "run.toml", run=tmp_path / "again", quiet=True)
    assert scores(again) == scores(plain)


# Trust


def test_code_of_a_file_is_run_only_if_somebody_allows_it_and_asked_once(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(GRADED)
    (tmp_path / "a.toml").write_text("recipe = 'grpo'\nreward = 'my.py:graded'\ntask = 'countdown:3'\n")
    plan = ("train", "--config", "a.toml", "--dry-run")
    refused = shell(*plan)
    assert refused.code == ConfigError.exit_code
    assert "my.py:graded: no command of yours has allowed that to this file" in refused.err
    assert "add --trust-code" in refused.err
    assert shell(*plan, "--trust-addresses").code == ConfigError.exit_code
    assert shell(*plan, "--reward", "my.py:graded").code == 0, "the command line names it itself"
    assert shell(*plan).code == ConfigError.exit_code, "which allows nothing to the file"
    assert shell(*plan, "--trust-code").code == 0
    assert shell(*plan).code == 0, "what was allowed once is not asked again"
    (tmp_path / "my.py").write_text(GRADED + "\nimport os\n")
    changed = shell(*plan)
    assert changed.code == ConfigError.exit_code and "when you allowed it" in changed.err


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("[machine]\nsamplers = 'http://10.0.0.7:80'", "connects to the server http://10.0.0.7:80"),
        ("[machine]\nsamplers = 1\nsampler = 'vllm'\nsampler-python = '/opt/x/python'", "starts the program"),
        ("track = ['wandb']", "sends the metrics to wandb"),
        ("track = ['mlflow']\n[tracking]\nmlflow-uri = 'http://10.0.0.7:80'", "MLflow store http://10.0.0.7:80"),
        ("track = ['mlflow']\n[tracking]\nmlflow-uri = 'sqlite:///x.db'", "MLflow store sqlite:///x.db"),
    ],
)
def test_programs_and_addresses_of_a_file_are_reached_only_if_somebody_allows_it(
    lines: str, words: str, shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(f"recipe = 'grpo'\ntask = 'countdown:3'\n{lines}\n")
    refused = shell("train", "--config", "a.toml", "--dry-run")
    assert refused.code == ConfigError.exit_code and words in refused.err
    trusted = shell("train", "--config", "a.toml", "--dry-run", "--trust-code", "--trust-addresses")
    assert words not in trusted.err, "what is refused now is that the program or the server is not there"
    assert trusted.code == 0 or "ASSAY_SAMPLER_SECRET" in trusted.err or "cannot be run" in trusted.err, trusted.err


def test_a_file_that_somebody_may_not_trust_is_refused_from_python_too(tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(GRADED)
    config = tmp_path / "a.toml"
    config.write_text(f"recipe = 'grpo'\nreward = '{tmp_path}/my.py:graded'\ntask = 'countdown:3'\n")
    with pytest.raises(ConfigError, match="trust-code"):
        assay.train(config=config, run=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="levels are those of a task"):
        assay.train("grpo", data=tmp_path / "x.jsonl", levels=[3])


# Epochs


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Twelve rows to train on, and two that are held out."""
    for name, numbers in (("rows", range(12)), ("held", range(20, 22))):
        lines = (json.dumps({"question": f"{n} + 1 =", "answer": str(n + 1)}) for n in numbers)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    return str(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(("epochs", "prompts", "steps"), [(1, 4, 3), (2.5, 4, 8), (1, 5, 3), (0.1, 4, 1), (3, 12, 3)])
def test_epochs_are_as_many_steps_as_ask_every_row_so_often(
    epochs: float, prompts: int, steps: int, rows: str, model: Path
) -> None:
    held = rows.replace("rows.jsonl", "held.jsonl")
    given = {"recipe": "grpo", "model": str(model), "data": [rows], "eval_data": [held], "epochs": epochs}
    setup = composed({**given, "settings": {"scale.num_prompts": prompts}})
    experiment, lines = session.planned(setup)
    assert experiment.recipe.scale.num_steps == steps
    assert f"over 12 rows, of which a step asks {prompts}" in lines[-1]
    assert f"steps = {steps}\n" in (written := setup_file.repeating(setup, experiment)) and "\nepochs" not in written


def test_epochs_and_steps_are_said_one_at_a_time_and_the_later_source_counts(rows: str) -> None:
    with pytest.raises(UsageError, match="steps and epochs both say how long a run is: leave one out"):
        composed({"steps": 3, "epochs": 1})
    later = composed({"epochs": 1}, {"steps": 3}), composed({"epochs": 1}, {"settings": {"scale.num_steps": "3"}})
    assert [setup.epochs for setup in later] == [None, None]
    assert composed({"steps": 3}, {"epochs": 2}) == Setup(epochs=2)
    assert composed({"settings": {"scale.num_steps": "3"}}, {"epochs": 2}) == Setup(epochs=2)


def test_epochs_need_rows_and_are_no_budget_of_a_comparison(shell: Shell) -> None:
    refused = shell("train", "grpo", "--task", "countdown:3", "--epochs", 2, "--dry-run")
    assert refused.code == 2 and "generated tasks have no end: say --steps, or --data" in refused.err
    Path("run.toml").write_text('task = ["countdown:3"]\nepochs = 2\n')
    refused = shell("compare", "grpo", "dapo", "--config", "run.toml", "--plan")
    assert refused.code == 2 and "--budget steps=N or tokens=N, in place of epochs" in refused.err


# Rewards that would earn nothing


@pytest.mark.parametrize(("reward", "refused"), [("soft-overlong", True), ("outcome,soft-overlong", False)])
def test_a_reward_function_that_a_setting_replaces_is_refused(
    reward: str, refused: bool, shell: Shell, rows: str, model: Path
) -> None:
    """`mechanism.reward` names all rewards: without the function, or a verdict that is by it, it counts nowhere."""
    Path("my.py").write_text(GRADED)
    held = rows.replace("rows.jsonl", "held.jsonl")
    given = ["--data", rows, "--eval-data", held, "--model", str(model), "--reward", "my.py:graded"]
    reply = shell("train", "grpo", *given, "--mechanism.reward", reward, "--dry-run")
    words = "the reward function 'graded' would earn nothing"
    assert (reply.code, words in reply.err) == ((78, True) if refused else (0, False)), reply.err


def test_what_a_function_is_warned_of_in_the_trial_is_told_in_the_run(shell: Shell, rows: str, model: Path) -> None:
    """A warning that comes once comes when somebody hears it."""
    Path("my.py").write_text(
        "def extra(completions, log_extra, **columns):\n"
        "    log_extra('size', [len(text) for text in completions])\n"
        "    return [1.0 for _ in completions]\n"
    )
    sizes = [word for name, value in SIZES.items() for word in (f"--{name}", str(value))]
    held = rows.replace("rows.jsonl", "held.jsonl")
    given = ["--data", rows, "--eval-data", held, "--model", str(model), "--reward", "my.py:extra", "--steps", "1"]
    reply = shell("train", "grpo", *given, *sizes)
    assert reply.code == 0 and reply.err.count("warning: log_extra('size', ...)") == 1, reply.err
