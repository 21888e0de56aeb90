"""Names of TRL's on our command line and in our settings: refused with ours, which a run then takes as they stand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from hub_cache import pretend_hub
from small_runs import Shell

import assay
from assay.errors import UsageError
from assay.known import RECIPES, recipe, spelt
from assay.run.foreign import typed
from assay.run.foreign.keys import SYSTEMS, keys_of


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def here(message: str) -> str:
    found = re.search(r"In Assay write: (.*)", message)
    assert found is not None, message
    return found[1]


EACH = {  # what a script for TRL says: what one says here
    "--num_generations 8": "--scale.group-size 8",
    "--num-generations=8": "--scale.group-size 8",
    "--max_completion_length 256": "--scale.max-new 256",
    "--learning_rate 1e-6": "--scale.learning-rate 1e-6",
    # k3 times the ratio is what TRL computes unless use_bias_correction_kl is off
    "--beta 0.04": "--mechanism.objective.regularise kl --mechanism.objective.regularise.0.weight 0.04",
    "--beta 0.04 --use_bias_correction_kl False": (
        "--mechanism.objective.regularise kl --mechanism.objective.regularise.0.weight 0.04 "
        "--mechanism.objective.regularise.0.estimator k3"
    ),
    "--top_entropy_quantile 0.2": (
        "--mechanism.objective.keep high-entropy --mechanism.objective.keep.0.share 0.2 "
        "--mechanism.objective.keep.0.by step --mechanism.objective.keep.0.ties true"
    ),
    "actor_rollout_ref.actor.optim.lr=1e-6 actor_rollout_ref.rollout.n=5": (
        "--scale.learning-rate 1e-6 --scale.group-size 5"
    ),
    "trainer.total_training_steps=40 data.train_batch_size=512": "--steps 40 --scale.num-prompts 512",
    # 128 prompts x 8 answers in mini-batches of 256 answers: 4
    "--rollout.batch_size 128 --rollout.n_samples_per_prompt 8 --train.batch_size 256": (
        "--scale.num-prompts 128 --scale.group-size 8 --scale.num-minibatches 4"
    ),
    "--actor.eps_clip_low_high 0.2 0.27": "--mechanism.objective.gate.low 0.2 --mechanism.objective.gate.high 0.27",
    "--orchestrator.group-size 16 --orchestrator.batch-size 128": "--scale.group-size 16 --scale.num-prompts 8",
    "--epsilon 0.2": "--mechanism.objective.gate.low 0.2 --mechanism.objective.gate.high 0.2",
    "--epsilon 0.2 --epsilon_high 0.28": "--mechanism.objective.gate.low 0.2 --mechanism.objective.gate.high 0.28",
    "--epsilon_high 0.28": "--mechanism.objective.gate.high 0.28",
    "--num_iterations 2": "--scale.num-epochs 2",
    "--loss_type grpo": "--mechanism.objective.aggregate sequence-mean",
    "--loss_type bnpo": "--mechanism.objective.aggregate token-mean",
    "--loss_type dr_grpo": "--mechanism.objective.aggregate fixed-length",
    "--scale_rewards batch": "--mechanism.credit.scale batch",
    "--scale_rewards False": "--mechanism.credit.scale none",
    "--temperature 0.9": "--scale.temperature 0.9",
    "--bf16": "--machine.precision bf16",
    "--max_steps 200": "--steps 200",
    "--report_to tensorboard": "--track tensorboard",
    "--lora_r 16": "--lora 16",
    # 16 answers a device and pass, 4 passes, in groups of 8: 64 / 8 prompts
    "--per_device_train_batch_size 16 --gradient_accumulation_steps 4 --num_generations 8": (
        "--scale.num-prompts 8 --scale.group-size 8"
    ),
    "--gradient_accumulation_steps 4 --per_device_train_batch_size 8 --num_generations 4": (
        "--scale.num-prompts 8 --scale.group-size 4"
    ),
}


@pytest.mark.parametrize("theirs", EACH)
def test_each_is_refused_with_our_name_and_its_value(
    theirs: str, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_hub(monkeypatch, tmp_path / "hub", "a/b")
    reply = shell("train", "grpo", *theirs.split(), "--dry-run", "--json")
    assert reply.code == 2
    assert here(reply.document["message"]) == EACH[theirs]
    again = shell("train", "grpo", "--model", "a/b", *shlex.split(EACH[theirs]), "--dry-run", "--json")
    assert again.code == 0, again.err


def test_all_of_a_line_are_told_at_once(shell: Shell) -> None:
    theirs = "--num_generations 4 --learning_rate 2e-5 --max_prompt_length 512 --use_vllm True --vllm_mode colocate"
    reply = shell("train", *theirs.split(), "GRPO", "--steps", "3")
    assert reply.code == 2
    assert here(reply.err) == "--scale.group-size 4 --scale.learning-rate 2e-5"
    assert "--max_prompt_length: prompts are never cut" in reply.err and "--skip-bad-rows" in reply.err
    assert "--use_vllm: the sampler is built in" in reply.err and "--vllm_mode: the sampler is built in" in reply.err


def test_what_a_recipe_lacks_is_added_or_said(shell: Shell) -> None:
    """Dr. GRPO has no KL term, REINFORCE no clip range; no line is offered that would be refused."""
    added = shell("train", "dr-grpo", "--beta", "0.1", "--dry-run")
    assert here(added.err) == "--mechanism.objective.regularise kl --mechanism.objective.regularise.0.weight 0.1"
    planned = shell("train", "dr-grpo", *here(added.err).split(), "--dry-run", "--json")
    assert planned.document["recipe"]["mechanism"]["objective"]["regularise"][0]["weight"] == 0.1
    lacks = shell("train", "reinforce", "--epsilon", "0.1", "--dry-run")
    assert "In Assay write:" not in lacks.err and "reinforce has nothing called objective.gate.low" in lacks.err


@pytest.mark.parametrize(
    "name", [row for system in SYSTEMS for row in keys_of(system).rows if typed.is_theirs(row) and "*" not in row]
)
def test_every_name_has_an_answer(name: str) -> None:
    """With a value that it may have, and with one that it never has."""
    for value in ("1", "nonsense", ""):
        message = str(typed.refusal({name: value}, recipe("grpo"), write=json.dumps))
        assert name in message and (
            "In Assay write: " in message or re.search(rf"\n?{re.escape(name)}: .{{10}}", message)
        )


def test_settings_from_python_that_have_no_counterpart_are_told_in_python() -> None:
    """Those that have one are taken (tests/run/test_keywords.py)."""
    with pytest.raises(UsageError) as caught:
        assay.train("grpo", levels=(3,), settings={"num_generations": 8, "use_vllm": True})
    assert here(str(caught.value)) == "settings={'scale.group_size': '8'}"
    assert "use_vllm: the sampler is built in" in str(caught.value)


# --- names of recipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("GRPO", "grpo"),
        ("Grpo", "grpo"),
        ("Dr.GRPO", "dr-grpo"),
        ("Dr. GRPO", "dr-grpo"),
        ("dr_grpo", "dr-grpo"),
        ("DAPO", "dapo"),
        ("GSPO-token", "gspo-token"),
        ("Kimi K1.5", "kimi-k1.5"),
        ("REINFORCE", "reinforce"),
        ("REINFORCE++", "rfpp"),
    ],
)
def test_recipes_are_known_however_they_are_written(written: str, name: str, shell: Shell) -> None:
    assert recipe(written).name == name
    assert shell("show", written, "--json").document["name"] == name
    pytest.importorskip("torch")  # an explanation computes gradients
    assert shell("explain", written, "--json").document["name"] == name


def test_no_two_recipes_are_written_alike() -> None:
    assert [spelt(name) for name in RECIPES] == list(RECIPES)
    assert {spelt(name.upper().replace("-", "_")) for name in RECIPES} == set(RECIPES)


def test_a_run_is_called_as_the_recipe_is(shell: Shell) -> None:
    reply = shell("train", "Dr.GRPO", "--task", "countdown:3", "--dry-run", "--json")
    assert reply.document["recipe"]["name"] == "dr-grpo"
