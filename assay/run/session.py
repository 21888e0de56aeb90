"""Planning, starting and resuming a run: from settings to a trained model in a run folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError, UsageError
from assay.host.space import device_of
from assay.host.terminal import say
from assay.policy.conversation import resolved
from assay.recipe import Profile, ProfileChoice, Recipe
from assay.record.folder import Numbered, RunFolder
from assay.record.panel import Panel
from assay.run import (
    attention_needs,
    data_needs,
    external_needs,
    kind_needs,
    open_rows,
    own_tools,
    picture_needs,
    settings,
)
from assay.run.agents import answering, check_agent
from assay.run.base_training import ready
from assay.run.bases import base_for
from assay.run.before_weights import require_fit
from assay.run.callbacks import Watch
from assay.run.configure import from_data, override, to_data
from assay.run.cut_answers import counted
from assay.run.experiment import Experiment, check
from assay.run.fresh_models import fitted, numbers_of
from assay.run.grader import Functions, absolute, changes, grader_of, require_services, sources
from assay.run.loading import load_model
from assay.run.memory_plan import choose_profile
from assay.run.own_rewards import require_counted
from assay.run.pretrained import PRETRAINED
from assay.run.pretrained_needs import at_its_profile
from assay.run.scaling import at_its_scale, named_at
from assay.run.seats import seated
from assay.run.setup import Setup
from assay.run.spoken_tools import with_tools
from assay.run.training import back_to, begin, carry_on, ready_to_begin, verifiers_of
from assay.run.trust import Trust, code_of, remember, require_trust
from assay.run.worked_examples import require_examples, with_examples
from assay.source import Pool, check_pool
from assay.tasks import short, task
from assay.verifiers.functions.process import SECONDS

if TYPE_CHECKING:
    from assay.policy import Policy


def plan(
    recipe: Recipe,
    *,
    model: str,
    pool: Pool,
    profile: ProfileChoice = "auto",
    seed: int = 0,
    steps: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    system: str | None = None,
    rewards: Sequence[str] = (),
    only: bool = False,
    right_from: float = 1.0,
    reward_timeout: float = SECONDS,
    tools: Sequence[str] = (),
    mcp: Sequence[str] = (),
) -> tuple[Experiment, list[str]]:
    """The checked experiment that these arguments describe, and a line for each number that differs from the paper's.

    experiment, rules = plan(RECIPES["grpo"], model="countdown", pool=pool, overrides={"scale.learning_rate": 1e-3})

    `rewards` are reward functions, which take the place of the recipe's outcome reward, or with `only` of all rewards.
    """
    model = fitted(model, pool)
    profile, reasons = (profile, []) if profile != "auto" else _chosen(recipe, model, pool)
    if Path(model).exists():
        model = str(Path(model).resolve())  # a run may be resumed from another working directory
    experiment = Experiment(seated(recipe, pool), model, pool, seed=seed, profile=profile, rewards=absolute(rewards))
    experiment = dataclasses.replace(experiment, right_from=right_from, reward_timeout=reward_timeout)
    experiment = dataclasses.replace(experiment, **own_tools.absolute(tools, mcp, pool))
    asked = settings.asked(recipe, overrides or {}, steps=steps, system=system)
    experiment, beside = at_its_profile(experiment, asked)
    for path in [path for path in asked if path.split(".")[0] in ("pool", "lora", "cut", "agent")]:
        experiment = override(experiment, path, asked.pop(path))
    check_pool(experiment.pool)
    experiment = counted(experiment, rewards, only=only)
    numbers = {path: asked.pop(path) for path in list(asked) if f"{path}.".startswith("recipe.scale.")}
    experiment, rules = at_its_scale(experiment, numbers)
    for path, value in asked.items():
        experiment = override(experiment, path, value, named=partial(named_at, experiment.recipe.scale, rules))
    chat = with_tools(with_examples(resolved(experiment.chat), experiment.pool), experiment.pool)
    experiment = dataclasses.replace(experiment, chat=chat)
    require_counted(experiment.recipe, experiment.rewards)
    check_agent(experiment)
    with answering(experiment):
        check(experiment)
    require_examples(experiment.evaluation.shots, experiment.pool)
    kind_needs.require_served(experiment)
    picture_needs.require_sight(experiment)
    attention_needs.require_attention(experiment)
    data_needs.require_solutions(experiment.recipe, experiment.pool)
    if experiment.rewards or experiment.agent.by_itself:
        idle = open_rows.require_rewarded(experiment.recipe, experiment.pool, scored=True)
    else:
        idle = data_needs.require_answers(experiment.pool, experiment.recipe)
    experiment, fewer = data_needs.at_most_rows(experiment)
    return experiment, [*reasons, *rules, *beside, *fewer, *idle]


def planned(setup: Setup, method: Recipe | None = None, pool: Pool | None = None) -> tuple[Experiment, list[str]]:
    """The same for what a person asks for. `method` and `pool` take the place of the recipe and of the problems that
    the setup names.

    experiment, rules = planned(Setup("grpo", task=("countdown:3,4",), steps=100))
    """
    method = method or setup.method()
    made = PRETRAINED.get(setup.model)
    pool = pool or setup.pool((made and made.task) or method.usual_task)
    of_steps = partial(
        plan,
        method,
        model=setup.model or base_for(pool),
        pool=pool,
        profile=setup.profile,
        seed=setup.seed,
        overrides=setup.overrides(),
        system=setup.system or None,
        rewards=setup.only_reward or setup.reward,
        only=bool(setup.only_reward),
        right_from=setup.right_from,
        reward_timeout=setup.reward_timeout,
        tools=setup.tools,
        mcp=setup.mcp,
    )
    if setup.epochs is None:
        return of_steps(steps=setup.steps)
    steps, why = data_needs.steps_of(setup.epochs, of_steps(steps=None)[0])
    experiment, rules = of_steps(steps=steps)
    return experiment, [*rules, why]


def place_of(setup: Setup, experiment: Experiment) -> Path | Numbered:
    """The new folder of the run."""
    name = f"{experiment.recipe.name}-{short(experiment.pool.shares[0].task)}"
    return Path(setup.run) if setup.run else Numbered(Path("runs"), name)


def _chosen(recipe: Recipe, model: str, pool: Pool) -> tuple[Profile, list[str]]:
    if numbers_of(pool) is not None and any(task(name).world is not None for name in recipe.tasks):
        return "paper", [f"the numbers of {recipe.name} are made for small policies over observations"]
    profile, reason = choose_profile(model)
    return profile, [reason]


def start(
    experiment: Experiment,
    place: Path | Numbered,
    *,
    command: str = "",
    quiet: bool = False,
    shown: Panel | None = None,
    extra: Mapping[str, Any] | None = None,
    functions: Functions | None = None,
    tools: Functions | None = None,
    setup: Setup | None = None,
    watch: Watch | None = None,
) -> Path:
    """Trains in a new run folder and returns its path.

    path = start(experiment, Path("runs/first"), command="assay train grpo --run runs/first")

    `extra` holds further fields for run.json. The run is shown on a panel of its own, or on `shown`. The `setup` that
    the experiment follows from is kept in the folder, as a file that repeats the run. `watch` are the callbacks of the
    calling program.
    """
    how = {"command": command, "quiet": quiet, "shown": shown, "extra": extra, "setup": setup}
    how |= {"watch": watch}
    with own_tools.equipping(experiment, tools) as equipped:
        prepared = ready_to_begin(equipped, place, functions)
        ready(equipped.model)
        return begin(prepared, load_model(equipped), place, **how)


def resume(
    path: Path | str,
    *,
    steps: int | None = None,
    quiet: bool = False,
    shown: Panel | None = None,
    functions: Functions | None = None,
    tools: Functions | None = None,
    reward_timeout: float | None = None,
    learners: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    trust_addresses: bool = False,
    watch: Watch | None = None,
) -> Path:
    """Continues a run from its last checkpoint and returns its path; `steps` extends a finished run.

    resume("runs/first", steps=400)

    With another number of `learners`, or with another use of memory (`settings.MEANS`), the run goes on from the same
    weights, but not with the same bits. From now on one
    call of a reward function may take `reward_timeout` seconds. Code, programs and addresses that the run folder names
    and this user did not allow it before are used only with `trust_code` or `trust_addresses`, if `overrides` give the
    setting, or if a person at the terminal agrees (`assay.run.trust`).
    """
    with RunFolder.open(path) as folder, ExitStack() as during:
        begun = from_data(Experiment, folder.experiment)
        given = settings.of_resume(begun, overrides or {})
        numbers = {"recipe.scale.num_steps": steps, "machine.learners": learners, "reward_timeout": reward_timeout}
        changed = {setting: value for setting, value in numbers.items() if value is not None} | given
        experiment = reduce(lambda made, item: override(made, *item), changed.items(), begun)
        trust = Trust.of(code=trust_code, addresses=trust_addresses, fields=given, functions=functions or {})
        trusted = require_trust(folder, experiment, trust)
        experiment = during.enter_context(own_tools.equipping(experiment, tools))
        require_fit(experiment)
        device_of(experiment.machine.device)
        for sentence in folder.noticed:
            say(f"warning: {sentence}. Training does not read these records; curves and reports of this run do.")
        data_needs.require_unchanged(experiment.pool, folder.document["identity"])
        rewards = experiment.rewards
        grader = grader_of(experiment, functions)
        services = require_services(experiment.recipe)
        for change in changes(grader, folder.document.get("rewards", {})):
            say(f"warning: {change}")
        if "code" in trusted:
            folder.amend(rewards=sources(grader), code=code_of((*rewards, *experiment.tools)))
        for change in own_tools.changes_of_servers(experiment, folder.document.get("mcp", {})):
            say(f"warning: {change}")
        foreign = external_needs.require_externals(experiment.pool, rewards=experiment.rewards)
        _compare_versions(folder, externals={**services, **foreign}, verifiers=verifiers_of(experiment.pool))
        policy = _same_policy(folder, experiment, path)
        checkpoint = folder.load()
        if checkpoint is not None and steps is not None and steps < checkpoint.step:
            raise UsageError(f"{path} has done {checkpoint.step} steps already; --steps {steps} would be fewer.")
        if changed:
            folder.amend(experiment=to_data(experiment))
        if given or trusted:
            remember(folder, experiment)
        memory = back_to(folder, experiment, checkpoint)
        if memory.step >= (scale := experiment.recipe.scale).num_steps:
            say(f"all {memory.step} steps of {path} are done; --steps N extends the run to N.")
        elif scale.over(memory.step, memory.budget.tokens):
            say(f"{path} has spent its {scale.num_tokens:,} tokens (scale.num_tokens), in {memory.step} steps.")
        how = {"quiet": quiet, "shown": shown, "grader": grader, "checkpoint": checkpoint, "watch": watch}
        carry_on(folder, experiment, policy, memory, **how)
    return Path(path)


def _same_policy(folder: RunFolder, experiment: Experiment, path: Path | str) -> Policy:
    """The model from which the run began. Refuses one whose weights have changed since."""
    from assay.policy import fingerprint

    ready(experiment.model)
    policy = load_model(experiment)
    if (digest := fingerprint(policy)) != folder.document["identity"]["weights"]:
        raise ConfigError(
            f"the model {experiment.model} has changed since {path} began: the digest of its weights was "
            f"{folder.document['identity']['weights']} and is now {digest}. Put the old model back, or start a new run."
        )
    return policy


def _compare_versions(folder: RunFolder, **versions: Mapping[str, str]) -> None:
    """Warns of verifiers, externals and judges whose version has changed, and writes the new versions down."""
    for kind, now in versions.items():
        before = folder.document.get(kind, {})
        for change in external_needs.changes(now, before):
            say(f"warning: {change}.")
        if (after := external_needs.versions(now, before)) != before:
            folder.amend(**{kind: after})
