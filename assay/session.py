"""Runs: from a configuration to a trained model in a folder that explains itself, and on again after any stop."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay import run_data
from assay.configure import from_data, override, to_data
from assay.engine.memory import as_data
from assay.errors import ConfigError, Stopped, UsageError, unknown
from assay.experiment import Experiment, Machine, check
from assay.judging import Judging, absolute, changes, check_functions, judging_of, scored_by, sources
from assay.lengths import asked_of, check_lengths, longest_solution
from assay.memory import Memory
from assay.models import Models
from assay.policy.conversation import Chat, resolved
from assay.recipe import Profile, Recipe, Wish, at_profile
from assay.record.checkpoint import Checkpoint
from assay.record.folder import RunFolder, require_vacant
from assay.record.panel import panel
from assay.record.signals import StopFlag
from assay.record.sinks import require as require_packages
from assay.record.sinks import series_of, tracking
from assay.resources import Plan, advice, choose_profile, plan_memory, require_memory, shape_of
from assay.rng import Key
from assay.source import Pool, check_pool
from assay.tasks import short

if TYPE_CHECKING:
    from assay.policy import Policy

Functions = Mapping[str, Callable[..., Any]]
IDENTITY = ("model", "pool", "seed", "profile")
SHORT = ("scale", "mechanism", "models", "roles", "stages")  # written without the `recipe.` before them


def plan(
    recipe: Recipe,
    *,
    model: str,
    pool: Pool,
    profile: Wish = "auto",
    seed: int = 0,
    steps: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    rewards: Sequence[str] = (),
    right_from: float = 1.0,
) -> tuple[Experiment, list[str]]:
    """The experiment that these wishes mean, and the rules by which the paper's scale became this one."""
    profile, reasons = (profile, []) if profile != "auto" else _chosen(model)
    recipe, rules = at_profile(scored_by(recipe, rewards) if rewards else recipe, profile)
    rules = [*reasons, *rules]
    if Path(model).is_dir():
        model = str(Path(model).resolve())  # a run is resumed from anywhere
    judged = {"rewards": absolute(rewards), "right_from": right_from}
    experiment = Experiment(recipe, model, pool, seed=seed, profile=profile, **judged)
    asked = {_full(path): value for path, value in (overrides or {}).items()}
    for path in [path for path in asked if path.startswith("pool.")]:
        experiment = override(experiment, path, asked.pop(path))
    check_pool(experiment.pool)
    if "recipe.scale.max_new" not in asked and experiment.pool.wording == "compact":
        longest = longest_solution(asked_of(experiment.recipe, experiment.pool))
        recipe, rules = at_profile(experiment.recipe, "paper", max_new=longest)[0], rules
        rules = [
            *rules,
            f"max_new: {experiment.recipe.scale.max_new} -> {longest} (half as long again as solutions are)",
        ]
        experiment = dataclasses.replace(experiment, recipe=recipe)
    for path, value in asked.items():
        experiment = override(experiment, path, value)
    if steps is not None:
        experiment = override(experiment, "recipe.scale.num_steps", steps)
    experiment = dataclasses.replace(experiment, chat=resolved(experiment.chat))
    check(experiment)
    if not experiment.rewards:
        run_data.require_answers(experiment.pool)
    experiment, fewer = run_data.at_most_rows(experiment)
    return experiment, [*rules, *fewer]


def _chosen(model: str) -> tuple[Profile, list[str]]:
    profile, reason = choose_profile(model)
    return profile, [reason]


def _full(path: str) -> str:
    """`scale.x` and `mechanism.x` are short for `recipe.scale.x` and `recipe.mechanism.x`."""
    path = path.replace("-", "_")
    head = path.split(".")[0]
    names = (*SHORT, *(field.name for field in dataclasses.fields(Experiment)))
    if head not in names:
        raise unknown("setting", head, names, "assay show RECIPE")
    return f"recipe.{path}" if head in SHORT else path


