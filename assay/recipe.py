"""Recipes: a paper's method as data. A recipe has a mechanism, which is made of parts, and a scale: the numbers that
depend on model, machine and data. The recipe states the paper's scale; the other profiles derive theirs from it by
rules that are printed. This module does not import torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from assay.credit import GroupRelative
from assay.errors import ConfigError, unknown
from assay.memory import places
from assay.objective import Objective, contradiction
from assay.part import (
    Asking,
    Collecting,
    Condition,
    Credit,
    Curator,
    Expansion,
    Forward,
    Part,
    Remembering,
    Rewarding,
    Shape,
    Source,
    Thing,
    parts_of,
)
from assay.part_checks import check_choices, check_parts, clash
from assay.reward import Outcome
from assay.scale import Model, Scale
from assay.source import Uniform
from assay.stages import Steps
from assay.streams import Stream

Profile = Literal["paper", "laptop", "processor", "one-gpu"]
PROFILES: tuple[Profile, ...] = ("paper", "laptop", "processor", "one-gpu")
ProfileChoice = Literal["auto", "paper", "laptop", "processor", "one-gpu"]  # auto: chosen by model and machine


@dataclass(frozen=True)
class Rule:
    """How the answers of one role are judged and trained, if not as the mechanism says.

    Mechanism(rules=(Rule("proposer", verified=False, credit=GroupRelative(scale="none")),))
    --mechanism.rules.0.credit.scale none
    """

    role: str
    verified: bool = True  # the task's verifier checks its answers
    reward: tuple[Rewarding, ...] = (Outcome(),)
    credit: Credit = GroupRelative()
    shape: tuple[Shape, ...] = ()
    objective: Objective = field(default_factory=Objective)
    every: int = 1  # the role is trained in every step whose number is a multiple of this
    moments: str = ""  # the optimiser moments that its updates use, by name; "": those that all roles share


@dataclass(frozen=True)
class Mechanism:
    """The parts of a method for each phase of the training loop, in the order of the loop.

    Mechanism(credit=GroupRelative(scale="none"), objective=Objective(aggregate=FixedLength()))
    --mechanism.credit.scale none --mechanism.objective.aggregate fixed-length
    """

    EARLIER: ClassVar[Mapping[str, str]] = {"augment": "ask", "assess": "forwards"}  # field names in old run folders

    source: Source = Uniform()
    ask: tuple[Asking, ...] = ()
    expand: tuple[Expansion, ...] = ()  # each round takes the requests of the first part that returns any
    collect: tuple[Collecting, ...] = ()  # each part wraps the collector of the part before it
    reward: tuple[Rewarding, ...] = (Outcome(),)
    curate: tuple[Curator, ...] = ()
    forwards: tuple[Forward, ...] = ()
    credit: Credit = GroupRelative()
    shape: tuple[Shape, ...] = ()  # changes of the estimated advantages, one after the other
    objective: Objective = field(default_factory=Objective)
    remember: tuple[Remembering, ...] = ()
    rules: tuple[Rule, ...] = ()  # rules for roles with a reward, credit, shape or objective of their own

    def rule(self, role: str) -> Rule:
        """How the answers of this role are judged and trained."""
        named = [rule for rule in self.rules if rule.role == role]
        return named[0] if named else Rule(role, True, self.reward, self.credit, self.shape, self.objective)


@dataclass(frozen=True)
class Stage:
    """A section of the run: its share of all steps, and its own mechanism if it has one.

    stages=(Stage("warm-up", share=0.1, mechanism=IMITATE), Stage("train", share=0.9))
    --stages.0.share 0.2
    """

    name: str = "train"
    share: float = 1.0  # of all steps of the run
    mechanism: Mechanism | None = None  # None: the mechanism of the recipe
    when: Condition = Steps()  # the stage begins when this holds, or when the shares of earlier stages end
    start: Literal["continue", "base"] = "continue"  # base: from the weights of the base model, without optimiser state
    optimiser: Literal["keep", "reset"] = "keep"  # the optimiser state
    memory: Literal["keep", "clear"] = "keep"  # the stores of the memory; the budget always stays


USUAL_RECIPE = "dr-grpo"  # if no recipe is named
USUAL_TASK = "countdown:3,4"  # for a recipe that names no task


@dataclass(frozen=True)
class Recipe:
    """One method of a paper: its mechanism and scale as the paper states them, its citation and its claim.

    Recipe(name="grpo", title="DeepSeekMath", paper="2402.03300", claim="...", mechanism=MECHANISM, scale=SCALE)
    assay train grpo --task countdown:3
    """

    name: str
    title: str
    paper: str  # its arXiv id, or how else it is cited; "-" if there is no paper
    claim: str  # the paper's claim: the effect of the method
    mechanism: Mechanism
    scale: Scale
    notes: tuple[str, ...] = ()  # where the values come from, and which are ours
    deviations: tuple[str, ...] = ()  # known implementations that compute something else under this name
    missing: str = ""  # the points of the paper that are not here; if it has several recipes, one of them says so
    tasks: tuple[str, ...] = ()  # tasks that show what the method is for, the usual one first; () if any task does
    models: Mapping[str, Model] = field(default_factory=lambda: {"policy": Model()})
    roles: Mapping[str, str] = field(default_factory=lambda: {"policy": "policy"})  # role -> the model that plays it
    stages: tuple[Stage, ...] = (Stage(),)

    @property
    def usual_task(self) -> str:
        """The task to train on if neither a task nor data are named, in the form of `--task`."""
        return self.tasks[0] if self.tasks else USUAL_TASK

    @property
    def solutions(self) -> Literal["none", "some", "all"]:
        """How many problems must have a worked solution, by the parts of all stages that have steps."""
        stages = [stage for stage in self.stages if stage.share > 0]
        found = {part.solutions for stage in stages for part in parts_of(stage.mechanism or self.mechanism)}
        return "all" if "all" in found else "some" if "some" in found else "none"

    @property
    def refers(self) -> bool:
        """Whether anything compares with the weights from before training: a penalty, a loss of pairs, another part."""
        goals = any("ref" in mechanism.objective.wants for mechanism in self.mechanisms)
        return goals or any(part.refers for part in parts_of(self.mechanisms))

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """The mechanism of the recipe, and those of the stages that have one of their own."""
        return (self.mechanism, *(stage.mechanism for stage in self.stages if stage.mechanism))


@dataclass(frozen=True)
class Like:
    """A recipe that is another recipe with changes. Everything that is not changed is as in the other recipe.

    CISPO = Like("dapo", name="cispo", changes={"mechanism.objective.gate": Bounded(most=5.0)}, ...)
    """

    like: str  # the name of the recipe from which it starts
    name: str
    claim: str
    changes: Mapping[str, Any]  # dotted path within the recipe -> the new value
    title: str | None = None
    paper: str | None = None
    notes: tuple[str, ...] | None = None
    deviations: tuple[str, ...] | None = None
    missing: str = ""  # the points of its own paper that are not here

    def of(self, base: Recipe) -> Recipe:
        """The full recipe: `base` with the changes."""
        own = {"title": self.title, "paper": self.paper, "notes": self.notes, "deviations": self.deviations}
        said: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
        found = dataclasses.replace(base, name=self.name, claim=self.claim, missing=self.missing, tasks=(), **said)
        for path, value in self.changes.items():
            found = _changed(found, path.split("."), value, f"{self.name}: {path}")
        return found


def _changed(record: Any, path: Sequence[str], value: Any, whole: str) -> Any:
    """The record with this value at the path of fields. `whole` names the path in an error."""
    head, *rest = path
    known = [item.name for item in dataclasses.fields(record)]
    if head not in known:
        raise unknown(f"field of {type(record).__name__} in `{whole}`", head, known, "assay show RECIPE")
    inner = _changed(getattr(record, head), rest, value, whole) if rest else value
    return dataclasses.replace(record, **{head: inner})


LAPTOP = {
    "num_prompts": (128, "128 prompts a step: smaller batches are too noisy for small models"),
    "group_size": (8, "groups of 8"),
    "oversample": (1, "as many prompts a round as are trained on: further rounds refill"),
    "learning_rate": (2e-4, "models of 1M to 10M parameters take a rate some 200 times that of 7B ones"),
    "schedule": ("linear", "a rate that falls to zero, so that a short run ends quietly"),
    "warmup_steps": (5, "5 optimiser steps of warm-up"),
    "num_steps": (100, "100 steps"),
}
PROCESSOR = {
    "num_prompts": (8, "8 prompts a step: an answer of a pretrained model costs seconds on a processor"),
    "group_size": (8, "groups of 8"),
    "oversample": (1, "as many prompts a round as are trained on: further rounds refill"),
    "learning_rate": (3e-5, "a hundred million parameters or so take a rate some 30 times that of 7B ones"),
    "schedule": ("constant", "a constant rate"),
    "warmup_steps": (0, "no warm-up: an adapter begins at zero"),
    "num_steps": (40, "40 steps"),
    "temperature": (0.7, "small models ramble at temperature 1"),
}
ONE_GPU = {
    "num_prompts": (32, "32 prompts a step"),
    "group_size": (8, "groups of 8"),
    "max_new": (1024, "1024 tokens an answer"),
    "oversample": (1, "as many prompts a round as are trained on: further rounds refill"),
    "num_steps": (500, "500 steps"),
}
LORA_FACTOR = 10.0  # the learning rate of LoRA adapters, as a multiple of that of full fine-tuning
LORA_RULE = "adapters take about ten times the rate of all weights, whatever their rank: LoRA Without Regret, 2025"
KEPT = (("group_size", 1), ("schedule", "cosine"))  # values that no profile changes, because they belong to the method


def at_profile(
    recipe: Recipe, profile: Profile, *, max_new: int | None = None, adapted: bool = False
) -> tuple[Recipe, list[str]]:
    """The recipe at a profile's scale, and a line to print for each number that changed.

    `max_new` is the answer length that the task needs. `adapted` says that LoRA adapters are trained, not all weights.
    """
    scale, lines = profiled(recipe.scale, profile, max_new=max_new, adapted=adapted)
    found, moved = at_scale(recipe, scale)
    return found, [*lines, *moved]


def profiled(
    paper: Scale, profile: Profile, *, max_new: int | None = None, adapted: bool = False
) -> tuple[Scale, list[str]]:
    """The scale of a profile, derived from the paper's scale, and a line for each number that changed."""
    if profile not in PROFILES:
        raise ConfigError(f"profile is one of {', '.join(PROFILES)}, not '{profile}'.")
    rules: dict[str, tuple[Any, str]] = {
        "paper": {},
        "laptop": LAPTOP,
        "processor": PROCESSOR,
        "one-gpu": ONE_GPU,
    }[profile]
    if adapted:
        rate, *reason = rules.get("learning_rate", (paper.learning_rate,))
        rules = {**rules, "learning_rate": (float(f"{LORA_FACTOR * rate:.6g}"), "; ".join([*reason, LORA_RULE]))}
    changes: dict[str, Any] = {}
    lines = []
    for name, (value, reason) in rules.items():
        if (name, getattr(paper, name)) in KEPT or (name == "max_new" and max_new is not None):
            continue
        if value != getattr(paper, name):
            changes[name] = value
            lines.append(f"{name}: {getattr(paper, name)} -> {value} ({reason})")
    if profile != "paper" and paper.num_minibatches > 2:
        changes["num_minibatches"] = 2
        lines.append(f"num_minibatches: {paper.num_minibatches} -> 2 (small batches keep at most 2 updates a rollout)")
        if "warmup_steps" not in rules:
            warm, told = warmed(paper, dataclasses.replace(paper, num_minibatches=2))
            changes["warmup_steps"] = warm.warmup_steps
            lines += told
    if profile == "one-gpu" and not adapted:
        lines.append(
            f"the paper's learning_rate {paper.learning_rate:g} stays (one for all weights; LoRA takes ten times that)"
        )
    if max_new is not None and max_new != changes.get("max_new", paper.max_new):
        lines.append(f"max_new: {paper.max_new} -> {max_new} (what the task needs)")
        changes["max_new"] = max_new
    return dataclasses.replace(paper, **changes), lines


