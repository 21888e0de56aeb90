"""TRL's names for what has another name here: each is refused with ours and with the value as one would write it.

A name that means something else in TRL than any setting does here is answered with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.errors import AssayError, UsageError
from assay.objective import KL
from assay.recipe import Recipe
from assay.run.configure import override

PREFIX = "vllm_"
VALUE = "VALUE"  # where none was given

SAME: dict[str, str] = {  # one value, one setting
    "num_generations": "scale.group-size",
    "max_completion_length": "scale.max-new",
    "learning_rate": "scale.learning-rate",
    "warmup_steps": "scale.warmup-steps",
    "weight_decay": "scale.weight-decay",
    "adam_beta1": "scale.beta1",
    "adam_beta2": "scale.beta2",
    "max_grad_norm": "scale.clip-norm",
    "num_iterations": "scale.num-epochs",
    "epsilon_high": "mechanism.objective.gate.high",
    "temperature": "scale.temperature",
    "top_p": "scale.top-p",
    "top_k": "scale.top-k",
    "min_p": "scale.min-p",
    "max_steps": "steps",
    "eval_steps": "evaluation.every",
    "save_steps": "saving.every",
    "save_total_limit": "saving.keep",
    "lora_r": "lora",
    "lora_alpha": "lora.alpha",
    "lora_target_modules": "lora.targets",
    "model_name_or_path": "model",
    "dataset_name": "data",
    "output_dir": "run",
    "run_name": "tracking.name",
}
CHOICES: dict[str, dict[str, str]] = {  # values that have other names as well
    "loss_type": {
        "grpo": "mechanism.objective.aggregate sequence-mean",
        "bnpo": "mechanism.objective.aggregate token-mean",
        "dapo": "mechanism.objective.aggregate token-mean",
        "dr_grpo": "mechanism.objective.aggregate fixed-length",
    },
    "scale_rewards": {
        "group": "mechanism.credit.scale std",
        "true": "mechanism.credit.scale std",
        "batch": "mechanism.credit.scale batch",
        "none": "mechanism.credit.scale none",
        "false": "mechanism.credit.scale none",
    },
    "lr_scheduler_type": {
        "constant": "scale.schedule constant",
        "constant_with_warmup": "scale.schedule constant",
        "linear": "scale.schedule linear",
        "cosine": "scale.schedule cosine",
    },
    "report_to": {"tensorboard": "track tensorboard", "wandb": "track wandb", "trackio": "track trackio"},
    "bf16": {"true": "machine.precision bf16", "false": "machine.precision fp32"},
    "gradient_checkpointing": {"true": "machine.checkpointing on", "false": "machine.checkpointing off"},
    "optim": {
        "adamw_torch": "machine.optimiser-bits 32",
        "adamw_torch_fused": "machine.optimiser-bits 32",
        "adamw_8bit": "machine.optimiser-bits 8",
        "adamw_bnb_8bit": "machine.optimiser-bits 8",
        "paged_adamw_8bit": "machine.optimiser-bits 8",
    },
    "importance_sampling_level": {"token": "mechanism.objective.ratio token"},
}
SENTENCES: dict[str, str] = {
    "max_prompt_length": "prompts are never cut: what does not fit is refused, or left out with --skip-bad-rows",
    "num_train_epochs": "a run is as long as --steps says; an epoch is the rows by --scale.num-prompts",
    "warmup_ratio": "--scale.warmup-steps counts optimiser steps",
    "steps_per_generation": "--scale.num-minibatches says into how many optimiser steps an answer batch is cut",
    "generation_batch_size": "--scale.num-prompts times --scale.group-size answers are made a step",
    "importance_sampling_level": "ratios of whole answers are the recipe `gspo`",
    "loss_type": "its other kinds are recipes: `assay list recipes` (cispo, sapo, ...)",
    "delta": "the recipe `two-sided-clip` bounds the ratio from above as well",
    "top_entropy_quantile": "the recipe `fork-mask` trains the tokens of high entropy alone",
    "mask_truncated_completions": "--mechanism.curate whole-answers leaves cut answers out",
    "sync_ref_model": "the recipe `kl-ema` has a reference that follows the policy, `kl-reset` one that is renewed",
    "ref_model_mixup_alpha": "the recipe `kl-ema` has a reference that follows the policy",
    "ref_model_sync_steps": "the recipe `kl-reset` has a reference that is renewed",
    "use_vllm": "the sampler is built in, and holds the weights that are trained",
    "use_peft": "--lora RANK trains low-rank adapters",
    "lora_dropout": "adapters have no dropout here",
    "logging_steps": "every step is recorded",
    "log_completions": "answers are kept in rollouts/: --saving.rollouts-every STEPS",
    "push_to_hub": "`assay export RUN FOLDER` writes what `hf upload` takes",
    "fp16": "--machine.precision is auto, fp32 or bf16",
    "dataset_train_split": "a split stands behind the name: --data owner/name:split",
    "dataset_config": "--data owner/name:configuration:split",
    "dataset_test_split": "held-out rows are --eval-data, of --data alone a fifth",
    "reward_model_name_or_path": "a model that judges is called by a function of yours: --reward FILE.py:FUNCTION",
    "reward_funcs": "--reward FILE.py:FUNCTION, once for each; without it answers are judged as mathematics",
    "report_to": "--track takes tensorboard, wandb and trackio; without it a run keeps its own records",
    "lr_scheduler_type": "--scale.schedule is constant, linear or cosine",
    "optim": "the optimiser is AdamW, --machine.optimiser-bits 32 or 8",
    "reward_weights": "a weight stands behind each function: --reward FILE.py:FUNCTION=0.5",
    "repetition_penalty": "answers are sampled from the policy itself, which is what the ratios compare",
    "remove_unused_columns": "all columns go to reward functions by name",
    "shuffle_dataset": "rows come in an order of their own each epoch, by --seed",
    "use_liger_kernel": "the output layer is fused already",
    "use_liger_loss": "the output layer is fused already",
    "deepspeed": "a run has one device",
    "fsdp": "a run has one device",
}
BATCH = ("per_device_train_batch_size", "gradient_accumulation_steps")
DEFAULTS = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "num_generations": 8}  # TRL's


@dataclass(frozen=True)
class Ours:
    """What a name of TRL's is here: settings with their values, and what cannot be said by one."""

    settings: tuple[tuple[str, str], ...] = ()
    sentence: str = ""


