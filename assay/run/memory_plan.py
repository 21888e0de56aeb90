"""The memory that a run needs and that the machine has, and the profile that fits a model.

The plan is made from the shape of the model before the model is loaded. A run that cannot fit is refused, with advice
on which settings would make it fit.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.engine.footprint import CORE_LIMIT, WIDE, Budget, Work, budget, gib, keeping
from assay.errors import ConfigError
from assay.host.space import Room, device_of, room_of
from assay.policy.config import PolicyConfig, parameters
from assay.recipe import Mechanism, Profile
from assay.run.experiment import Experiment
from assay.run.named_model import size_of
from assay.run.probing import probed
from assay.run.told_worlds import hosts_of, worlds_of

if TYPE_CHECKING:
    from assay.policy.network import Shape

PROBE = 64  # problems whose prompts are measured
LETTERS = 3  # characters per token, guessed low: a prompt planned too long costs memory, one too short stops the run
ALIKE = 5  # and of the shared beginning of prompts, guessed high: tokens that are not shared take more
SMALL, SMALL_ON_GPU = 30_000_000, 10_000_000  # models with at most so many parameters get the profile laptop
MEDIUM = 400_000_000  # and those with at most so many the profile processor, where there is no GPU


# The profile


def choose_profile(model: str) -> tuple[Profile, str]:
    """The profile for this model on this machine, and why."""
    return profile_for(size_of(model), gpu=has_gpu())


def profile_for(count: int | None, *, gpu: bool) -> tuple[Profile, str]:
    """(profile, reason) for a model of `count` parameters: laptop for small models, processor for medium ones without a
    GPU, one-gpu for all others.

    Small models learn well at learning rates that would ruin large ones.
    """
    where = "on a GPU" if gpu else "on a processor"
    if count is None:
        return "one-gpu", f"a model of unknown size, {where}: treated as a large one"
    size = f"{count / 1e6:,.1f} million parameters {where}"
    if count <= (SMALL_ON_GPU if gpu else SMALL):
        return "laptop", f"{size}: a small model, which gets a high learning rate and many prompts a step"
    if not gpu and count <= MEDIUM:
        return "processor", f"{size}: a pretrained model, whose adapter learns on few answers a step"
    slow = "" if gpu else "; a step may take minutes"
    return "one-gpu", f"{size}: a large model, which keeps the paper's learning rate{slow}"


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:  # a dry run works without torch
        return False
    return torch.cuda.is_available()


def built_for_gpus() -> bool:
    """Whether torch has libraries for GPUs in it, which take memory also where there is no GPU."""
    try:
        import torch
    except ImportError:
        return False
    return torch.version.cuda is not None


# The memory


def work_of(experiment: Experiment, shape: PolicyConfig, *, device: str, prompt: int | None = None) -> Work:
    """The work of a run that needs memory. `prompt`: tokens of the longest prompt; None: guessed from characters."""
    recipe, machine, plan = experiment.recipe, experiment.machine, experiment.evaluation
    mechanisms = [recipe.mechanism, *(stage.mechanism for stage in recipe.stages if stage.mechanism)]
    trained = sum(model.trained for model in recipe.models.values())
    texts, compact = texts_asked(experiment), experiment.pool.wording == "compact"
    longest = longest_prompt(texts, compact=compact) if prompt is None else prompt
    most = max(1, min(recipe.scale.longest, shape.context - longest))  # answers are cut to the context
    small = device == "cpu" and parameters(shape) <= CORE_LIMIT
    precision = _itemsize(machine.precision, device)
    native = machine.engine == "native" or (machine.engine == "auto" and small)
    return Work(
        answers=recipe.scale.num_prompts * recipe.scale.group_size * recipe.scale.oversample,
        group=recipe.scale.group_size,
        prompt=longest,
        max_new=most,
        replies=min(recipe.scale.max_replies, most - 1),
        hosts=hosts_of([share.task for share in experiment.pool.shares], machine),
        micro_tokens=machine.micro_tokens,
        cache_bytes=machine.cache_mb << 20,
        evaluated=max(plan.num_problems * plan.num_samples, plan.final_problems * plan.final_samples),
        native=native,
        cuda=device.startswith("cuda"),
        gpu_build=built_for_gpus(),
        threads=machine.threads or os.cpu_count() or 1,
        compute=precision,
        trained=trained,
        frozen=len(recipe.models) - trained + recipe.refers,
        players=len(set(recipe.roles.values())) if _continues(experiment, mechanisms) else 0,
        lora=experiment.lora.rank,
        lora_targets=experiment.lora.targets,
        more_moments=len({rule.moments for mechanism in mechanisms for rule in mechanism.rules if rule.moments}),
        optimiser_bits=machine.optimiser_bits,
        again={"auto": None, "on": True, "off": False}[machine.checkpointing],
        common=beginning(texts) // (1 if compact else ALIKE),
        fused=_fused(machine.kernels, device, precision),
        filtered=bool(recipe.scale.top_k or recipe.scale.top_p < 1 or recipe.scale.min_p),
    )


def _fused(kernels: str, device: str, itemsize: int) -> bool:
    """Whether torch will compute with fused kernels, if those of this GPU pass their check."""
    return kernels == "auto" and device.startswith("cuda") and itemsize <= WIDE


def _continues(experiment: Experiment, mechanisms: Sequence[Mechanism]) -> bool:
    """Whether answers are continued: those of other requests by parts of `expand`, or their own after a reply."""
    turns = worlds_of(share.task for share in experiment.pool.shares)
    return bool(turns) or any(part.continues for mechanism in mechanisms for part in mechanism.expand)


def _itemsize(precision: str, device: str) -> int:
    if precision == "auto":
        try:
            import torch

            from assay.engine.precision import choose
        except ImportError:
            return 4

        return choose("auto", torch.device(device))[0].itemsize
    return 2 if precision == "bf16" else 4


def texts_asked(experiment: Experiment) -> list[str]:
    """The texts of some prompts."""
    prompts = (problem.prompt for problem in probed(experiment.pool, PROBE))
    return [t if isinstance(t, str) else "".join(str(m.get("content", "")) for m in t) for t in prompts]


def beginning(texts: Sequence[str]) -> int:
    """The number of characters that all texts have in common at their beginning."""
    first, last = min(texts), max(texts)  # between them in order are texts that begin as both do
    return next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last)))


def longest_prompt(texts: Sequence[str], *, compact: bool) -> int:
    """Tokens of the longest of some prompts, guessed from their characters; bases have one token per character."""
    most = max(map(len, texts))
    return most if compact else most // LETTERS + 32


@dataclass(frozen=True)
class Plan:
    """The memory that a run needs, and the memory that is free on this machine.

    plan = plan_memory(experiment, shape_of(experiment.model), device="cpu")
    print(plan.fits, *plan.lines(), sep="\\n")
    """

    shape: PolicyConfig
    work: Work
    budget: Budget
    room: Room

    @property
    def fits(self) -> bool:
        return self.budget.peak <= self.room.bytes

    @property
    def stays(self) -> bool:
        """Whether the sampler's caches and recorded steps stay on the GPU while the learner computes."""
        return self.work.cuda and self.budget.together <= self.room.bytes

    def lines(self) -> list[str]:
        """The plan as lines to print: the peak, the answers generated at once, and each phase, largest item first."""
        needed, phases = self.budget, {}
        for item in sorted(needed.items, key=lambda item: -item.bytes):
            phases.setdefault(item.phase, []).append(f"{item.name} {gib(item.bytes)}")
        worst = max(needed.phases, key=needed.phases.__getitem__)
        limited = f", limited by machine.cache_mb {self.work.cache_bytes >> 20}" if self.limited else ""
        return [
            *([] if self.fits else [f"! this run would be refused here. {advice(self)}"]),
            f"{gib(needed.peak)} at the peak, while {worst}, of {gib(self.room.bytes)} free {self.room.where}",
            f"answers generated at once: {needed.rows}, each of up to {self.work.length} tokens{limited}",
            *([f"caches stay between steps: {gib(needed.together)} at the peak with them"] if self.stays else []),
            *(f"{phase}: {', '.join(items)}" for phase, items in phases.items()),
        ]

    @property
    def limited(self) -> bool:
        """Whether more memory for the KV cache would let more answers be generated at once."""
        return budget(self.shape, dataclasses.replace(self.work, cache_bytes=1 << 50)).rows > self.budget.rows


