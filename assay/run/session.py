"""Planning, starting and resuming a run: from settings to a trained model in a run folder."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engine.footprint import as_data
from assay.errors import ConfigError, DataError, EndpointError, ProcessLost, Stopped, StorageError, UsageError
from assay.host.space import device_of
from assay.host.terminal import say
from assay.memory import Memory, columns
from assay.models import Models
from assay.policy.conversation import resolved
from assay.policy.provenance import provenance_in
from assay.recipe import Profile, ProfileChoice, Recipe
from assay.record.checkpoint import Checkpoint
from assay.record.folder import Numbered, RunFolder, require_vacant
from assay.record.panel import Panel, panel
from assay.record.signals import StopFlag
from assay.record.sinks import require as require_packages
from assay.record.sinks import series_of, tracking
from assay.run import attention_needs, data_needs, external_needs, open_rows, picture_needs, settings
from assay.run.configure import from_data, override, to_data
from assay.run.context_fit import check_lengths
from assay.run.cut_answers import judged
from assay.run.experiment import Experiment, check
from assay.run.grader import Grader, absolute, changes, check_functions, grader_of, require_services, sources
from assay.run.loading import load_model, open_models, policy_files, set_threads, with_adapter
from assay.run.memory_plan import Plan, choose_profile, plan_memory, require_memory, shape_of
from assay.run.pretrained_needs import at_its_profile
from assay.run.scaling import at_its_scale, named_at
from assay.run.trust import Trust, code_of, remember, require_trust
from assay.run.worked_examples import Worked, require_examples, with_examples, worked
from assay.source import Pool, check_pool
from assay.tasks import short
from assay.tasks.versions import verifier_versions
from assay.verifiers.functions.process import SECONDS

if TYPE_CHECKING:
    from assay.policy import Policy
    from assay.run.recorder import Exams

Functions = Mapping[str, Callable[..., Any]]
"""Reward functions that the calling program passes as Python functions, by name."""
IDENTITY = ("model", "pool", "seed", "profile")  # fields of the experiment that no resume may change


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
) -> tuple[Experiment, list[str]]:
    """The checked experiment that these arguments describe, and a line for each number that differs from the paper's.

    experiment, rules = plan(RECIPES["grpo"], model="countdown", pool=pool, overrides={"scale.learning_rate": 1e-3})

    `rewards` are reward functions, which take the place of the recipe's outcome reward, or with `only` of all rewards.
    """
    profile, reasons = (profile, []) if profile != "auto" else _chosen(model)
    if Path(model).exists():
        model = str(Path(model).resolve())  # a run may be resumed from another working directory
    experiment = Experiment(recipe, model, pool, seed=seed, profile=profile, rewards=absolute(rewards))
    experiment = dataclasses.replace(experiment, right_from=right_from, reward_timeout=reward_timeout)
    asked = settings.asked(recipe, overrides or {}, steps=steps, system=system)
    experiment, beside = at_its_profile(experiment, asked)
    for path in [path for path in asked if path.split(".")[0] in ("pool", "lora", "cut")]:
        experiment = override(experiment, path, asked.pop(path))
    check_pool(experiment.pool)
    experiment = judged(experiment, rewards, only=only)
    numbers = {path: asked.pop(path) for path in list(asked) if f"{path}.".startswith("recipe.scale.")}
    experiment, rules = at_its_scale(experiment, numbers)
    for path, value in asked.items():
        experiment = override(experiment, path, value, named=partial(named_at, experiment.recipe.scale, rules))
    experiment = dataclasses.replace(experiment, chat=with_examples(resolved(experiment.chat), experiment.pool))
    check(experiment)
    require_examples(experiment.evaluation.shots, experiment.pool)
    picture_needs.require_sight(experiment)
    attention_needs.require_attention(experiment)
    data_needs.require_solutions(experiment.recipe, experiment.pool)
    if experiment.rewards:
        idle = open_rows.require_judged(experiment.recipe, experiment.pool, scored=True)
    else:
        idle = data_needs.require_answers(experiment.pool, experiment.recipe)
    experiment, fewer = data_needs.at_most_rows(experiment)
    return experiment, [*reasons, *rules, *beside, *fewer, *idle]


def _chosen(model: str) -> tuple[Profile, list[str]]:
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
) -> Path:
    """Trains in a new run folder and returns its path.

    path = start(experiment, Path("runs/first"), command="assay train grpo --run runs/first")

    `extra` holds further fields for run.json. The run is shown on a panel of its own, or on `shown`.
    """
    from assay.policy import fingerprint

    check(experiment)
    picture_needs.require_sight(experiment)
    attention_needs.require_attention(experiment)
    if isinstance(place, Path):
        require_vacant(place)
    require_packages(experiment.tracking.sinks)
    judge = grader_of(experiment, functions)
    check_functions(judge, experiment.pool)
    externals = require_services(experiment.recipe)
    externals |= external_needs.require_externals(experiment.pool, rewards=experiment.rewards)
    for line in data_needs.notes(experiment.pool, experiment.chat):
        say(f"  {line}")
    read = open_rows.reads_verdicts(experiment.recipe)
    for line in data_needs.answer_warnings(experiment.pool, read) if not experiment.rewards else ():
        say(f"  {line}")
    memory = memory_of(experiment)  # a run that does not fit is refused before its model is loaded
    if memory is not None:
        require_memory(memory)
    policy = load_model(experiment)
    experiment, longest, lines = check_lengths(experiment, policy)
    for line in lines:
        say(f"  {line}")
    known = provenance_in(policy.tokenizer.files, experiment.model)
    path = place if isinstance(place, Path) else place.take()
    identity = {name: to_data(getattr(experiment, name)) for name in IDENTITY}
    identity |= {"recipe": experiment.recipe.name, "weights": fingerprint(policy)}
    identity |= data_needs.identity(experiment.pool)
    document = {
        "command": command,
        "python": f"assay.resume({str(path)!r})",
        "recipe": experiment.recipe.name,
        "task": [short(share.task) for share in experiment.pool.shares],
        "experiment": to_data(experiment),
        "rewards": sources(judge),
        "code": code_of(experiment.rewards),
        "memory": None if memory is None else as_data(memory.budget),
        **({} if known is None else {"provenance": dataclasses.asdict(known)}),
        **({"externals": external_needs.versions(externals, {})} if externals else {}),
        "verifiers": external_needs.versions(verifiers_of(experiment.pool), {}),
        **(extra or {}),
    }
    folder = RunFolder.create(path, identity=identity, document=document, keep=experiment.saving.keep)
    with folder:
        remember(folder, experiment)
        how = {"quiet": quiet, "shown": shown, "judge": judge, "longest": longest}
        _run(folder, experiment, policy, Memory(experiment.seed), **how)
    return path


def memory_of(experiment: Experiment) -> Plan | None:
    """The memory that a run will need; None for a model whose shape is not known before it is loaded, and for a run of
    several learners (`assay plan`).
    """
    shape = shape_of(experiment.model) if experiment.machine.learners == 1 else None
    return None if shape is None else plan_memory(experiment, shape, device=device_of(experiment.machine.device))


def resume(
    path: Path | str,
    *,
    steps: int | None = None,
    quiet: bool = False,
    shown: Panel | None = None,
    functions: Functions | None = None,
    reward_timeout: float | None = None,
    learners: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Path:
    """Continues a run from its last checkpoint and returns its path; `steps` extends a finished run.

    resume("runs/first", steps=400)

    With another number of `learners` the run goes on from the same weights, but not with the same bits.
    From now on one call of a reward function may take `reward_timeout` seconds. What the run folder names and this user
    did not allow it before, code, programs and addresses, is used only with `trust_code` or `trust_addresses`, if
    `overrides` give the setting, or if a person at the terminal agrees (`assay.run.trust`).
    """
    from assay.policy import fingerprint

    with RunFolder.open(path) as folder:
        experiment = from_data(Experiment, folder.experiment)
        if steps is not None:
            experiment = override(experiment, "recipe.scale.num_steps", steps)
        if reward_timeout is not None:
            experiment = dataclasses.replace(experiment, reward_timeout=reward_timeout)
        if learners is not None:
            experiment = override(experiment, "machine.learners", learners)
        given = settings.reaching(experiment, overrides or {})
        for place, value in given.items():
            experiment = override(experiment, place, value)
        trust = Trust.of(code=trust_code, addresses=trust_addresses, fields=given, functions=functions or {})
        trusted = require_trust(folder, experiment, trust)
        _require_same(from_data(Experiment, folder.experiment), experiment, path)
        check(experiment)
        picture_needs.require_sight(experiment)
        attention_needs.require_attention(experiment)
        device_of(experiment.machine.device)
        for sentence in folder.noticed:
            say(f"warning: {sentence}. Training does not read these records; curves and reports of this run do.")
        data_needs.require_unchanged(experiment.pool, folder.document["identity"])
        rewards = experiment.rewards
        judge = grader_of(experiment, functions)
        services = require_services(experiment.recipe)
        for change in changes(judge, folder.document.get("rewards", {})):
            say(f"warning: {change}")
        if "code" in trusted:
            folder.amend(rewards=sources(judge), code=code_of(rewards))
        foreign = external_needs.require_externals(experiment.pool, rewards=experiment.rewards)
        _compare_judges(folder, externals={**services, **foreign}, verifiers=verifiers_of(experiment.pool))
        policy = load_model(experiment)
        if (digest := fingerprint(policy)) != folder.document["identity"]["weights"]:
            raise ConfigError(
                f"the model {experiment.model} has changed since {path} began: the digest of its weights was "
                f"{folder.document['identity']['weights']} and is now {digest}. Put the old model back, or start a new "
                "run."
            )
        checkpoint = folder.load()
        if checkpoint is not None and steps is not None and steps < checkpoint.step:
            raise UsageError(f"{path} has done {checkpoint.step} steps already; --steps {steps} would be fewer.")
        if given or (steps, reward_timeout, learners) != (None, None, None):
            folder.amend(experiment=to_data(experiment))
        if given or trusted:
            remember(folder, experiment)
        memory = _back_to(folder, experiment, checkpoint)
        if memory.step >= (scale := experiment.recipe.scale).num_steps:
            say(f"all {memory.step} steps of {path} are done; --steps N extends the run to N.")
        elif scale.over(memory.step, memory.budget.tokens):
            say(f"{path} has spent its {scale.num_tokens:,} tokens (scale.num_tokens), in {memory.step} steps.")
        how = {"quiet": quiet, "shown": shown, "judge": judge, "checkpoint": checkpoint}
        _run(folder, experiment, policy, memory, **how)
    return Path(path)


def _require_same(before: Experiment, now: Experiment, path: Path | str) -> None:
    """Refuses a resume that was given another model or other problems than the run has."""
    for name in IDENTITY:
        if getattr(before, name) != getattr(now, name):
            raise ConfigError(
                f"{name} of {path} is {to_data(getattr(before, name))!r}, and a resume cannot change it. Give the same "
                "value, or start a new run."
            )


def verifiers_of(pool: Pool) -> dict[str, str]:
    """The versions of the verifiers that judge the answers to these problems."""
    return verifier_versions(share.task for share in pool.shares)


def _compare_judges(folder: RunFolder, **judges: Mapping[str, str]) -> None:
    """Warns of verifiers, externals and judges whose version has changed, and writes the new versions down."""
    for kind, now in judges.items():
        before = folder.document.get(kind, {})
        for change in external_needs.changes(now, before):
            say(f"warning: {change}.")
        if (after := external_needs.versions(now, before)) != before:
            folder.amend(**{kind: after})


def tell_differences(folder: RunFolder, checkpoint: Checkpoint, place: str) -> None:
    """Warns of newer checkpoints that could not be used, and of libraries, a device or a machine that differ from those
    of the save. The differences are also kept in run.json, with the step from which they hold.
    """
    for sentence in checkpoint.rejected:
        say(f"warning: {sentence}")
    if changed := checkpoint.environment_changes(place):
        say(
            f"warning: not as at step {checkpoint.step}, which was saved with: {'; '.join(changed)}. The resumed run "
            "may differ in its last bits from a run without the stop."
        )
        folder.amend(resumed=[*folder.document.get("resumed", []), {"step": checkpoint.step, "changed": changed}])


def _run(
    folder: RunFolder,
    experiment: Experiment,
    policy: Policy,
    memory: Memory,
    *,
    quiet: bool,
    shown: Panel | None,
    judge: Grader,
    checkpoint: Any = None,
    longest: int | None = None,
) -> None:
    """Builds the models and trains. `longest`: tokens of the longest prompt; None for a run that is resumed."""
    from assay.engine.choose import processor_of

    set_threads(experiment.machine)
    if data_needs.files(experiment.pool) and folder.learnt() is None:
        folder.keep_learnt(data_needs.learnt(experiment.pool))
    policy = with_adapter(experiment, policy)
    if policy.tokenizer.pictures is not None:
        picture_needs.keep(policy.tokenizer.pictures, folder.path)
    restarts, begun = 0, memory.step  # restarts from one checkpoint, at least one after a loss; and its step
    with judge:
        while True:
            rest = {"quiet": quiet, "shown": shown, "judge": judge, "checkpoint": checkpoint, "longest": longest}
            try:
                with open_models(experiment, policy, folder.path) as models, processor_of(models["policy"]):
                    _train(folder, experiment, policy, models, memory, **rest)
                break
            except ProcessLost as error:
                checkpoint, longest = folder.load(), None
                reached = 0 if checkpoint is None else checkpoint.step
                restarts, begun = (restarts if reached <= begun else 0), max(begun, reached)
                if restarts >= experiment.machine.restarts:
                    raise Stopped(
                        f"{str(error).rstrip('.')}, after {restarts} restarts from one checkpoint (machine.restarts); "
                        f"`assay resume {folder.path}` continues from it."
                    ) from error
                restarts += 1
                memory = _back_to(folder, experiment, checkpoint)
                policy = with_adapter(experiment, load_model(experiment))  # engines have trained the one that they took
                say(f"warning: {str(error).rstrip('.')}. All processes are started again from step {memory.step}.")
            except EndpointError as error:
                goes_on = "continues from the last checkpoint" if folder.store.steps() else "begins the run again"
                how = f"`assay resume {folder.path}` {goes_on}."
                if restarts:
                    raise Stopped(f"{error} {how}") from error
                if type(error) is EndpointError and "assay resume" not in str(error):
                    raise EndpointError(f"{error} {how}") from error
                raise


def _worked(experiment: Experiment, policy: Policy, exams: Exams, shown: Panel) -> Worked | None:
    """The exam with examples; None for a run without it, or whose context they do not fit into."""
    shots = experiment.evaluation.shots
    if not shots or experiment.chat.examples:
        return None
    exam = worked(policy.tokenizer, shots, experiment.pool, exams["test"])
    if (needed := exam.longest + experiment.recipe.scale.max_new) <= policy.config.context:
        return exam
    shown.note(
        f"the exam with {shots} examples is left out: it needs {needed} positions, and the context has "
        f"{policy.config.context}."
    )
    return None


def _back_to(folder: RunFolder, experiment: Experiment, checkpoint: Checkpoint | None) -> Memory:
    """The memory of a checkpoint. The records of later steps are cut off, because these steps are done again."""
    folder.rewind(checkpoint)
    if checkpoint is None:
        return Memory(experiment.seed)
    buffers = checkpoint.tensors(columns.FILE) if columns.FILE in checkpoint.names else {}
    return checkpoint.read("memory.json", lambda data: Memory.of(data, buffers))


def _train(
    folder: RunFolder,
    experiment: Experiment,
    policy: Policy,
    models: Models,
    memory: Memory,
    *,
    quiet: bool,
    shown: Panel | None,
    judge: Grader,
    checkpoint: Any,
    longest: int | None,
) -> None:
    from assay.assemble import assemble
    from assay.host.garbage import few_collections
    from assay.host.interrupt import asking
    from assay.loop import train
    from assay.run.live_report import Page
    from assay.run.lost_verdicts import LostVerdicts
    from assay.run.preflight import warn
    from assay.run.recorder import Recorder, counters_of, exams
    from assay.run.second_look import SecondLook
    from assay.view.report import write_report

    if checkpoint is not None:
        tell_differences(folder, checkpoint, models["policy"].place)
        counters = checkpoint.read("counters.json", counters_of)
        for name, counter in counters.items():
            if name not in models:
                raise StorageError(f"{checkpoint.path} holds a model '{name}', which this recipe does not have.")
            models[name].restore(checkpoint.path, name, counter["version"])
    codec = policy.tokenizer
    micro_tokens = experiment.machine.micro_tokens
    stages = assemble(
        experiment.recipe,
        pool=experiment.pool,
        codec=codec,
        micro_tokens=micro_tokens,
        verdicts=judge.verdicts(experiment.pool),
    )
    total = experiment.recipe.scale.num_steps
    title = f"{experiment.recipe.name} on {' '.join(short(share.task) for share in experiment.pool.shares)}"
    own = panel(total, quiet=quiet, title=title) if shown is None else contextlib.nullcontext(shown)
    with own as shown, StopFlag() as stop, asking(stop.check), few_collections():
        judge.tell(shown.note)
        if longest is not None:
            warn(folder, shown, experiment, policy, models, longest=longest, verify=judge)
        with tracking(experiment.tracking.sinks, series_of(folder, experiment, memory.step), shown.note) as tracker:
            files, examined = policy_files(policy), exams(experiment)
            page = Page(lambda: write_report(folder.path, checked=False), shown.note)
            second = SecondLook(0.0 if experiment.rewards else experiment.evaluation.second_look, shown.note)
            second.remember(folder.read("metrics"))
            lost = LostVerdicts(shown.note)
            recorder = Recorder(
                folder,
                experiment,
                codec,
                files,
                examined,
                shown,
                stop,
                worked=_worked(experiment, policy, examined, shown) if memory.step == 0 else None,
                judge=judge,
                second=second,
                lost=lost,
                page=page,
                track=tracker.log,
            )
            try:
                train(stages, models, memory, recorder)
            except ProcessLost:
                raise
            except (Stopped, DataError, EndpointError) as error:
                recorder.keep()
                if not isinstance(error, Stopped):
                    raise
                raise Stopped(
                    f"{str(error).split(';')[0]}; `assay resume {folder.path}` continues from there."
                ) from error
            finally:
                folder.wait()  # the models that it is a copy of end with this block
                page.now()  # also after a stop or an error
        for failure in folder.failures:
            shown.note(f"warning: {failure}")