Given = Mapping[str, str]
"""TRL's names without dashes, with the values beside them; '' for none."""


def is_theirs(name: str) -> bool:
    """`num_generations`, also with hyphens."""
    name = name.replace("-", "_")
    return name in _KNOWN or name.startswith(PREFIX)


def refusal(given: Given, recipe: Recipe | None, *, write: Callable[[Mapping[str, str]], str]) -> UsageError:
    """All of them at once, ours as `write` has them on a command line or in Python."""
    plain = {name.lstrip("-").replace("-", "_"): value for name, value in given.items()}
    settings: dict[str, str] = {}
    sentences: dict[str, list[str]] = {}  # each with the names that it is about
    for written, name in zip(given, plain, strict=True):
        found = _fitting(_ours(name, plain, recipe), recipe)
        settings |= dict(found.settings)
        if found.sentence:
            sentences.setdefault(found.sentence, []).append(written)
    names = f"{', '.join(given)}: {'the name' if len(given) == 1 else 'names'} of a setting in TRL"
    here = [f"here: {write(settings)}"] if settings else []
    told = [f"{', '.join(about)}: {sentence}." for sentence, about in sentences.items()]
    return UsageError(f"{names}. " + "\n".join([*here, *told]))


def _ours(name: str, given: Given, recipe: Recipe | None) -> Ours:
    value = given[name]
    if name in SPECIAL:
        return SPECIAL[name](given, recipe)
    if chosen := CHOICES.get(name, {}).get(value.lower() or "true"):
        setting, _, ours = chosen.partition(" ")
        return Ours(((setting, ours),))
    if name in SAME:
        return Ours(((SAME[name], value or VALUE),))
    if name in SENTENCES:
        return Ours(sentence=SENTENCES[name])
    if name in CHOICES:
        return Ours(sentence=f"of {', '.join(CHOICES[name])}, '{value}' is none")
    return Ours(sentence=SENTENCES["use_vllm"])


def _fitting(found: Ours, recipe: Recipe | None) -> Ours:
    """What a recipe has nothing of is said, so that no line is offered which would be refused."""
    changed = recipe
    for path, value in found.settings:
        if changed is None or not path.startswith("mechanism.") or value == VALUE:
            continue
        try:
            changed = override(changed, path, value)
        except AssayError:
            lacks = f"{changed.name} has nothing called {path.removeprefix('mechanism.')}"
            return Ours(sentence=f"{lacks}; `assay explain {changed.name}` says what it has")
    return found


def _batch(given: Given, recipe: Recipe | None) -> Ours:
    """Answers of a step, which TRL counts by device and accumulation, as groups."""
    sizes = {}
    for name, default in DEFAULTS.items():
        value = given.get(name) or str(default)
        if not value.isdecimal() or not int(value):
            return Ours(sentence="--scale.num-prompts counts prompts, --scale.group-size answers to each")
        sizes[name] = int(value)
    answers, group = sizes[BATCH[0]] * sizes[BATCH[1]], sizes["num_generations"]
    told = f"{sizes[BATCH[0]]} x {sizes[BATCH[1]]} answers a step in groups of {group}; memory: --machine.micro-tokens"
    return Ours((("scale.num-prompts", str(max(1, answers // group))), ("scale.group-size", str(group))), told)


def _epsilon(given: Given, recipe: Recipe | None) -> Ours:
    """One bound for both sides, unless the upper one has a name of its own."""
    value = given["epsilon"] or VALUE
    sides = ("low",) if "epsilon_high" in given else ("low", "high")
    return Ours(tuple((f"mechanism.objective.gate.{side}", value) for side in sides))


def _beta(given: Given, recipe: Recipe | None) -> Ours:
    """The weight of the KL term, which some recipes lack."""
    place, value = "mechanism.objective.regularise", given["beta"] or VALUE
    terms = () if recipe is None else recipe.mechanism.objective.regularise
    at = next((i for i, term in enumerate(terms) if isinstance(term, KL)), None)
    if recipe is not None and at is None:
        return Ours(((place, "kl"), (f"{place}.0.weight", value)))
    return Ours(((f"{place}.{at or 0}.weight", value),))


SPECIAL: dict[str, Callable[[Given, Recipe | None], Ours]] = {
    "beta": _beta,
    "epsilon": _epsilon,
    **dict.fromkeys(BATCH, _batch),
}
_KNOWN = {*SAME, *CHOICES, *SENTENCES, *SPECIAL}