def plan_memory(
    experiment: Experiment, shape: PolicyConfig, *, device: str, prompt: int | None = None, room: Room | None = None
) -> Plan:
    room = room or room_of(device)
    work = keeping(shape, work_of(experiment, shape, device=device, prompt=prompt), room.bytes)
    return Plan(shape, work, budget(shape, work), room)


def memory_of(experiment: Experiment, shape: Shape | None) -> Plan | None:
    """The memory that a run of a model of this shape will need; None for a network that is no transformer of
    ours, of whose memory nothing is known, and for a run of several learners (`assay plan`).
    """
    if not isinstance(shape, PolicyConfig) or experiment.machine.learners > 1:
        return None
    return plan_memory(experiment, shape, device=device_of(experiment.machine.device))


def require_memory(plan: Plan | None) -> None:
    """Refuses a run that does not fit into memory, and says which settings would make it fit. Nothing is said of a run
    whose memory is not known.
    """
    if plan is None or plan.fits:
        return
    worst = max(plan.budget.phases, key=plan.budget.phases.__getitem__)
    largest = sorted((i for i in plan.budget.items if i.phase in ("always", worst)), key=lambda item: -item.bytes)[:3]
    parts = ", ".join(f"{item.name} {gib(item.bytes)}" for item in largest)
    raise ConfigError(
        f"this run would need {gib(plan.budget.peak)} while {worst}, and {gib(plan.room.bytes)} are free "
        f"{plan.room.where}. Most of it: {parts}. {advice(plan)} `--dry-run` prints the whole budget."
    )