def start(
    experiment: Experiment,
    path: Path,
    *,
    command: str = "",
    quiet: bool = False,
    extra: Mapping[str, Any] | None = None,
    functions: Functions | None = None,
) -> Path:
    """Trains in a new run folder. `functions` are reward functions that this program has, by name."""
    from assay.policy import fingerprint

    check(experiment)
    require_vacant(path)
    require_packages(experiment.tracking.sinks)
    judge = judging_of(experiment, functions)
    check_functions(judge, experiment.pool)
    for line in run_data.told(experiment.pool):
        say(f"  {line}")
    memory = memory_of(experiment)  # before anything is loaded, where the shape is known
    if memory is not None:
        require_memory(memory)
    policy = load_model(experiment)
    experiment, longest, lines = check_lengths(experiment, policy)
    for line in lines:
        say(f"  {line}")
    identity = {name: to_data(getattr(experiment, name)) for name in IDENTITY}
    identity |= {"recipe": experiment.recipe.name, "weights": fingerprint(policy)}
    identity |= run_data.identity(experiment.pool)
    document = {
        "command": command,
        "python": f"assay.resume({str(path)!r})",
        "recipe": experiment.recipe.name,
        "task": [short(share.task) for share in experiment.pool.shares],
        "experiment": to_data(experiment),
        "rewards": sources(judge),
        "memory": None if memory is None else as_data(memory.budget),
        **(extra or {}),
    }
    folder = RunFolder.create(path, identity=identity, document=document, keep=experiment.saving.keep)
    with folder:
        _run(folder, experiment, policy, Memory(experiment.seed), quiet=quiet, judge=judge, longest=longest)
    return path


def memory_of(experiment: Experiment) -> Plan | None:
    """The memory that a run will need; None for a model whose shape is not known here."""
    shape = shape_of(experiment.model)
    return None if shape is None else plan_memory(experiment, shape, device=device_of(experiment.machine.device))


def tell_memory(experiment: Experiment) -> None:
    """The budget of a run, to a person; nothing where torch or the model is not here."""
    try:
        plan = memory_of(experiment)
    except ImportError:
        return
    for line in [] if plan is None else plan.lines():
        say(line)
    if plan is not None and not plan.fits:
        say(f"warning: this run would be refused here. {advice(plan)}")


def resume(
    path: Path | str, *, steps: int | None = None, quiet: bool = False, functions: Functions | None = None
) -> Path:
    """Continues from the last checkpoint; `steps` extends a run that is finished."""
    from assay.policy import fingerprint

    with RunFolder.open(path) as folder:
        experiment = from_data(Experiment, folder.document["experiment"])
        if steps is not None:
            experiment = override(experiment, "recipe.scale.num_steps", steps)
        check(experiment)
        device_of(experiment.machine.device)
        run_data.require_unchanged(experiment.pool, folder.document["identity"])
        judge = judging_of(experiment, functions)
        for change in changes(judge, folder.document.get("rewards", {})):
            say(f"warning: {change}")
        policy = load_model(experiment)
        if (found := fingerprint(policy)) != folder.document["identity"]["weights"]:
            raise ConfigError(
                f"the model {experiment.model} has changed since {path} began: its weights were "
                f"{folder.document['identity']['weights']}, now {found}. Put the old model back, or start a new run."
            )
        checkpoint = folder.load()
        if checkpoint is not None and steps is not None and steps < checkpoint.step:
            raise UsageError(f"{path} has done {checkpoint.step} steps already; --steps {steps} is behind it.")
        if checkpoint is not None and checkpoint.step >= experiment.recipe.scale.num_steps:
            say(f"all {checkpoint.step} steps of {path} are done; --steps N extends the run to N.")
        if steps is not None:
            folder.amend(experiment=to_data(experiment))
        folder.rewind(checkpoint)
        memory = Memory(experiment.seed)
        if checkpoint is not None:
            memory = Memory.from_data(checkpoint.document("memory.json"))
        _run(folder, experiment, policy, memory, quiet=quiet, judge=judge, checkpoint=checkpoint)
    return Path(path)