def warmed(before: Scale, after: Scale) -> tuple[Scale, list[str]]:
    """`after` with a warm-up over as many rollouts as in `before`, and a line if that changes the number of updates."""
    steps = before.warmup_steps and max(1, round(before.warmup_steps * after.num_updates / before.num_updates))
    told = f"warmup_steps: {before.warmup_steps} -> {steps} (over as many rollouts)"
    return dataclasses.replace(after, warmup_steps=steps), [told] if steps != before.warmup_steps else []


def at_scale(recipe: Recipe, scale: Scale) -> tuple[Recipe, list[str]]:
    """The recipe at another scale, and a line for each constant of a part that changes with it (`scales_with`)."""
    stated = lambda item: getattr(recipe.scale, item.metadata["scales_with"])  # noqa: E731
    (mechanism, stages), moved = _rescale((recipe.mechanism, recipe.stages), stated, scale)
    found = dataclasses.replace(recipe, scale=scale, mechanism=mechanism, stages=stages)
    return found, list(dict.fromkeys(moved))  # one line for a constant that several stages have


def as_named(parts: Any, scale: Scale) -> tuple[Any, list[str]]:
    """Parts that a person gave by name alone, at this scale: their defaults change with the scale (`scales_with`)."""
    return _rescale(parts, lambda item: item.metadata["at"] or getattr(scale, item.metadata["scales_with"]), scale)