def _halves(value: int, least: int) -> list[int]:
    """Half of the value, half of that, ..., down to the least."""
    halves: list[int] = []
    while (value := value // 2) >= least:
        halves.append(value)
    return halves


Change = tuple[str, dict[str, Any]]
"""Settings as a user writes them, and the fields of `Work` that they change."""


def _of_machine(work: Work) -> list[Change]:
    """Changes that alter nothing that is learnt, so that a run can go on with them."""
    steps: list[Change] = []
    for name, field, least, unit in (
        ("machine.micro_tokens", "micro_tokens", 256, 0),
        ("machine.cache_mb", "cache_bytes", 32 << 20, 20),
    ):
        steps += [(f"{name} {value >> unit}", {field: value}) for value in _halves(getattr(work, field), least)]
    return steps if work.again else [*steps, ("machine.checkpointing on", {"again": True})]


def _of_learning(work: Work) -> list[Change]:
    """Changes after which something else is learnt, or in another number format."""
    own, replies = work.max_new - work.replies, work.replies
    steps: list[Change] = [(f"scale.max_new {value}", {"max_new": value + replies}) for value in _halves(own, 64)]
    steps += [
        (f"scale.max_replies {value}", {"max_new": own + value, "replies": value}) for value in _halves(replies, 64)
    ]
    if work.optimiser_bits == 32 and not work.lora:
        steps.append(("machine.optimiser_bits 8", {"optimiser_bits": 8}))
    if not work.lora:
        steps.append(("LoRA of rank 16 (--lora 16)", {"lora": 16, "native": False}))
    return steps


def advice(plan: Plan, *, goes_on: bool = False) -> str:
    """A sentence on which settings to change, one or two together, so that the run fits: the smallest such change. A
    run that `goes_on` can change its machine alone.
    """
    work, room = plan.work, plan.room.bytes
    steps = _of_machine(work) + ([] if goes_on else _of_learning(work))
    steps += [(f"{a} and {b}", x | y) for a, x in steps for b, y in steps if x.keys().isdisjoint(y)]
    needs = [(text, budget(plan.shape, dataclasses.replace(work, **change)).peak) for text, change in steps]
    fitting = [(text, need) for text, need in needs if need <= room]
    if fitting:
        text, need = fitting[0]
        other = next(((t, n) for t, n in fitting if t.split()[0] != text.split()[0] and " and " not in t), None)
        more = f" {other[0]} would need {gib(other[1])}." if other else ""
        return f"With {text} it would need {gib(need)}.{more}"
    text, need = min(needs, key=lambda pair: pair[1], default=("", plan.budget.peak))
    return f"Even with {text} it would need {gib(need)}: take a smaller model or a larger machine."