def tell_differences(checkpoint: Checkpoint, place: str) -> None:
    """What a person should know before a run goes on."""
    for sentence in checkpoint.rejected:
        say(f"warning: {sentence}")
    for change in checkpoint.environment_changes(place):
        say(f"warning: {change}; the resumed run is no longer promised to be the same bit for bit")


def _run(
    folder: RunFolder,
    experiment: Experiment,
    policy: Policy,
    memory: Memory,
    *,
    quiet: bool,
    judge: Judging,
    checkpoint: Any = None,
    longest: int | None = None,
) -> None:
    """`longest`: tokens of the longest prompt, of a run that is new."""
    from assay.engine.choose import processor_of

    set_threads(experiment.machine)
    policy = with_adapter(experiment, policy)
    models = build_models(experiment, policy)
    with processor_of(models["policy"]), judge:
        rest = {"quiet": quiet, "judge": judge, "checkpoint": checkpoint, "longest": longest}
        _train(folder, experiment, policy, models, memory, **rest)


def _train(
    folder: RunFolder,
    experiment: Experiment,
    policy: Policy,
    models: Models,
    memory: Memory,
    *,
    quiet: bool,
    judge: Judging,
    checkpoint: Any,
    longest: int | None,
) -> None:
    from assay.assemble import assemble
    from assay.engine.interrupt import asking
    from assay.loop import train
    from assay.preflight import warn
    from assay.record.recorder import Recorder, exams

    if checkpoint is not None:
        tell_differences(checkpoint, models["policy"].place)
        counters = checkpoint.document("counters.json")
        for name, counter in counters.items():
            weights = checkpoint.tensors(f"{name}/{models[name].weights_file}", framework="torch")
            moments = checkpoint.tensors(f"optimiser/{name}.safetensors", framework="torch")
            state = {f"parameter/{key}": value for key, value in weights.items()}
            models[name].load(state | {f"optimiser/{key}": value for key, value in moments.items()} | counter)
    codec = policy.tokenizer
    micro_tokens = experiment.machine.micro_tokens
    stages = assemble(experiment.recipe, pool=experiment.pool, codec=codec, micro_tokens=micro_tokens, verify=judge)
    total = experiment.recipe.scale.num_steps
    title = f"{experiment.recipe.name} on {' '.join(short(share.task) for share in experiment.pool.shares)}"
    with panel(total, quiet=quiet, title=title) as shown, StopFlag() as stop, asking(stop.check):
        judge.tell(shown.note)
        if longest is not None:
            warn(folder, shown, experiment, policy, models, longest=longest, verify=judge)
        with tracking(experiment.tracking.sinks, series_of(folder, experiment, memory.step), shown.note) as tracker:
            files, examined = _policy_files(policy), exams(experiment)
            recorder = Recorder(folder, experiment, codec, files, examined, shown, stop, judge, tracker.log)
            try:
                train(stages, models, memory, recorder)
            except Stopped as error:
                raise Stopped(
                    f"{str(error).split(';')[0]}; `assay resume {folder.path}` goes on where it is."
                ) from error
        for failure in folder.failures:
            shown.note(f"warning: {failure}")


def load_model(experiment: Experiment) -> Policy:
    """A base by name (built on first use), a folder, or a Hub id."""
    from assay.bases import locate
    from assay.policy import load_policy

    policy = load_policy(locate(experiment.model))
    if experiment.chat == Chat():
        return policy
    return dataclasses.replace(policy, tokenizer=policy.tokenizer.speaking(experiment.chat))


def with_adapter(experiment: Experiment, policy: Policy) -> Policy:
    """The policy with the adapter that the run asks for, or with the one that its model has already."""
    has = policy.transformer.lora
    if not experiment.lora.rank:
        return policy
    if has is not None:
        raise ConfigError(
            f"{experiment.model} is an adapter of rank {has.rank} already. Leave --lora out to train it further, or "
            f"make it a model first: `assay export {experiment.model} FOLDER --merge`."
        )
    from assay.bases import locate
    from assay.policy.adapter_folder import put_on

    key = Key(experiment.seed)("lora")
    return put_on(policy, experiment.lora, place=locate(experiment.model), key=key)


