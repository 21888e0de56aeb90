"""`assay plan`: a recipe's work on a model, its placements, and how well the numbers are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.errors import ConfigError, UsageError
from assay.planner.doubt import Doubt, doubts
from assay.planner.machines import GPUS, Constant, Gpu, gpu
from assay.planner.plan import WAYS, WORTH, Estimate, Situation, Work, as_data, estimates, publish_seconds
from assay.planner.shapes import shape
from assay.policy.config import PolicyConfig, parameters
from assay.recipe import Recipe
from assay.run.told_worlds import lines_of_worlds, seats_of
from assay.source import Share

ARGUMENTS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (
        ("recipe",),
        {
            "nargs": "?",
            "metavar": "RECIPE",
            "help": "a name of `assay list recipes`; --scale.* changes its numbers; default: that of --config",
        },
    ),
    (
        ("--model",),
        {"help": "a folder, a base, or a model of the Hub whose shape is known here; default: that of --config"},
    ),
    (("--gpus",), {"type": int, "default": 16, "help": "how many GPUs there are; default 16"}),
    (("--gpu",), {"default": "h100", "help": f"their kind: {', '.join(GPUS)}; default h100"}),
    (("--prompt-tokens",), {"type": int, "default": 512, "help": "tokens of a prompt; default 512"}),
    (
        ("--answer-tokens",),
        {"type": int, "help": "tokens of an answer in the mean; default a quarter of scale.max-new"},
    ),
    (
        ("--reply-tokens",),
        {
            "type": int,
            "help": "tokens of a world's replies in an answer, in the mean; default a quarter of scale.max-replies",
        },
    ),
    (
        ("--task",),
        {
            "action": "append",
            "metavar": "NAME",
            "help": "a task whose world replies; default: that of --config, or none",
        },
    ),
]
BEYOND = 100e9  # parameters of a model, beyond which the formulas are untried
MEMORY = {"weights", "gradients", "moments", "whole layers", "activations", "output layer", "keys and values"}


def outlook_of(
    recipe_name: str,
    model_name: str,
    *,
    gpus: int,
    gpu_name: str,
    prompt: int,
    answer: int | None,
    settings: Mapping[str, Any],
    replies: int | None = None,
    tasks: Sequence[str] = (),
) -> tuple[dict[str, Any], str]:
    """(the plan as JSON data, the plan as text): what a recipe needs and takes on so many GPUs."""
    if not recipe_name or not model_name:
        missing = "RECIPE" if not recipe_name else "--model"
        raise UsageError(f"a plan needs a recipe and a model; {missing} is missing: name it, or a --config with it.")
    recipe, machine = _recipe(recipe_name, settings)
    if gpus < 1:
        raise ConfigError(f"--gpus is {gpus}: at least 2, for learners and servers.")
    model, kind = shape(model_name), gpu(gpu_name)
    named = [Share.parse(text).task for text in tasks]
    work = work_of(recipe, machine, prompt=prompt, answer=answer, replies=replies, seats=seats_of(named))
    situation = Situation(model, work, kind, gpus)
    cautions = cautions_of(model, work, kind)
    options = estimates(situation)
    best = options[0]
    following = next((option for option in options[1:] if _where(option) != _where(best)), None)
    lags = [option for option in options if _where(option) == _where(best)]
    plain = next((option for option in lags if option.placement.lag == 0), None)
    unsure = [] if following is None else doubts(situation, best, following)
    document = {
        "recipe": recipe.name,
        "model": model_name,
        "parameters": parameters(model),
        "gpus": gpus,
        "gpu": kind.name,
        "answers": work.answers,
        "worlds": lines_of_worlds(named, recipe.scale, machine),
        "best": as_data(situation, best),
        "next": None if following is None else as_data(situation, following),
        "next_is_better_if": {doubt.name: doubt.value for doubt in unsure},
        "publish_by": {way: publish_seconds(situation, best.placement.servers, way) for way in WAYS},
        "without_lag": None if plain is None else as_data(situation, plain),
        "lags": [
            {"lag": option.placement.lag, "step": option.step, "age": option.loop.age}
            for option in sorted(lags, key=lambda option: option.placement.lag)
        ],
        "constants": {
            name: {"value": constant.value, "source": constant.source, "says": constant.says, "known": constant.known}
            for name, constant in situation.constants.items()
        },
        "cautions": cautions,
    }
    return document, text(document, situation, best, following, unsure, lags)


def _where(made: Estimate) -> tuple[int, int, int]:
    return made.placement.learners, made.placement.servers, made.placement.tensor


def _recipe(name: str, overrides: Mapping[str, Any]) -> tuple[Recipe, Any]:
    """The recipe with the settings of the command line, and its machine."""
    from assay.known import recipe
    from assay.run import settings
    from assay.run.configure import override
    from assay.run.experiment import Experiment
    from assay.source import Pool, Share

    experiment = Experiment(recipe(name), "", Pool((Share("countdown", (3,)),)))
    for path, value in settings.asked(experiment.recipe, overrides, steps=None, system=None).items():
        experiment = override(experiment, path, value)
    return experiment.recipe, experiment.machine


def work_of(
    recipe: Recipe, machine: Any, *, prompt: int, answer: int | None, replies: int | None = None, seats: int = 1
) -> Work:
    """The work of a step of the recipe, whose plays have so many seats that are learnt from."""
    scale = recipe.scale
    heard = scale.max_replies // 4 if replies is None else replies
    if not 0 <= heard <= scale.max_replies:
        raise ConfigError(
            f"--reply-tokens is {heard}: 0 to {scale.max_replies} (scale.max-replies). Replies without a limit of "
            "their own count towards scale.max-new, and are part of --answer-tokens."
        )
    mean = max(1, scale.max_new // 4) if answer is None else answer
    if prompt < 1 or not 1 <= mean <= scale.max_new:
        raise ConfigError(
            f"--prompt-tokens is {prompt} and --answer-tokens {mean}: at least 1 token of a prompt, and 1 to "
            f"{scale.max_new} (scale.max-new) of an answer."
        )
    trained = sum(model.trained for model in recipe.models.values())
    wants = {want for mechanism in recipe.mechanisms for want in mechanism.objective.wants}
    frozen = len(recipe.models) - trained + (recipe.refers and "reference" not in recipe.models)
    return Work(
        prompts=scale.num_prompts,
        group=scale.group_size,
        prompt=prompt,
        limit=scale.max_new,
        answer=float(mean),
        passes=scale.num_epochs,
        updates=scale.num_updates,
        scored=(scale.num_updates > 1) + ("ref" in wants),
        trained=trained,
        frozen=int(frozen),
        optimiser_bits=machine.optimiser_bits,
        micro_tokens=max(machine.micro_tokens, prompt + scale.longest),
        publish=machine.publish,
        replies=float(heard),
        most_replies=scale.max_replies,
        seats=seats,
    )


def cautions_of(model: PolicyConfig, work: Work, kind: Gpu) -> list[str]:
    """The points in which the plan goes beyond anything that was tried."""
    found = ["nothing of this was measured on a GPU: shares, rates and seconds are assumed until it is"]
    if work.longest > model.context:
        parts = "prompt, answer and replies" if work.most_replies else "prompt and answer"
        found.append(f"{parts} have up to {work.longest} tokens, and the model's context is {model.context}")
    if parameters(model) > BEYOND:
        found.append(f"a model of {parameters(model) / 1e9:.0f} billion parameters needs more than shards by FSDP2")
    return found


# Text


def text(
    document: dict[str, Any],
    s: Situation,
    best: Estimate,
    following: Estimate | None,
    unsure: Sequence[Doubt],
    lags: Sequence[Estimate],
) -> str:
    w = s.work
    lines = [
        f"{document['recipe']} on {document['model']} ({parameters(s.model) / 1e9:.2f} billion parameters), "
        f"{s.gpus} x {s.gpu.name}",
        f"a step: {w.prompts} prompts of {w.prompt} tokens, {w.group} answers each, {w.answer:.0f} tokens in the mean "
        f"and {w.limit} at most",
        *_replies(w),
        *(f"{'' if i else 'worlds':<9}{line}" for i, line in enumerate(document["worlds"])),
        "",
        f"best   {best.placement}",
        *_of(s, best),
    ]
    if following is not None:
        slower = following.step / best.step - 1
        lines += ["", f"next   {following.placement}: {following.step:.0f} s a step, {slower:.0%} slower"]
        lines.append(f"       {_doubted(unsure)}")
    ways = ", ".join(f"{way} {seconds:.1f} s" for way, seconds in document["publish_by"].items())
    lines += ["", f"publish  {w.publish}; by each way: {ways}"]
    lines += ["", *_lags(lags), "", "cautions"]
    lines += [f"  {caution}" for caution in document["cautions"]]
    lines += [
        "",
        "constants beside shapes and what the GPU's maker publishes; x: the factor within which one is known",
    ]
    return "\n".join([*lines, *(_constant(name, constant) for name, constant in s.constants.items())])


def _replies(w: Work) -> list[str]:
    """The line on replies that have a limit of their own, and on plays of several seats."""
    lines = [f"replies: {w.replies:.0f} tokens of an answer in the mean and {w.most_replies} at most"]
    seats = [f"each play gives {w.seats} answers to learn from, one for each seat: {w.answers} in a step"]
    return lines * bool(w.most_replies) + seats * (w.seats > 1)


def _constant(name: str, one: Constant) -> str:
    known = f"x {one.known:g}" if one.known > 1 else ""
    return f"  {name:<14}{one.value:<12g}{known:<7}{one.source:<10}{one.says}"


def _of(s: Situation, made: Estimate) -> list[str]:
    seconds = made.seconds
    phases = "  ".join(f"{name} {value:.1f}" for name, value in seconds.items())
    return [
        f"  seconds a step    {made.step:.1f}   (alone: {phases})",
        f"  idle              learners {made.loop.learner_idle:.0%}, servers {made.loop.samplers_idle:.0%}",
        f"  age of answers    {made.loop.age:.1f} steps",
        f"  a learner         {_memory(made.learner)} of {s.room / 1e9:.0f} GB",
        f"  a server's GPU    {_memory(made.server)} of {s.room / 1e9:.0f} GB, {made.rows} answers at a time",
    ]


def _doubted(unsure: Sequence[Doubt]) -> str:
    if not unsure:
        return "which is better does not hang on any constant alone, as far as they are known"
    values = ", or ".join(f"{doubt.name} is {doubt.value:.3g}" for doubt in unsure)
    return f"which is better is not known: they differ by less than the constants are known. It is this one if {values}"


def _memory(parts: dict[str, float]) -> str:
    told = ", ".join(f"{name} {value / 1e9:.1f}" for name, value in parts.items() if name in MEMORY)
    return f"{sum(parts.values()) / 1e9:.1f} GB ({told})"


def _lags(lags: Sequence[Estimate]) -> list[str]:
    """The seconds of each lag in this placement, and the lag beyond which more wins nothing."""
    ordered = sorted(lags, key=lambda one: one.placement.lag)
    told = ", ".join(f"{one.placement.lag}: {one.step:.0f} s" for one in ordered)
    least = min(one.step for one in ordered)
    enough = next(one.placement.lag for one in ordered if one.step <= least * (1 + WORTH))
    return [f"lag    {told}", f"       beyond a lag of {enough} nothing is won"]
