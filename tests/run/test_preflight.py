"""Warnings before the first step: each given when it should be, none when not; no bit of a run depends on them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import Shell, came_to, make_model, sizes, train_line
from warned import POOL, experiment, told, with_lag

from assay.errors import AssayError
from assay.known import RECIPES
from assay.objective import Drop
from assay.recipe import Mechanism, with_mechanisms
from assay.run import session
from assay.run.experiment import Experiment
from assay.run.loading import build_models
from assay.run.preflight import facts_of, look, probe
from assay.tasks.verifying import verify
from assay.types import Episode, Problem, Request, Reward, Verdict


def answers(rewards: list[list[float]], *, finish: str = "stop", verdict: Verdict | None = None) -> list[Episode]:
    """Groups of answers with these rewards."""
    found = []
    for g, group in enumerate(rewards):
        for s, value in enumerate(group):
            problem = Problem("none", f"p{g}", {}, f"p{g}")
            request = Request(problem, np.array([1], np.int32), str(g), 8, sample=s)
            judged = verdict or (Verdict("ok") if value else Verdict.fail("wrong"))
            found.append(Episode(request, (), finish, verdict=judged, rewards=(Reward("outcome", value),)))  # type: ignore[arg-type]
    return found


def test_a_sound_run_is_warned_of_nothing() -> None:
    assert told(experiment(), episodes=answers([[0, 1], [0, 0]])) == ""


def _dropping(mechanism: Mechanism) -> Mechanism:
    objective = dataclasses.replace(mechanism.objective, correct=(Drop(low=0.0, high=5.0, level="token"),))
    return dataclasses.replace(mechanism, objective=objective)


def test_old_answers_want_a_correction_and_a_lag_wants_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    said = told(with_lag("grpo"))
    assert "answers are 2 steps old, and the objective does not correct for that" in said
    assert "the lag wins no time without servers" in said
    dropping = with_mechanisms(RECIPES["grpo"], _dropping)
    monkeypatch.setitem(RECIPES, "dropping", dataclasses.replace(dropping, name="dropping"))
    assert told(with_lag("dropping", samplers="2")) == "", "it drops what it cannot correct"
    assert "does not correct" not in told(with_lag("dropping")) and "wins no time" in told(with_lag("dropping"))


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "size"), [("laptop", 3_000_000), ("one-gpu", 494_000_000)])
def test_no_recipe_is_warned_of_its_own_values(profile: Any, size: int) -> None:
    for name in RECIPES:
        assert told(experiment(name, profile), parameters=size, context=65_536) == "", name


def test_answers_at_the_limit() -> None:
    cut = answers([[0, 0, 0, 0]], finish="length")
    sound = answers([[0, 1, 0, 1]] * 3)
    limit = experiment().recipe.scale.max_new
    text = told(experiment(), episodes=[*cut, *sound])
    assert f"25% of 16 probe answers were cut at {limit} tokens. A cut answer" in text
    assert f"--scale.max-new may be up to {512 - 40} in this context" in text
    assert "none ended with an end token" in told(experiment(), episodes=cut)
    assert "cut at" not in told(experiment(), episodes=[*cut, *sound, *sound])


def test_a_reward_that_never_varies() -> None:
    flat = told(experiment(), episodes=answers([[0, 0], [0, 0]]))
    assert "does not vary within any of 2 groups of the probe: all 4 answers earned 0" in flat
    assert "within each group all answers earned the same" in told(experiment(), episodes=answers([[0, 0], [1, 1]]))
    assert told(experiment(), episodes=answers([[0, 0], [1, 0]])) == ""
    assert told(experiment("reinforce"), episodes=answers([[0, 0], [0, 0]])) == "", "it compares no group"


def test_a_verifier_that_fails() -> None:
    text = told(experiment(), episodes=answers([[1, 0]], verdict=Verdict.invalid("bug", "boom")))
    assert "the verifier failed on 2 of 2 probe answers (bug: boom)" in text


def test_a_template_without_a_generation_prompt() -> None:
    template = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
    assert "does not use add_generation_prompt" in told(experiment(), template=template)
    whole = template + "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    assert told(experiment(), template=whole) == ""


@pytest.mark.parametrize(
    ("ends", "warned"),
    [
        ({"tokenizer": {2}, "config.json": {2}}, False),
        ({"tokenizer": {2}, "config.json": {1}, "generation_config.json": {1, 2}}, False),
        ({"tokenizer": {2}}, False),
        ({"config.json": {1}, "generation_config.json": {1}}, False),
        ({"tokenizer": {2}, "config.json": {1}}, True),
        ({"tokenizer": {2}, "config.json": {2}, "generation_config.json": {1}}, True),
        ({"tokenizer": set(), "config.json": set()}, True),
    ],
)
def test_end_tokens_that_disagree(ends: dict[str, set[int]], warned: bool) -> None:
    text = told(experiment(), ends={name: frozenset(ids) for name, ids in ends.items()})
    assert ("end token" in text) == warned


@pytest.mark.parametrize(("factor", "warned"), [(0.05, True), (0.2, False), (1, False), (5, False), (20, True)])
def test_a_learning_rate_far_from_the_recipes(factor: float, warned: bool) -> None:
    usual = experiment().recipe.scale.learning_rate
    text = told(experiment(learning_rate=usual * factor))
    assert (f"20 times {'above' if factor > 1 else 'below'} {usual:g}" in text) == warned


def test_adapters_at_the_rate_of_all_weights() -> None:
    real = {"parameters": 494_000_000, "context": 4096, "lora": 16}
    rate = experiment(profile="one-gpu").recipe.scale.learning_rate
    assert f"--scale.learning-rate {10 * rate:g}" in told(experiment(profile="one-gpu"), **real)
    assert told(experiment(profile="one-gpu", learning_rate=10 * rate), **real) == ""


def test_a_profile_for_models_of_another_size() -> None:
    assert "--profile one-gpu" in told(experiment(), parameters=494_000_000)
    assert "--profile laptop" in told(experiment(profile="one-gpu"), parameters=1_000_000, context=4096)


def test_a_context_that_is_nearly_full() -> None:
    limit = experiment().recipe.scale.max_new
    assert "positions" in told(experiment(), context=40 + limit)
    assert told(experiment(), context=2 * (40 + limit)) == ""


def test_updates_of_few_answers() -> None:
    assert "an update sees 4 answers" in told(experiment(num_prompts=2, group_size=2))
    assert "2 groups are split into 4 mini-batches" in told(experiment(num_prompts=2, group_size=8, num_minibatches=4))


# With a model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model")


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def ready(model: Path, recipe: str = "grpo", **settings: object) -> tuple[Experiment, Any, Any]:
    sized = {"scale.num_prompts": "8", "scale.group_size": "8", "scale.max_new": "6", "machine.threads": "1"}
    sized |= {name.replace("_", ".", 1): str(value) for name, value in settings.items()}
    made, _ = session.plan(RECIPES[recipe], model=str(model), pool=POOL, overrides=sized)
    policy = session.load_model(made)
    return made, policy, build_models(made, policy)


@pytest.mark.parametrize(("wanted", "count"), [(16, 16), (8, 8), (3, 3), (1, 1), (0, 0)])
def test_the_probe_is_as_large_as_asked(model: Path, wanted: int, count: int) -> None:
    made, policy, models = ready(model, machine_probe=wanted)
    found = probe(made, models, policy.codec, verify=verify)
    assert len(found) == count
    assert all(e.reward is not None and e.verdict is not None for e in found)


def test_the_probe_asks_other_questions_than_the_run(model: Path) -> None:
    from assay.memory import Memory
    from assay.source import uniform

    made, policy, models = ready(model)
    asked = {e.request.problem.id for e in probe(made, models, policy.codec, verify=verify)}
    assert not asked & {problem.id for problem in uniform(Memory(made.seed), 0, 8, pool=POOL)}


def test_a_method_that_imitates_is_not_probed(model: Path) -> None:
    made, policy, models = ready(model, recipe="sft")
    assert probe(made, models, policy.codec, verify=verify) == []


def test_the_probe_moves_no_weight(model: Path) -> None:
    made, policy, models = ready(model)
    before = models["policy"].state()
    look(made, policy, models, longest=20, verify=verify)
    after = models["policy"].state()
    assert before.keys() == after.keys()
    assert all(np.array_equal(np.asarray(before[name]), np.asarray(after[name])) for name in before)


def test_a_probe_that_fails_is_a_warning(model: Path) -> None:
    def broken(episodes: object) -> list[Verdict]:
        raise AssayError("no verdict today")

    made, policy, models = ready(model)
    assert "no verdict today" in look(made, policy, models, longest=20, verify=broken)[0]


def test_facts_come_from_the_files_of_the_model(model: Path) -> None:
    made, policy, _ = ready(model)
    facts = facts_of(made, policy, longest=20)
    assert facts.parameters == sum(p.numel() for p in policy.network.parameters())
    assert facts.context == 64 and facts.template is None, "a character model needs no generation prompt"
    assert facts.ends["config.json"] == facts.ends["tokenizer"] == policy.end_ids


@pytest.mark.slow
def test_warnings_are_told_and_kept_and_change_no_bit_of_the_run(shell: Shell, model: Path, tmp_path: Path) -> None:
    loud = shell(*train_line(model, tmp_path / "loud"))
    silent = shell(*train_line(model, tmp_path / "silent", machine_probe=0))
    assert loud.code == silent.code == 0
    kept = json.loads((tmp_path / "loud" / "run.json").read_text())["warnings"]
    assert any("an update sees 4 answers" in sentence for sentence in kept)
    assert any("probe" in sentence for sentence in kept)
    assert all(f"warning: {sentence}" in loud.err for sentence in kept)
    assert not any("probe" in s for s in json.loads((tmp_path / "silent" / "run.json").read_text())["warnings"])
    assert came_to(tmp_path / "loud") == came_to(tmp_path / "silent")


@pytest.mark.slow
def test_a_resumed_run_is_not_warned_again(shell: Shell, model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert shell(*train_line(model, run)).code == 0
    kept = json.loads((run / "run.json").read_text())["warnings"]
    reply = shell("resume", run, "--steps", 5)
    assert reply.code == 0 and "an update sees" not in reply.err
    assert json.loads((run / "run.json").read_text())["warnings"] == kept


def test_a_number_of_probes_below_zero_is_refused(shell: Shell, model: Path, tmp_path: Path) -> None:
    reply = shell("train", "grpo", "--model", model, "--run", tmp_path / "run", *sizes(machine_probe=-1))
    assert reply.code == 78 and "machine.probe must be at least 0, not -1" in reply.err