def _rescale(record: Any, stated: Callable[[Any], float], scale: Scale) -> tuple[Any, list[str]]:
    """Changes every constant marked with `scales_with` in proportion to its measure, in all nested parts. `stated`
    gives, for a field, the measure for which its value is stated.
    """
    if isinstance(record, tuple):
        pairs = [_rescale(item, stated, scale) for item in record]
        return tuple(pair[0] for pair in pairs), [line for pair in pairs for line in pair[1]]
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        return record, []
    changes: dict[str, Any] = {}
    lines: list[str] = []
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        if by := item.metadata.get("scales_with"):
            ways = (stated(item), getattr(scale, by))
            before, after = reversed(ways) if item.metadata.get("inverse", False) else ways
            moved = value * after / before
            new = max(1, round(moved)) if isinstance(value, int) else float(f"{moved:.4g}")
            if new != value:
                field, how = f"{type(record).__name__}.{item.name}", "inverse " * item.metadata.get("inverse", False)
                lines.append(f"{field}: {value} -> {new} (in {how}proportion to {by})")
        else:
            new, inner = _rescale(value, stated, scale)
            lines += inner
        if new is not value:
            changes[item.name] = new
    return (dataclasses.replace(record, **changes) if changes else record), lines


def with_mechanisms(recipe: Recipe, change: Callable[[Mechanism], Mechanism]) -> Recipe:
    """The recipe with each of its mechanisms changed, those of its stages too."""
    stages = tuple(
        dataclasses.replace(stage, mechanism=change(stage.mechanism)) if stage.mechanism else stage
        for stage in recipe.stages
    )
    return dataclasses.replace(recipe, mechanism=change(recipe.mechanism), stages=stages)


