"""Names of settings in TRL. They are refused with a message that gives Assay's setting, with the value filled in.

A TRL setting that has no counterpart among Assay's settings gets a sentence that explains what to do instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.errors import AssayError, UsageError
from assay.objective import KL
from assay.recipe import Recipe
from assay.run.configure import override

PREFIX = "vllm_"
VALUE = "VALUE"  # stands for the value in a message if the person gave none

SAME: dict[str, str] = {  # TRL's name -> our setting with the same meaning and the same values
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
CHOICES: dict[str, dict[str, str]] = {  # TRL's name -> TRL's value -> our setting and value
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
    "max_prompt_length": "prompts are never cut: a prompt that does not fit is refused, or left out with "
    "--skip-bad-rows",
    "num_train_epochs": "--steps sets the length of a run; an epoch is as many steps as there are rows divided by "
    "--scale.num-prompts",
    "warmup_ratio": "--scale.warmup-steps counts optimiser steps",
    "steps_per_generation": "--scale.num-minibatches is the number of optimiser steps into which the answers of a step "
    "are split",
    "generation_batch_size": "a step generates --scale.num-prompts times --scale.group-size answers",
    "importance_sampling_level": "the recipe `gspo` has ratios of whole answers",
    "loss_type": "its other kinds are recipes: `assay list recipes` (cispo, sapo, ...)",
    "delta": "the recipe `two-sided-clip` bounds the ratio from above as well",
    "top_entropy_quantile": "the recipe `fork-mask` trains only the tokens of high entropy",
    "mask_truncated_completions": "--mechanism.curate whole-answers leaves truncated answers out",
    "sync_ref_model": "in the recipe `kl-ema` the reference follows the policy, in `kl-reset` it is replaced by the "
    "policy from time to time",
    "ref_model_mixup_alpha": "in the recipe `kl-ema` the reference follows the policy",
    "ref_model_sync_steps": "in the recipe `kl-reset` the reference is replaced by the policy from time to time",
    "use_vllm": "the sampler is built in, and samples from the very weights that are trained",
    "use_peft": "--lora RANK trains low-rank adapters",
    "lora_dropout": "adapters have no dropout here",
    "logging_steps": "every step is recorded",
    "log_completions": "answers are written to rollouts/: --saving.rollouts-every STEPS",
    "push_to_hub": "`assay export RUN FOLDER` writes a folder that `hf upload` takes",
    "fp16": "--machine.precision is auto, fp32 or bf16",
    "dataset_train_split": "the split is written after the name: --data owner/name:split",
    "dataset_config": "--data owner/name:configuration:split",
    "dataset_test_split": "--eval-data gives held-out rows; without it a fifth of --data is held out",
    "reward_model_name_or_path": "write a reward function that asks that model: --reward FILE.py:FUNCTION",
    "reward_funcs": "--reward FILE.py:FUNCTION, once for each; without it answers are verified as mathematics",
    "report_to": "--track takes tensorboard, wandb and trackio; every run also writes its metrics to its own folder",
    "lr_scheduler_type": "--scale.schedule is constant, linear or cosine",
    "optim": "the optimiser is AdamW, with --machine.optimiser-bits 32 or 8",
    "reward_weights": "the weight is written after each function: --reward FILE.py:FUNCTION=0.5",
    "repetition_penalty": "not supported: importance ratios need answers sampled from the unchanged policy",
    "remove_unused_columns": "reward functions get every column by name",
    "shuffle_dataset": "rows are shuffled anew in each epoch, by --seed",
    "use_liger_kernel": "the output layer is fused with the loss already",
    "use_liger_loss": "the output layer is fused with the loss already",
    "deepspeed": "a run uses one device",
    "fsdp": "a run uses one device",
}
BATCH = ("per_device_train_batch_size", "gradient_accumulation_steps")
DEFAULTS = {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "num_generations": 8}  # TRL's


@dataclass(frozen=True)
class Ours:
    """Assay's counterpart of a TRL setting: settings with their values, and a sentence if these are not enough."""

    settings: tuple[tuple[str, str], ...] = ()
    sentence: str = ""


Given = Mapping[str, str]
"""TRL's name, without leading dashes -> the value that was given with it, or ''."""


def is_theirs(name: str) -> bool:
    """Whether this is the name of a TRL setting, such as `num_generations` or `num-generations`."""
    name = name.replace("-", "_")
    return name in _KNOWN or name.startswith(PREFIX)


def refusal(given: Given, recipe: Recipe | None, *, write: Callable[[Mapping[str, str]], str]) -> UsageError:
    """One error for all given TRL settings; `write` writes Assay's settings as for a shell or as for Python."""
    plain = {name.lstrip("-").replace("-", "_"): value for name, value in given.items()}
    settings: dict[str, str] = {}
    names_by_sentence: dict[str, list[str]] = {}
    for written, name in zip(given, plain, strict=True):
        ours = _fitting(_ours(name, plain, recipe), recipe)
        settings |= dict(ours.settings)
        if ours.sentence:
            names_by_sentence.setdefault(ours.sentence, []).append(written)
    what = "is the name of a setting in TRL" if len(given) == 1 else "are names of settings in TRL"
    here = [f"In Assay write: {write(settings)}"] if settings else []
    sentences = [f"{', '.join(names)}: {sentence}." for sentence, names in names_by_sentence.items()]
    return UsageError(f"{', '.join(given)} {what}. " + "\n".join([*here, *sentences]))


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
        return Ours(sentence=f"'{value}' is none of {', '.join(CHOICES[name])}")
    return Ours(sentence=SENTENCES["use_vllm"])


def _fitting(ours: Ours, recipe: Recipe | None) -> Ours:
    """`ours`, or a sentence if the recipe lacks one of its settings, so that no setting is offered that would fail."""
    changed = recipe
    for path, value in ours.settings:
        if changed is None or not path.startswith("mechanism.") or value == VALUE:
            continue
        try:
            changed = override(changed, path, value)
        except AssayError:
            lacks = f"{changed.name} has nothing called {path.removeprefix('mechanism.')}"
            return Ours(sentence=f"{lacks}; `assay explain {changed.name}` shows its parts")
    return ours


def _batch(given: Given, recipe: Recipe | None) -> Ours:
    """TRL's batch size times its accumulation steps are the answers of a step; Assay counts prompts and group size."""
    sizes = {}
    for name, default in DEFAULTS.items():
        value = given.get(name) or str(default)
        if not value.isdecimal() or not int(value):
            return Ours(sentence="--scale.num-prompts sets the prompts of a step, --scale.group-size answers to each")
        sizes[name] = int(value)
    answers, group = sizes[BATCH[0]] * sizes[BATCH[1]], sizes["num_generations"]
    sentence = (
        f"{sizes[BATCH[0]]} x {sizes[BATCH[1]]} answers a step in groups of {group}; --machine.micro-tokens sets how "
        "much memory they take"
    )
    return Ours((("scale.num-prompts", str(max(1, answers // group))), ("scale.group-size", str(group))), sentence)


def _epsilon(given: Given, recipe: Recipe | None) -> Ours:
    """The clipping range: `epsilon` bounds the ratio on both sides, or below only if `epsilon_high` is given too."""
    value = given["epsilon"] or VALUE
    sides = ("low",) if "epsilon_high" in given else ("low", "high")
    return Ours(tuple((f"mechanism.objective.gate.{side}", value) for side in sides))


def _beta(given: Given, recipe: Recipe | None) -> Ours:
    """The weight of the KL penalty; a recipe without a KL penalty is given one."""
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