def build_models(experiment: Experiment, policy: Policy) -> Models:
    """An engine for each parameter set of the recipe, and the frozen reference where the objective asks for one."""
    from assay.engine.choose import engine_of
    from assay.engine.optimiser import AdamW
    from assay.engine.value_engine import ValueEngine
    from assay.policy.adapted import twin
    from assay.policy.transformer import Transformer

    scale, machine, recipe = experiment.recipe.scale, experiment.machine, experiment.recipe
    device = device_of(machine.device)
    choice = engine_of(policy.transformer, machine.engine, device, machine.precision)
    if machine.engine == "auto" and device == "cpu" and choice.reason:
        slower = ", one and a half times slower than with the core" if choice.refused else ""
        say(f"this run computes with torch{slower}: {choice.reason}")
    settings = {
        "end_ids": policy.end_ids,
        "decode": policy.tokenizer.decode,
        "device": device,
        "precision": machine.precision,
        "memory_bytes": machine.cache_mb << 20,
        "checkpointing": machine.checkpointing,
    }
    betas = (scale.beta1, scale.beta2)
    optimiser = AdamW(betas=betas, weight_decay=scale.weight_decay, bits=machine.optimiser_bits)
    wanted = {name: model.trained for name, model in recipe.models.items()}
    if any("ref" in mechanism.objective.wants for mechanism in recipe.mechanisms):
        wanted["reference"] = False
    values = {name for name, model in recipe.models.items() if model.output == "value"}
    if values and machine.engine == "native":
        say(f"{', '.join(sorted(values))}: values are computed with torch; the core computes everything else")
    if values and not isinstance(policy.transformer, Transformer):
        raise ConfigError(
            f"{recipe.name} has a critic, which must be of the families llama, qwen2 or qwen3; {experiment.model} is "
            f"of {policy.config.family}. Take a recipe without a critic."
        )
    *others, last = wanted  # the last one takes the weights that were loaded, and is no copy
    networks = {name: twin(policy.transformer) for name in others} | {last: policy.transformer}
    engines = {
        name: (ValueEngine if name in values else choice.engine)(
            networks.pop(name), optimiser=optimiser if trained else None, **settings
        )
        for name, trained in wanted.items()
    }
    again = any(stage.start == "base" for stage in recipe.stages)
    starts = {name: engines[name].state() for name, model in recipe.models.items() if again and model.saved}
    return Models(engines, recipe.roles, recipe.models, starts)


def _policy_files(policy: Policy) -> dict[str, bytes]:
    """Everything of the Hugging Face layout, or of PEFT's, but the weights, under `policy/`."""
    from assay.policy.adapter_folder import adapter_files
    from assay.policy.checkpoint import model_files

    made = model_files(policy) if policy.transformer.lora is None else adapter_files(policy)
    return {f"policy/{name}": content for name, content in made.items()}


def device_of(name: str) -> str:
    """`auto` is the GPU that torch sees, else the processor; a device that is not there is refused."""
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        return "cuda" if gpus else "cpu"
    there = ["cpu", *(["cuda", *(f"cuda:{i}" for i in range(gpus))] if gpus else [])]
    there += ["mps"] if torch.backends.mps.is_available() else []
    if name not in there:
        raise ConfigError(
            f"machine.device is '{name}', and torch sees {', '.join(there)} here. Take one of them or 'auto'; "
            "`assay doctor` says what a GPU would need."
        )
    return name


def set_threads(machine: Machine) -> None:
    import torch

    if machine.threads:
        torch.set_num_threads(machine.threads)


def free_folder(root: Path, name: str) -> Path:
    """`root/name-1`, or the first number that is not taken."""
    number = 1
    while (root / f"{name}-{number}").exists():
        number += 1
    return root / f"{name}-{number}"


def say(text: str) -> None:
    """To a person, never to the program that reads standard output."""
    sys.stderr.write(text + "\n")
