"""`--dry-run`: the settings of a run on one screen for a person, and all of them as JSON data for a program."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.engine.footprint import WIDE, as_data, gib
from assay.lab.explain import factors_of, shown_stage
from assay.policy.conversation import Chat
from assay.record.folder import Numbered
from assay.run import data_needs, session
from assay.run.before_weights import prepare
from assay.run.configure import to_data
from assay.run.experiment import Experiment
from assay.run.external_needs import judged_by
from assay.run.memory_plan import Plan
from assay.run.named_model import kind_of_model
from assay.run.told_worlds import lines_of_worlds
from assay.scale import Scale
from assay.tasks import short
from assay.verifiers.judges.endpoint import MODEL, URL

WIDTH, LABEL = 120, 12
MOST = 40  # lines in all
WRAPPED = 3  # lines of one sentence
NOTES, RULES = 6, 12  # lines about the data, and about numbers that differ from the paper's
AS_DATA = "--json shows all of it"


@dataclass(frozen=True)
class Planned:
    """A run as it would begin.

    experiment, rules = session.planned(setup)
    print(text(planned(experiment, rules, Path("runs/first")), run="runs/first"))
    """

    experiment: Experiment
    notes: Sequence[str]  # sentences about the data files and about lengths
    rules: Sequence[str]  # a line for each number that differs from the paper's
    memory: Plan | None
    size: int  # parameters of the model
    context: int  # its positions


def planned(experiment: Experiment, rules: Sequence[str], place: Path | Numbered) -> Planned:
    """The run up to the weights of its model. Refuses what the run would refuse, but for too little memory, which
    `require_memory` refuses when the plan has been shown.
    """
    prepared = prepare(experiment, place)
    with prepared.grader:
        model, notes = prepared.model, [*prepared.notes, *prepared.doubts]
        size = model.size(adapter=False)
        return Planned(prepared.experiment, notes, rules, prepared.memory, size, model.config.context)


def document(plan: Planned) -> dict[str, Any]:
    """The plan as JSON data: the experiment, with notes, rules, what is said of worlds, and memory."""
    memory = None if plan.memory is None else {**as_data(plan.memory.budget), "room_bytes": plan.memory.room.bytes}
    told_of = {"notes": list(plan.notes), "rules": list(plan.rules), "worlds": _worlds(plan.experiment)}
    return {**to_data(plan.experiment), **told_of, "memory": memory}


def text(plan: Planned, *, run: str) -> str:
    """The plan for a person, in at most `MOST` lines of `WIDTH` characters."""
    experiment, recipe = plan.experiment, plan.experiment.recipe
    rows: dict[str, Iterable[str]] = {
        "method": [f"{recipe.name}: {recipe.title} ({recipe.paper})"],
        "model": [_model(plan)],
        "problems": _problems(experiment, plan.notes),
        "asked with": _asked_with(experiment.chat),
        "judged by": _rewarded_by(experiment),
        "loss": [_loss(experiment)],
        "stages": _stages(experiment),
        "a step": [_step(recipe.scale)],
        "optimiser": [_optimiser(recipe.scale)],
        "worlds": _worlds(experiment),
        "length": [_length(experiment)],
        "evaluation": [_evaluation(experiment)],
        "saved": [_saved(experiment, run)],
        "machine": [_machine(experiment)],
        "memory": plan.memory.lines() if plan.memory else [_unplanned(plan)],
        "profile": _few([f"{experiment.profile}: {plan.rules[0]}", *plan.rules[1:]] if plan.rules else [], RULES),
    }
    lines = [line for label, sentences in rows.items() for line in _row(label, sentences)]
    if len(lines) > MOST:
        lines = [*lines[: MOST - 1], f"{'':{LABEL}}... {len(lines) - MOST + 1} lines more: {AS_DATA}"]
    return "\n".join(lines)


def _unplanned(plan: Planned) -> str:
    """What is known of the memory of a model whose allocations nobody counts."""
    kind = kind_of_model(plan.experiment.model)
    if kind is None or kind.can("texts"):
        return "not known before the model is loaded"
    held = gib(4 * WIDE * plan.size)  # weights, gradients and two moments
    return (
        f"not planned for a policy of the kind {kind.name}, and no run of it is refused for memory: weights, gradients "
        f"and moments take {held}, a batch and its activations come on top"
    )


def _worlds(experiment: Experiment) -> list[str]:
    return lines_of_worlds(
        [share.task for share in experiment.pool.shares], experiment.recipe.scale, experiment.machine
    )


def _row(label: str, sentences: Iterable[str]) -> list[str]:
    """The label, and to the right of it the sentences, each on at most `WRAPPED` lines."""
    lines = [
        line
        for sentence in sentences
        for line in textwrap.wrap(sentence, WIDTH - LABEL, max_lines=WRAPPED, placeholder=" ...")
    ]
    return [f"{'' if place else label:<{LABEL}}{line}" for place, line in enumerate(lines)]


def _few(lines: Sequence[str], most: int) -> list[str]:
    shown = [textwrap.shorten(line, WIDTH - LABEL, placeholder=" ...") for line in lines[:most]]
    return [*shown, f"... {len(lines) - most} more: {AS_DATA}"] if len(lines) > most else shown


def _model(plan: Planned) -> str:
    experiment = plan.experiment
    size = f"{plan.size / 1e6:,.1f} million parameters, {plan.context} positions"
    lora = experiment.lora
    trained = f"adapters of rank {lora.rank} are trained" if lora.rank else "all weights are trained"
    return f"{experiment.model}: {size}; {trained}"


def _problems(experiment: Experiment, notes: Sequence[str]) -> list[str]:
    shares = [share for share in experiment.pool.shares if share.task not in data_needs.files(experiment.pool)]
    weights = len(experiment.pool.shares) > 1
    tasks = [
        f"{short(share.task)}, levels {', '.join(map(str, share.levels))}" + (f", weight {share.weight:g}" * weights)
        for share in shares
    ]
    return [*([f"{'; '.join(tasks)}; {experiment.pool.wording} wording"] if tasks else []), *_few(notes, NOTES)]


def _rewarded_by(experiment: Experiment) -> list[str]:
    """The sources of rewards, as lines. A judge is named with its address, or, where no row
    needs it before the run begins, with the variables to set.
    """
    lines = [", ".join(experiment.rewards) or "the verifiers of the tasks; rows of files as mathematics"]
    for name, reward in judged_by(experiment.recipe).items():
        url, model = (getattr(reward.endpoint, one) or os.environ.get(variable, "") for one, variable in JUDGE.items())
        where = f"{model} at {url}" if url and model else f"not known yet: set {' and '.join(JUDGE.values())}"
        lines.append(f"and a judge ({name}), {where}")
    return lines


def _asked_with(chat: Chat) -> list[str]:
    options = [f"system: {chat.system!r}"] if chat.system else []
    options += [f"thinking {chat.thinking}"] if chat.thinking != "template" else []
    options += [f"{len(chat.schemas or ())} tools"] if chat.tools else []
    options += chat.variables
    options += ["plain text, without the chat template"] if chat.template == "none" else []
    options += [f"{len(chat.worked)} examples before each question"] if chat.examples else []
    options += [f"an answer ends at {' or '.join(map(repr, chat.stop))}"] if chat.stop else []
    return ["; ".join(options)] if options else []


def _loss(experiment: Experiment) -> str:
    mechanism = shown_stage(experiment.recipe)[1]
    titles = {name: " + ".join(factor.title for factor in factors) for name, factors in factors_of(mechanism).items()}
    return "; ".join(f"{name} {title}" for name, title in titles.items() if title)


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


JUDGE = {"url": URL, "model": MODEL}  # field of an endpoint -> the environment variable in its place
FILTERS = {"top_p": 1.0, "top_k": 0, "min_p": 0.0}


def _optimiser(scale: Scale) -> str:
    warm = f" after {scale.warmup_steps} of warm-up" if scale.warmup_steps else ""
    clip = "" if scale.clip_norm is None else f", gradient norm clipped at {scale.clip_norm:g}"
    decay = f", weight decay {scale.weight_decay:g}" if scale.weight_decay else ""
    return f"AdamW {scale.beta1:g} {scale.beta2:g}, rate {scale.learning_rate:g} {scale.schedule}{warm}{decay}{clip}"


def _length(experiment: Experiment) -> str:
    scale = experiment.recipe.scale
    steps = f"{scale.num_steps} steps, seed {experiment.seed}"
    if not experiment.pool.finite:
        return steps
    rows = len(experiment.pool.rows("train"))
    epochs = scale.num_steps * scale.num_prompts / rows
    return f"{steps}; {epochs:,.{0 if epochs >= 10 else 1}f} epochs of {rows} rows, if no step draws more prompts"


def _evaluation(experiment: Experiment) -> str:
    plan = experiment.evaluation
    final = f"before and after: {plan.final_problems} problems x {plan.final_samples} samples"
    every = f"; every {plan.every} steps: {plan.num_problems} x {plan.num_samples}" if plan.every else ""
    return f"{final}{every}; temperature {plan.temperature:g}"


def _saved(experiment: Experiment, run: str) -> str:
    saving, sinks = experiment.saving, experiment.tracking.sinks
    saved = f"{run}; a checkpoint every {saving.every} steps, the last {saving.keep} and the best are kept"
    return saved + (f"; tracked by {', '.join(sinks)}" if sinks else "")


def _machine(experiment: Experiment) -> str:
    machine = experiment.machine
    try:
        device = session.device_of(machine.device)
    except ImportError:
        device = machine.device
    return (
        f"{device}, engine {machine.engine}, precision {machine.precision}, kernels {machine.kernels}, "
        f"threads {machine.threads or 'all'}; micro_tokens {machine.micro_tokens}, cache_mb {machine.cache_mb}"
    )
