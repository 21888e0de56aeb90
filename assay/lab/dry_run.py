"""`--dry-run`: what a run will use, on one screen; as data everything that decides it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engine.footprint import as_data
from assay.lab.explain import factors_of, shown_stage
from assay.policy.config import parameters
from assay.policy.conversation import Chat
from assay.run import data_needs, session
from assay.run.bases import BASES, folder_of, locate
from assay.run.configure import to_data
from assay.run.context_fit import check_lengths
from assay.run.experiment import Experiment
from assay.run.memory_plan import Plan, shape_of
from assay.scale import Scale
from assay.tasks import short

if TYPE_CHECKING:
    from assay.policy import PolicyConfig, Tokenizer

WIDTH, LABEL = 120, 12
MOST = 40  # lines
WRAPPED = 3  # of one sentence
NOTES, RULES = 6, 12  # lines of what is said of the data, and of the rules of the profile
AS_DATA = "--json has all of it"


@dataclass(frozen=True)
class Files:
    """Of a model that is here, what can be read without its weights."""

    tokenizer: Tokenizer
    config: PolicyConfig


@dataclass(frozen=True)
class Planned:
    """A run as it would begin."""

    experiment: Experiment
    notes: Sequence[str]  # of the data and of lengths
    rules: Sequence[str]  # by which the paper's scale became this one
    memory: Plan | None


def planned(experiment: Experiment, rules: Sequence[str]) -> Planned:
    """Reads the data, and of the model its tokenizer and shape where they are here; refuses what the run would refuse,
    but for memory, which is told.
    """
    notes = data_needs.told(experiment.pool, experiment.chat)
    memory = None
    try:
        if (files := files_of(experiment)) is not None:
            experiment, _, lines = check_lengths(experiment, files)
            notes += lines
        memory = session.memory_of(experiment)
    except ImportError:  # without torch and the tokenizers there is a plan too
        pass
    return Planned(experiment, notes, rules, memory)


def files_of(experiment: Experiment) -> Files | None:
    """Of a folder, a run, or a base that is built; None of a model from elsewhere, and of another architecture."""
    from assay.policy import load_tokenizer

    shape, place = shape_of(experiment.model), Path(experiment.model)
    if not place.exists() and experiment.model in BASES:
        place = folder_of(BASES[experiment.model])
    if shape is None or not place.is_dir():
        return None
    tokenizer = load_tokenizer(Path(locate(str(place))))
    chat = experiment.chat
    return Files(tokenizer if chat == Chat() else tokenizer.speaking(chat), shape)


def document(plan: Planned) -> dict[str, Any]:
    """The experiment, and beside it what was found out."""
    memory = None if plan.memory is None else {**as_data(plan.memory.budget), "room_bytes": plan.memory.room.bytes}
    return {**to_data(plan.experiment), "notes": list(plan.notes), "rules": list(plan.rules), "memory": memory}


def text(plan: Planned, *, run: str) -> str:
    """No more than `MOST` lines of `WIDTH` characters."""
    experiment, recipe = plan.experiment, plan.experiment.recipe
    rows: dict[str, Iterable[str]] = {
        "method": [f"{recipe.name}: {recipe.title} ({recipe.paper})"],
        "model": [_model(experiment)],
        "problems": _problems(experiment, plan.notes),
        "asked with": _asked_with(experiment.chat),
        "judged by": [", ".join(experiment.rewards) or "the checkers of the tasks; rows of files as mathematics"],
        "loss": [_loss(experiment)],
        "stages": _stages(experiment),
        "a step": [_step(recipe.scale)],
        "optimiser": [_optimiser(recipe.scale)],
        "length": [_length(experiment)],
        "exams": [_exams(experiment)],
        "kept": [_kept(experiment, run)],
        "machine": [_machine(experiment)],
        "memory": plan.memory.lines() if plan.memory else ["not known before the model is"],
        "profile": _few([f"{experiment.profile}: {plan.rules[0]}", *plan.rules[1:]] if plan.rules else [], RULES),
    }
    lines = [line for label, said in rows.items() for line in _row(label, said)]
    if len(lines) > MOST:
        lines = [*lines[: MOST - 1], f"{'':{LABEL}}... {len(lines) - MOST + 1} lines more: {AS_DATA}"]
    return "\n".join(lines)


def _row(label: str, said: Iterable[str]) -> list[str]:
    """The sentences below each other behind the label, each on a few lines at most."""
    lines = [
        line
        for sentence in said
        for line in textwrap.wrap(sentence, WIDTH - LABEL, max_lines=WRAPPED, placeholder=" ...")
    ]
    return [f"{'' if place else label:<{LABEL}}{line}" for place, line in enumerate(lines)]


def _few(lines: Sequence[str], most: int) -> list[str]:
    shown = [textwrap.shorten(line, WIDTH - LABEL, placeholder=" ...") for line in lines[:most]]
    return [*shown, f"... {len(lines) - most} more: {AS_DATA}"] if len(lines) > most else shown


def _model(experiment: Experiment) -> str:
    shape = shape_of(experiment.model)
    size = "not read before the run" if shape is None else f"{parameters(shape) / 1e6:,.1f} million parameters"
    context = "" if shape is None else f", {shape.context} positions"
    lora = experiment.lora
    trained = f"adapters of rank {lora.rank} train" if lora.rank else "all weights train"
    return f"{experiment.model}: {size}{context}; {trained}"


def _problems(experiment: Experiment, notes: Sequence[str]) -> list[str]:
    shares = [share for share in experiment.pool.shares if share.task not in data_needs.files(experiment.pool)]
    weights = len(experiment.pool.shares) > 1
    told = [
        f"{short(share.task)}, levels {', '.join(map(str, share.levels))}" + (f", weight {share.weight:g}" * weights)
        for share in shares
    ]
    return [*([f"{'; '.join(told)}; {experiment.pool.wording} wording"] if told else []), *_few(notes, NOTES)]


def _asked_with(chat: Chat) -> list[str]:
    said = [f"system: {chat.system!r}"] if chat.system else []
    said += [f"thinking {chat.thinking}"] if chat.thinking != "template" else []
    said += [f"{len(chat.schemas or ())} tools"] if chat.tools else []
    return ["; ".join([*said, *chat.variables])] if said or chat.variables else []


def _loss(experiment: Experiment) -> str:
    mechanism = shown_stage(experiment.recipe)[1]
    found = {name: " + ".join(factor.title for factor in factors) for name, factors in factors_of(mechanism).items()}
    return "; ".join(f"{name} {titles}" for name, titles in found.items() if titles)


def _stages(experiment: Experiment) -> list[str]:
    stages = experiment.recipe.stages
    return [", ".join(f"{stage.name} {stage.share:.0%}" for stage in stages)] if len(stages) > 1 else []


def _step(scale: Scale) -> str:
    filters = [f"{name} {getattr(scale, name):g}" for name, none in FILTERS.items() if getattr(scale, name) != none]
    sampled = ", ".join([f"temperature {scale.temperature:g}", *filters])
    rounds = f", {scale.oversample} times as many prompts a round" if scale.oversample > 1 else ""
    return (
        f"{scale.num_prompts} prompts x {scale.group_size} answers of up to {scale.max_new} tokens, {sampled}{rounds}; "
        f"{scale.num_updates} update{'s' * (scale.num_updates > 1)}"
    )


FILTERS = {"top_p": 1.0, "top_k": 0, "min_p": 0.0}


def _optimiser(scale: Scale) -> str:
    warm = f" after {scale.warmup_steps} of warm-up" if scale.warmup_steps else ""
    clip = "" if scale.clip_norm is None else f", gradient norm clipped at {scale.clip_norm:g}"
    decay = f", weight decay {scale.weight_decay:g}" if scale.weight_decay else ""
    return f"AdamW {scale.beta1:g} {scale.beta2:g}, rate {scale.learning_rate:g} {scale.schedule}{warm}{decay}{clip}"


def _length(experiment: Experiment) -> str:
    scale = experiment.recipe.scale
    told = f"{scale.num_steps} steps, seed {experiment.seed}"
    if not experiment.pool.finite:
        return told
    rows = len(experiment.pool.rows("train"))
    epochs = scale.num_steps * scale.num_prompts / rows
    return f"{told}; {epochs:,.{0 if epochs >= 10 else 1}f} epochs of {rows} rows, if no step draws again"


def _exams(experiment: Experiment) -> str:
    plan = experiment.evaluation
    told = f"before and after: {plan.final_problems} problems x {plan.final_samples} samples"
    every = f"; every {plan.every} steps: {plan.num_problems} x {plan.num_samples}" if plan.every else ""
    return f"{told}{every}; temperature {plan.temperature:g}"


def _kept(experiment: Experiment, run: str) -> str:
    saving, sinks = experiment.saving, experiment.tracking.sinks
    told = f"{run}; a checkpoint every {saving.every} steps, {saving.keep} of them and the best stay"
    return told + (f"; told to {', '.join(sinks)}" if sinks else "")


def _machine(experiment: Experiment) -> str:
    machine = experiment.machine
    try:
        device = session.device_of(machine.device)
    except ImportError:
        device = machine.device
    return (
        f"{device}, engine {machine.engine}, precision {machine.precision}, threads {machine.threads or 'all'}; "
        f"micro_tokens {machine.micro_tokens}, cache_mb {machine.cache_mb}"
    )