def check_memory(recipe: Recipe) -> None:
    """Refuses parts that would share a store of the memory, and parts of `curate` that would undo each other."""
    keepers = places.keepers([mechanism.remember for mechanism in recipe.mechanisms])
    everyone = [keeper for kept in keepers for keeper in kept]
    for mechanism in recipe.mechanisms:
        if problem := clash((*mechanism.curate, mechanism.credit)) or places.contradiction(
            mechanism.curate, mechanism.remember
        ):
            raise ConfigError(f"{recipe.name}: {problem}")
    for reader in parts_of((recipe.mechanisms, recipe.stages)):
        places.place_for(reader, everyone)


def _unwritten(part: Part, written: Collection[Thing]) -> str | None:
    """A complaint about a constant that the part reads and no part of the recipe writes, with the part to add; else
    None.
    """
    stream = next((one for one in part.reads if isinstance(one, Stream) and one not in written), None)
    if stream is None:
        return None
    return (
        f"{type(part).__name__} reads the constant '{stream.name}' of rows, and no part of the recipe computes it. Add "
        f"{stream.filled_by} to the recipe."
    )


def _headless(part: Part, models: Mapping[str, Model]) -> str | None:
    """A complaint about a model of the part, and the change that helps: it lacks a value head, or it has values alone
    where the part trains its tokens too. None if all models have the outputs that the part needs.
    """
    for name, output in part.outputs.items():
        if name not in models or not models[name].valued:
            return (
                f"{type(part).__name__} needs a model '{name}' with a value head, and the recipe has "
                f"{'no such model' if name not in models else 'one without'}. Give the recipe a model of this name "
                f"with output='{output}'; its models are {', '.join(models)}."
            )
        if output == "both" and models[name].output == "value":
            return (
                f"{type(part).__name__} trains tokens of the model '{name}', which has values alone. Give it "
                "output='both'."
            )
    return None


