"""Files of TRL, verl, OpenRLHF and prime-rl as settings: what they come to here, and what is refused or told."""

from __future__ import annotations

import builtins
import json
import math
import shlex
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import foreign_keys
import pytest
from foreign_keys import ACTOR, BASES, ROLLOUT
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell, make_model

from assay.errors import ConfigError, DataError, UsageError
from assay.known import RECIPES
from assay.run import setup_file
from assay.run.foreign import shell as script
from assay.run.foreign import translation
from assay.run.foreign.keys import SYSTEMS, keys_of
from assay.run.setup import Setup, composed
from assay.run.setup_file import text

REWARD = "def reward_func(completions, answer, **columns):\n    return [len(text) % 3 / 2 for text in completions]\n"
EXAMS = ["--evaluation.final-problems", "4", "--evaluation.final-samples", "2", "--machine.threads", "1"]


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path | str]:
    """A model that knows nothing, sums to train on and others to test on, and a reward function."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "reward_func.py").write_text(REWARD)
    for name, numbers in (("train", range(9)), ("test", range(10, 13))):
        rows = [{"prompt": f"{a}+{b}", "answer": str(a + b)} for a in numbers for b in range(9)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made: dict[str, Path | str] = {"MODEL": make_model(folder / "small")}
    return made | {"TRAIN": folder / "train.jsonl", "TEST": folder / "test.jsonl", "REWARD": folder / "reward_func.py"}


def of(system: str, **values: Any) -> translation.Translation:
    """The translation of the least file of a system, with these values under their keys."""
    return translation.of_values(keys_of(system), Path("file"), {**BASES[system], **values})


def settings(system: str, **values: Any) -> dict[str, Any]:
    """What it gives, with its settings."""
    given = of(system, **values).given
    return {**given, **given["settings"]}


def outcome(made: translation.Translation, key: str) -> str:
    return next(answer.outcome for answer in made.answers if answer.key == key)


# What the values come to


CASES = [
    (system, case["theirs"], case["ours"])
    for system, cases in tomllib.loads((foreign_keys.FOLDER / "values.toml").read_text()).items()
    for case in cases
    if case["ours"].get("recipe", "grpo") in RECIPES  # a method that was deleted takes its cases along
]


@pytest.mark.parametrize(("system", "theirs", "ours"), CASES)
def test_what_values_come_to(system: str, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    made = settings(system, **theirs)
    assert {name: made.get(name, "as the recipe") for name in ours} == ours
    assert of(system, **theirs).of("refused") == []


@pytest.mark.slow
@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 4), st.integers(1, 4), st.integers(2, 8), st.integers(1, 3))
def test_the_batch_of_trl(device: int, passes: int, times: int, processes: int, group: int, iterations: int) -> None:
    """Answers of an update = device x passes x processes; `times` updates share a generation; groups are whole."""
    update = device * passes * processes
    values = {"per_device_train_batch_size": device, "gradient_accumulation_steps": passes, "num_generations": group}
    values |= {"steps_per_generation": passes * times, "num_processes": processes, "num_iterations": iterations}
    made, said = settings("trl", **values, max_steps=60), of("trl", **values, max_steps=60)
    if update * times % group:
        assert outcome(said, "steps_per_generation") == "refused"
        return
    assert made["scale.num_prompts"] * group == update * times
    assert made["scale.num_minibatches"] == times and made["scale.num_epochs"] == iterations
    assert made["steps"] == math.ceil(60 / (times * iterations))  # TRL counts updates


@pytest.mark.slow
@given(st.integers(1, 64), st.integers(1, 16), st.integers(1, 4), st.integers(0, 20))
def test_the_batch_of_verl(mini: int, minibatches: int, epochs: int, warmup: int) -> None:
    values = {"data.train_batch_size": mini * minibatches, f"{ACTOR}.ppo_mini_batch_size": mini}
    made = settings("verl", **values, **{f"{ACTOR}.ppo_epochs": epochs, f"{ACTOR}.optim.lr_warmup_steps": warmup})
    assert made["scale.num_prompts"] == mini * minibatches and made["scale.num_minibatches"] == minibatches
    assert made["scale.warmup_steps"] == warmup * minibatches * epochs  # verl's schedule moves once a step


# What is refused, and what is told


@pytest.mark.parametrize(
    ("system", "key", "value"),
    [
        ("trl", "loss_type", "vespo"),
        ("trl", "repetition_penalty", 1.1),
        ("trl", "lr_scheduler_type", "polynomial"),
        ("trl", "optim", "lion_32bit"),
        ("trl", "adam_epsilon", 1e-6),
        ("trl", "load_in_4bit", True),
        ("trl", "generation_kwargs", {"num_beams": 4}),
        ("trl", "reward_funcs", ["think_format_reward"]),
        ("trl", "neftune_noise_alpha", 5),
        ("verl", f"{ACTOR}.policy_loss.loss_mode", "dro"),
        ("verl", f"{ACTOR}.loss_agg_mode", "token-sum"),
        ("verl", "algorithm.adv_estimator", "gae"),
        ("verl", "reward.reward_model.enable", "True"),
        ("verl", f"{ROLLOUT}.multi_turn.enable", "true"),
        ("verl", f"{ACTOR}.ppo_mini_batch_size", 300),
        ("openrlhf", "reward.model_name_or_path", "some/model"),
        ("openrlhf", "train.agent_func_path", "agent.py"),
        ("openrlhf", "actor.aux_loss_coef", "0.01"),
        ("prime_rl", "trainer.optim.type", "muon"),
        ("prime_rl", "orchestrator.algo.length_penalty.num_output_tokens_weight", 0.25),
    ],
)
def test_values_that_change_what_is_computed_and_have_no_counterpart_are_refused(
    system: str, key: str, value: Any
) -> None:
    made = of(system, **{key: value})
    assert outcome(made, key) == "refused"
    with pytest.raises(UsageError, match=rf"asks for what a run here would not do:\n  {key.replace('.', '[.]')} = "):
        translation.source(Path("file"), made)


@pytest.mark.parametrize(
    ("system", "key", "value"),
    [
        ("trl", "repetition_penalty", 1.0),
        ("trl", "adam_epsilon", "1e-8"),
        ("trl", "router_aux_loss_coef", None),
        ("trl", "vllm_gpu_memory_utilization", 0.5),
        ("verl", "data.truncation", "error"),
        ("verl", f"{ACTOR}.megatron.tensor_model_parallel_size", "4"),
        ("openrlhf", "vllm.num_engines", "4"),
        ("prime_rl", "inference.vllm.tensor_parallel_size", 4),
    ],
)
def test_values_that_change_nothing_pass(system: str, key: str, value: Any) -> None:
    assert outcome(of(system, **{key: value}), key) == "idle"


@pytest.mark.parametrize(
    ("system", "key", "value"),
    [
        ("trl", "cast_lm_head_to_fp32", True),
        ("trl", "shuffle_dataset", False),
        ("verl", "data.shuffle", "False"),
        ("verl", f"{ACTOR}.clip_ratio", "0.1"),  # which verl passes over, since each side has a default
        ("verl", f"{ACTOR}.megatron.override_transformer_config.moe_aux_loss_coeff", "0.01"),
        ("openrlhf", "reward.normalize_enable", True),
        ("prime_rl", "trainer.enable_router_replay", True),
    ],
)
def test_differences_are_told_when_training_starts(system: str, key: str, value: Any) -> None:
    made = of(system, **{key: value})
    assert outcome(made, key) == "told"
    assert any(line.strip().startswith(f"{key} = ") for line in translation.summary(made))


def test_a_default_that_is_another_one_here_is_told_too() -> None:
    told = "\n".join(translation.summary(of("openrlhf")))
    assert "actor.lr_scheduler = cosine_with_min_lr: the cosine ends at a rate of 0 here" in told
    assert "orchestrator.max_off_policy_steps = 8" in "\n".join(translation.summary(of("prime_rl")))


# What a file cannot say


def test_epochs_are_counted_where_the_rows_are(places: Mapping[str, Path | str]) -> None:
    """81 sums to train on, since others are held out: floor(81 / 20) steps an epoch."""
    files = {"data.train_files": str(places["TRAIN"]), "data.val_files": str(places["TEST"])}
    sizes = {"data.train_batch_size": 20, f"{ACTOR}.ppo_mini_batch_size": 10}
    values = {"trainer.total_training_steps": None, "trainer.total_epochs": 3, **files, **sizes}
    assert settings("verl", **values)["steps"] == 12
    warm = settings("verl", **values, **{f"{ACTOR}.optim.lr_warmup_steps_ratio": 0.25})
    assert warm["scale.warmup_steps"] == 6  # 3 of 12 steps, each of two updates
    assert settings("verl", **values, **{"data.train_max_samples": 40})["steps"] == 6


def test_what_is_missing_must_come_from_elsewhere() -> None:
    epochs = of("trl", max_steps=-1)
    theirs = translation.source(Path("file"), epochs)
    with pytest.raises(UsageError, match=r"num_train_epochs is 3, and the rows of some/rows:train cannot be counted"):
        composed(theirs)
    assert composed(theirs, {"steps": 7}).steps == 7
    assert composed(theirs, {"settings": {"scale.num_steps": 7}}).settings["recipe.scale.num_steps"] == 7
    nameless = of("prime_rl", **{"orchestrator.train.source.0.env.taskset.id": "wordle"})
    theirs = translation.source(Path("file"), nameless)
    with pytest.raises(UsageError, match="environments wordle are not here: name problems with --task or --data"):
        composed(theirs)
    assert composed(theirs, {"task": ("countdown:3",)}).task == ("countdown:3",)


def test_steps_of_an_epoch_are_not_those_of_other_data(places: Mapping[str, Path | str]) -> None:
    made = of("trl", max_steps=-1, dataset_name=str(places["TRAIN"]))
    theirs = translation.source(Path("file"), made)
    assert composed(theirs).steps
    with pytest.raises(UsageError, match="of data that the command line has replaced: write --steps N"):
        composed(theirs, {"data": ("other.jsonl",)})


# Scripts


WORDS = st.text(st.sampled_from("abcXYZ019_./-"), min_size=1, max_size=8).filter(lambda word: word.strip("-") == word)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["a.b", "c.d.e", "f_g.h"]), WORDS, min_size=1), st.data())
def test_however_a_script_writes_its_settings(values: dict[str, str], data: st.DataObject) -> None:
    """On the line, in an array, by a variable, or by a variable with a default."""
    lines, words = ["set -x"], ["python3 -m some.trainer"]
    for at, (key, value) in enumerate(values.items()):
        form = data.draw(st.sampled_from(["line", "array", "variable", "default", "quoted"]))
        if form == "array":
            lines += [f"ARRAY{at}=(  # an array", f"    {key}={value}", ")"]
            words.append(f'"${{ARRAY{at}[@]}}"')
        elif form in ("variable", "default"):
            lines.append(f"name{at}={value}" if form == "variable" else f"name{at}=${{name{at}:-{value}}}")
            words.append(f"{key}=${{name{at}}}" if form == "variable" else f'{key}="$name{at}"')
        else:
            words.append(f"{key}={value}" if form == "line" else f"'{key}={value}'")
    text = "\n".join([*lines, " \\\n    ".join([*words, '"$@"'])])
    assert script.read(text, Path("x.sh")).values == {key: script.scalar(value) for key, value in values.items()}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=$((1024 * 2))\npython -m t a.b=$((n + 1)) c.d=$n", {"a.b": "2049", "c.d": "2048"}),
        ("python -m t --a.b 1 --c.d --e.f 0.2 0.3", {"a.b": "1", "c.d": True, "e.f": ["0.2", "0.3"]}),
        ("python train.py --a.b='[x, y]'  # a comment\npip install --upgrade x", {"a.b": ["x", "y"]}),
        ("A=1 B=2 python -m t.t +a.b=null", {"a.b": None}),
        ("python -m t a.b=$(date) c.d=`ls`", {"a.b": script.UNKNOWN, "c.d": script.UNKNOWN}),
        ("if true; then\n  python -m t a.b=1\nfi\npython -m t c.d=2", {"c.d": "2"}),
        ("case $X in\n a) y=1 ;;\nesac\npython -m t a.b=$y", {"a.b": script.UNKNOWN}),
        ("ray job submit --address=http://x -- python3 -m t --a.b 1 &>> log", {"a.b": "1"}),
        ("a.b=1\nc.d=x", {"a.b": "1", "c.d": "x"}),
    ],
)
def test_scripts(text: str, values: dict[str, Any]) -> None:
    assert script.read(text, Path("x.sh")).values == values


def test_no_command_of_a_script_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script.read(f"x=$(touch {mark})\n`touch {mark}`\npython -m t a.b=$(touch {mark})", Path("x.sh"))
    assert not mark.exists()


def test_a_value_that_only_a_shell_could_tell(tmp_path: Path) -> None:
    """A rate is refused, a name is passed over, and model and data may come from the command line."""
    path = tmp_path / "x.sh"
    keys = {f"{ACTOR}.optim.lr": "refused", "trainer.experiment_name": "idle", "actor_rollout_ref.model.path": "told"}
    path.write_text(f"python -m verl.main {' '.join(f'{key}=$(date)' for key in keys)} data.train_files=$X\n")
    made = translation.translated(path)
    assert made is not None
    assert {key: outcome(made, key) for key in keys} == keys
    assert {field for lack in made.lacks for field in lack.fields} >= {"model", "data"}


# Forms of files


def test_yaml_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "grpo.yaml"
    path.write_text("loss_type: grpo\n")
    plain = builtins.__import__

    def absent(name: str, *arguments: Any) -> Any:
        if name == "yaml":
            raise ImportError(name)
        return plain(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ConfigError, match=r"needs the package pyyaml: `pip install 'assay-rl\[yaml\]'`"):
        setup_file.read(path)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.yaml", "[1, 2]", "must hold settings as `key: value`, and holds list"),
        ("a.yaml", "a: !!python/object:os.system x", "cannot be read as YAML"),
        ("a.yaml", "a: [", "cannot be read as YAML"),
        ("a.sh", "echo hello", "has no key of TRL, verl, OpenRLHF, prime-rl, nor of Assay's"),
        ("a.sh", "x='unclosed", "cannot be read as a shell command"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as caught:
        setup_file.read(tmp_path / name)
    assert says in str(caught.value)


def test_our_own_settings_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("recipe: grpo\ntask: [countdown:3]\nscale:\n  learning-rate: 1e-5\n  group-size: 4\nlora: 8\n")
    setup = composed(setup_file.read(path))
    assert setup.recipe == "grpo" and setup.task == ("countdown:3",)
    assert {path: str(value) for path, value in setup.settings.items()} == {
        "recipe.scale.learning_rate": "1e-5",
        "recipe.scale.group_size": "4",
        "lora.rank": "8",
    }


def test_a_verl_configuration_as_yaml(tmp_path: Path) -> None:
    path = tmp_path / "ppo.yaml"
    path.write_text(
        "defaults:\n  - _self_\nalgorithm:\n  _target_: some.Class\n  adv_estimator: grpo\n"
        "actor_rollout_ref:\n  model:\n    path: some/model\n  rollout:\n    n: 5\n    name: ${name}\n"
        "data:\n  train_files: some/rows\ntrainer:\n  total_training_steps: 3\n"
    )
    setup = composed(setup_file.read(path))
    assert setup.steps == 3 and setup.model == "some/model" and setup.settings["recipe.scale.group_size"] == 5


# Whole files


Write = Callable[[Path, Mapping[str, Path | str]], Path]
WHOLE: dict[str, tuple[Write, set[str], list[str]]] = {  # system -> how its file is written, keys without effect, more
    "trl": (foreign_keys.write_trl, foreign_keys.TRL_IDLE, []),
    "verl": (
        foreign_keys.write_verl,
        set(foreign_keys.VERL_FILE) - foreign_keys.VERL_OURS,
        [],
    ),
    "openrlhf": (foreign_keys.write_openrlhf, foreign_keys.OPENRLHF_IDLE, ["--trust-code"]),
    "prime_rl": (foreign_keys.write_prime, foreign_keys.PRIME_IDLE | {"orchestrator.renderer.name"}, []),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_show_lists_every_key_without_effect(system: str, places: Mapping[str, Path | str], shell: Shell) -> None:
    write, idle, _ = WHOLE[system]
    path = write(Path(), places)
    shown = shell("show", path, "--json")
    assert shown.code == 0, shown.err
    assert set(shown.document["without_effect"]) == idle
    assert shown.document["system"] == SYSTEMS[system]
    told = shell("show", path)
    assert all(key in told.out for key in idle) and "without effect" in told.out
    keys = {entry["key"]: entry for entry in shown.document["keys"]}
    assert all(entry["because"] for key, entry in keys.items() if key in idle)
    assert all(entry["ours"] for key, entry in keys.items() if key not in idle)


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_same_as_a_file_of_ours(system: str, places: Mapping[str, Path | str], shell: Shell) -> None:
    path = WHOLE[system][0](Path(), places)
    made = shell("show", path, "--toml", "--json")
    assert made.code == 0, made.err
    Path("ours.toml").write_text(made.document["toml"])
    one = Setup(**_plainly(composed(setup_file.read(path))))
    other = Setup(**_plainly(composed(setup_file.read(Path("ours.toml")))))
    assert text(one) == text(other)


def _plainly(setup: Setup) -> dict[str, Any]:
    """The fields of a setup, with settings as text has them."""
    plain = {path: json.loads(json.dumps(value)) for path, value in sorted(setup.settings.items())}
    fields = {
        name: getattr(setup, name)
        for name in ("recipe", "model", "data", "eval_data", "steps", "seed", "cut")
        if hasattr(setup, name)
    }
    return {
        **fields,
        "settings": {
            path: value if isinstance(value, list | dict) else str(value).lower() for path, value in plain.items()
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_whole_file_with_model_and_data_replaced_trains(
    system: str, places: Mapping[str, Path | str], shell: Shell
) -> None:
    """Two steps of the size that the file says; the tracker is one that writes to the disk."""
    write, idle, more = WHOLE[system]
    path = write(Path(), places)
    precision = ["--machine.precision", "fp32", "--track", "tensorboard"]
    reply = shell("train", "--config", path, "--steps", 2, "--run", "out", *EXAMS, *precision, *more)
    assert reply.code == 0, reply.err
    assert f"{SYSTEMS[system]}'s settings" in reply.err and "without effect: " in reply.err
    assert all(key in reply.err for key in idle)
    steps = [json.loads(line)["step"] for line in Path("out/metrics.jsonl").read_text().splitlines()]
    assert steps == [1, 2]
    again = shell("train", "--config", "out/run.toml", "--run", "again", "--dry-run", *more)
    assert again.code == 0, again.err


def test_code_that_a_file_names_needs_consent(places: Mapping[str, Path | str], shell: Shell) -> None:
    path = foreign_keys.write_openrlhf(Path(), places)
    reply = shell("train", "--config", path, "--steps", 2, "--dry-run")
    assert reply.code == 78 and "add --trust-code" in reply.err
    verl = foreign_keys.write_verl(Path(), places)
    reply = shell("train", "--config", verl, "--steps", 2, "--dry-run")
    assert reply.code == 78 and "wandb" in reply.err and "add --trust-addresses" in reply.err


def test_the_command_line_overrides_a_foreign_file(places: Mapping[str, Path | str], shell: Shell) -> None:
    path = foreign_keys.write_trl(Path(), places)
    line = shlex.split("--track tensorboard --steps 3 --scale.group-size 4 --scale.num-prompts 2")
    reply = shell("train", "--config", path, *line, "--dry-run", "--json")
    assert reply.code == 0, reply.err
    scale = reply.document["recipe"]["scale"]
    assert (scale["num_steps"], scale["group_size"], scale["num_prompts"]) == (3, 4, 2)
    assert scale["learning_rate"] == 1e-6 and scale["schedule"] == "linear"  # TRL's defaults


def test_a_file_that_is_not_there(shell: Shell) -> None:
    assert shell("show", "nowhere.yaml").code == 64
    assert shell("train", "--config", "nowhere.yaml").code == 64


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "trl.yaml",
            "num_generations: 4\nmax_steps: 2\nhub_token: hf_open\npush_to_hub_token: hf_open\npush_to_hub: true\n",
        ),
        (
            "run.sh",
            "python3 -m openrlhf.cli.train_ppo_ray --logger.wandb.key hf_open --rollout.n_samples_per_prompt 4\n",
        ),
    ],
)
def test_a_token_in_a_file_is_shown_to_nobody(name: str, content: str, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    lines = [("show", tmp_path / name), ("show", tmp_path / name, "--json"), ("show", tmp_path / name, "--toml")]
    for line in [*lines, ("train", "--config", tmp_path / name, "--dry-run")]:
        reply = shell(*line)
        assert "hf_open" not in reply.out + reply.err
    assert "(not shown)" in shell("show", tmp_path / name).out


def test_a_push_of_trl_and_mlflow_have_their_counterparts() -> None:
    push = {"push_to_hub": True, "hub_model_id": "me/first", "hub_private_repo": True, "hub_strategy": "every_save"}
    made = of("trl", report_to=["mlflow", "wandb"], **push)
    assert made.given["track"] == ["mlflow", "wandb"]
    for key in push:
        answer = next(answer for answer in made.answers if answer.key == key)
        assert "`assay export RUN --push OWNER/NAME`" in answer.because
    assert of("verl", **{"trainer.logger": ["console", "mlflow"]}).given["track"] == ["mlflow"]