def check(recipe: Recipe) -> None:
    """Refuses values that contradict each other, before anything is loaded."""
    check_memory(recipe)
    scale, mechanism = recipe.scale, recipe.mechanism
    check_parts(mechanism, "mechanism")
    for i, stage in enumerate(recipe.stages):
        check_parts(stage, f"stages.{i}")
    check_choices(scale, "scale")
    for name, model in recipe.models.items():
        check_choices(model, f"models.{name}")
    positive = ("num_prompts", "group_size", "max_new", "num_steps", "oversample", "num_minibatches", "num_epochs")
    for name in positive:
        if getattr(scale, name) < 1:
            raise ConfigError(f"scale.{name} must be at least 1, not {getattr(scale, name)}.")
    if scale.num_tokens < 0:
        raise ConfigError(f"scale.num_tokens must be 0, for no limit, or more, not {scale.num_tokens}.")
    alone = scale.group_size < 2 and not any(part.sizes_groups for part in mechanism.expand)
    if mechanism.credit.compares and alone:
        raise ConfigError(
            f"{recipe.name}: {type(mechanism.credit).__name__} compares the answers of a group, and a group of one has "
            "nothing to compare with. Set scale.group_size to 2 or more, or take `reinforce`, which needs no group."
        )
    for each in recipe.mechanisms:
        written: set[Thing] = {thing for part in parts_of(each) for thing in part.writes}
        for part in parts_of(each):
            problem = part.refusal(scale=scale, mechanism=each) or _unwritten(part, written)
            if problem := problem or _headless(part, recipe.models):
                raise ConfigError(f"{recipe.name}: {problem}")
        for goal in (each.objective, *(rule.objective for rule in each.rules)):
            if problem := contradiction(goal):
                raise ConfigError(f"{recipe.name}: {problem}")
    if not 0 < scale.learning_rate < float("inf"):
        raise ConfigError(f"scale.learning_rate must be a positive number, not {scale.learning_rate}.")
    if not 0 < scale.temperature < float("inf"):
        raise ConfigError(f"scale.temperature must be a positive number in training, not {scale.temperature}.")
    if not 0 < scale.top_p <= 1:
        raise ConfigError(f"scale.top_p must be in (0, 1], not {scale.top_p}.")
    for name, below in (("min_p", 1), ("beta1", 1), ("beta2", 1), ("weight_decay", float("inf"))):
        if not 0 <= getattr(scale, name) < below:
            raise ConfigError(f"scale.{name} must be in [0, {below}), not {getattr(scale, name)}.")
    for name in ("top_k", "warmup_steps"):
        if getattr(scale, name) < 0:
            raise ConfigError(f"scale.{name} must be 0 or more, not {getattr(scale, name)}.")
    if scale.clip_norm is not None and not scale.clip_norm > 0:
        raise ConfigError(f"scale.clip_norm must be positive, or none for no clipping, not {scale.clip_norm}.")
    if scale.num_minibatches > scale.num_prompts * scale.group_size:
        raise ConfigError(
            f"scale.num_minibatches = {scale.num_minibatches} is more than the rows of a step, "
            f"{scale.num_prompts} x {scale.group_size}. Set it to at most their number."
        )
    if missing := [model for model in recipe.roles.values() if model not in recipe.models]:
        raise ConfigError(
            f"{recipe.name}: `roles` names the model '{missing[0]}', which is not in `models`. Add it there."
        )
    for role, name in recipe.roles.items():
        if recipe.models[name].output == "value":
            raise ConfigError(
                f"{recipe.name}: the model '{name}' plays the role '{role}' and has values alone, so that it cannot "
                "answer. Give it output='both', or let another model play the role."
            )
