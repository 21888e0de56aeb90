"""What a file for TRL's GRPOTrainer says of a run: the rules of `trl.toml`. Without num_processes one process is
assumed, because their number is an argument of the launcher.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.run.foreign.parts import (
    OUTCOME,
    Part,
    Rule,
    Settings,
    Sizes,
    adapter,
    advantage,
    clip,
    part,
    steps,
    terms,
    trackers,
)
from assay.run.foreign.parts import precision as precision_of
from assay.run.foreign.view import FileView, word

SCALE = {"group": "std", "true": "std", "batch": "batch", "none": "none", "false": "none"}
EPSILON = 1e-4  # which TRL adds to a standard deviation
REWARDS = {"accuracy_reward": ""}  # TRL's functions that the verifier stands for
FORMATS = "write such a function into a file: --reward FILE.py:FUNCTION, in place of the verifier"


def batch_of(view: FileView) -> Sizes:
    """An optimiser step has the answers of a pass of all devices times accumulation steps; a generation may serve
    several.
    """
    accumulated = view.whole("gradient_accumulation_steps", 1)
    passed = view.whole("per_device_train_batch_size", 8) * view.whole("num_processes", 1)
    update, generated = passed * accumulated, view.count("generation_batch_size")
    if generated is None:
        generated = passed * view.whole("steps_per_generation", accumulated)
    if 0 < generated < update and update % generated == 0:
        generated = update  # several generations by the same weights make one batch
    group, key = view.whole("num_generations", 8), _batch_key(view)
    if not group or generated % group:
        view.refuse(key, f"{generated} answers are no whole number of groups of {group}")
    if update <= 0 or generated % update:
        view.refuse(key, f"{generated} answers are generated at once, which is no multiple of {update}, a batch")
    minibatches = max(1, generated // max(1, update))
    prompts = max(1, generated // max(1, group))
    return Sizes(prompts, minibatches, minibatches * view.whole("num_iterations", 1))


def _batch_key(view: FileView) -> str:
    """The key by which the number of generated answers was given."""
    keys = ("generation_batch_size", "steps_per_generation")
    return next((key for key in keys if view.given(key)), "per_device_train_batch_size")


def batch(view: FileView) -> Settings:
    made = batch_of(view)
    numbers = {"num_prompts": made.prompts, "group_size": view.whole("num_generations", 8)}
    return {f"scale.{name}": value for name, value in (numbers | {"num_minibatches": made.minibatches}).items()}


def length(view: FileView) -> Settings:
    """The number of steps: optimiser steps over those of a step, or epochs of the data."""
    made, asked = batch_of(view), view.whole("max_steps", -1)
    if asked > 0:
        view.let_lie("num_train_epochs", "max_steps gives the length")
        return {"steps": math.ceil(asked / made.updates)}
    return steps(view, "num_train_epochs", view.real("num_train_epochs", 3.0), _places(view), made.prompts)


def warmup(view: FileView) -> Settings:
    """Optimiser steps of warm-up; a number below 1 is a share of all of them."""
    key = "warmup_ratio" if view.given("warmup_ratio") else "warmup_steps"
    if key == "warmup_ratio":
        view.let_lie("warmup_steps", "warmup_ratio is given")
    asked = view.real(key)
    if asked >= 1 or not asked:
        return {"scale.warmup_steps": math.ceil(asked)}
    if (total := length(_aside(view)).get("steps")) is None:
        view.need("steps", sentence=f"{key} is a share of all steps: write --steps N and --scale.warmup-steps M.")
        return {}
    return {"scale.warmup_steps": math.ceil(asked * total * batch_of(view).updates)}


def _aside(view: FileView) -> FileView:
    """The same values, with verdicts of their own."""
    return FileView(view.keys, view.values)


def top_k(view: FileView) -> Settings:
    return {"scale.top_k": max(0, view.whole("top_k"))}


def generation(view: FileView) -> Settings:
    """What further arguments of generation say, as far as it is a setting."""
    names = {"temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "min_p": "min_p"}
    names |= {"max_new_tokens": "max_new"}
    made: Settings = {}
    for name, value in view.record("generation_kwargs").items():
        if name in names:
            made[f"scale.{names[name]}"] = value
        elif name in ("stop", "stop_strings"):
            made["chat.stop"] = list(map(str, value)) if isinstance(value, list) else [str(value)]
        else:
            view.refuse("generation_kwargs", f"there is no setting for its '{name}'")
    return made


def template(view: FileView) -> Settings:
    """The variables of the chat template."""
    import json

    variables = view.record("chat_template_kwargs")
    return {"chat.variables": [f"{name}={json.dumps(value)}" for name, value in variables.items()]} if variables else {}


def norm(view: FileView) -> Settings:
    """TRL writes 0 for gradients that are not clipped."""
    return {"scale.clip_norm": view.number("max_grad_norm") or "none"}


def loss(view: FileView) -> Settings:
    """Ratio, gate and aggregation of a loss, and the recipe that is known for them."""
    losses = view.keys.choices["losses"]
    if (chosen := view.chosen("loss_type", losses)) is None:
        return {}
    ratio = view.chosen("importance_sampling_level", {"token": "token", "sequence": "sequence"}, "token")
    if ratio == "sequence" and chosen["aggregate"] != "sequence-mean":
        kind = view.text("loss_type")
        view.refuse("importance_sampling_level", f"ratios of whole answers need a mean over answers, not {kind}")
    for key in (*chosen["unread"], "vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg"):
        view.let_lie(key, f"loss_type is {view.text('loss_type')}, which does not read it")
    return {
        "recipe": "gspo" if ratio == "sequence" and chosen["gate"] == "clip" else chosen.get("recipe", "grpo"),
        "mechanism.objective.ratio": part("sequence", of="mean") if ratio == "sequence" else "token",
        "mechanism.objective.gate": _gate(view, chosen["gate"]),
        "mechanism.objective.aggregate": chosen["aggregate"],
    }


def _gate(view: FileView, kind: str) -> Part:
    low, high = view.real("epsilon", 0.2), view.number("epsilon_high")
    if kind == "bounded":
        return part(kind, least=0.0, most=low if high is None else high)
    if kind == "soft":
        return part(kind, up=view.real("sapo_temperature_pos", 1.0), down=view.real("sapo_temperature_neg", 1.05))
    return clip(low, low if high is None else high, view.number("delta"))


def keep(view: FileView) -> Settings:
    """The tokens that have a policy gradient."""
    parts: list[Part] = []
    if (share := view.real("top_entropy_quantile", 1.0)) < 1:
        parts.append(part("high-entropy", share=share, by="step", side="high", ties=True))
    if (most := view.number("off_policy_mask_threshold")) is not None:
        parts.append(part("followed", most=most))
    return {"mechanism.objective.keep": parts}


def regularise(view: FileView) -> Settings:
    """The KL penalty and the entropy bonus; an adaptive bonus multiplies the weight 1."""
    estimator = "weighted-k3" if view.flag("use_bias_correction_kl") else "k3"
    bonus = 1.0 if view.flag("use_adaptive_entropy") else view.real("entropy_coef")
    if not view.real("beta"):
        view.let_lie("use_bias_correction_kl", "beta is 0: there is no KL penalty")
    made = terms(kl=view.real("beta"), estimator=estimator, entropy=bonus)
    return {"mechanism.objective.regularise": made}


def entropy(view: FileView) -> Settings:
    """A bonus whose weight follows the entropy; TRL's begins at entropy_coef, ours at 0."""
    keys = ("entropy_coef_max", "entropy_coef_delta", "entropy_target", "entropy_coef_min")
    if not view.flag("use_adaptive_entropy"):
        for key in keys:
            view.let_lie(key, "use_adaptive_entropy is off")
        return {}
    if view.real("entropy_coef"):
        view.tell("entropy_coef", "the weight of the adaptive bonus begins at 0")
    if view.real("entropy_coef_min"):
        view.refuse("entropy_coef_min", "the weight of the adaptive bonus may fall to 0")
    numbers = {"target": view.real("entropy_target"), "step": view.real("entropy_coef_delta")}
    names = view.keys.choices["parts"]["entropy-bonus"]
    adapt = part(names["remember"], **numbers, most=view.real("entropy_coef_max"))
    return {"mechanism.forwards": [part(names["forwards"])], "mechanism.remember": [adapt]}


def reference(view: FileView) -> Settings:
    """A reference policy that follows the policy every so many optimiser steps."""
    if not view.flag("sync_ref_model"):
        for key in ("ref_model_mixup_alpha", "ref_model_sync_steps"):
            view.let_lie(key, "sync_ref_model is off")
        return {}
    if not view.real("beta"):
        view.let_lie("sync_ref_model", "beta is 0: there is no reference policy")
        return {}
    every = max(1, round(view.whole("ref_model_sync_steps", 512) / batch_of(view).updates))
    follow = part("follow", every=every, rate=view.real("ref_model_mixup_alpha", 0.6))
    return {
        "models": {"policy": {}, "reference": {"trained": False, "follows": "policy"}},
        "mechanism.remember": [follow],
    }


def cut(view: FileView) -> Settings:
    return {"cut": "masked" if view.flag("mask_truncated_completions") else "scored"}


def mismatch(view: FileView) -> Settings:
    """The weights against the mismatch of sampler and learner, which TRL has with vLLM alone."""
    keys = [key for key in view.keys.rows if key.startswith("vllm_importance_sampling_")]
    if not (view.flag("use_vllm") and view.flag("vllm_importance_sampling_correction")):
        for key in keys:
            view.let_lie(key, "without use_vllm and the correction nothing is corrected")
        return {"mechanism.objective.correct": []}
    cap, most = "vllm_importance_sampling_cap", "vllm_importance_sampling_clip_max"
    if view.given(cap):
        view.let_lie(most, "vllm_importance_sampling_cap is given, its former name")
    high = view.number(cap if view.given(cap) else most)
    low = view.real("vllm_importance_sampling_clip_min")
    level, _, kind = view.text("vllm_importance_sampling_mode").partition("_")
    if level not in ("token", "sequence") or kind not in ("mask", "truncate"):
        view.refuse("vllm_importance_sampling_mode", "the modes are token or sequence with _mask or _truncate")
        return {}
    if kind == "truncate" and low:
        view.refuse("vllm_importance_sampling_clip_min", "truncated weights have no lower bound")
    unbounded = 1e9 if high is None else high
    bound = {"cap": unbounded} if kind == "truncate" else {"low": low, "high": unbounded}
    name = "truncate" if kind == "truncate" else "drop"
    return {"mechanism.objective.correct": [part(name, **bound, level=level)]}


def credit(view: FileView) -> Settings:
    """The advantage: by the sum of the rewards, or by each reward normalised in its group (GDPO)."""
    scale = SCALE.get(word(view.value("scale_rewards")))
    if scale is None:
        view.refuse("scale_rewards", "the values are group, batch and none")
    each = {"sum_then_normalize": False, "normalize_then_sum": True}
    if not view.chosen("multi_objective_aggregation", each, False):
        return {"mechanism.credit": advantage(scale or "std", EPSILON)}
    whiten = part("whiten", by="batch", over="rows", ddof=1, epsilon=EPSILON)
    weights, name = view.numbers("reward_weights"), view.keys.choices["parts"]["many-rewards"]["credit"]
    return {
        "mechanism.credit": part(name, weights=weights, ddof=1, epsilon=EPSILON),
        "mechanism.shape": [whiten],
    }


def reward(view: FileView) -> Settings:
    """Reward functions by import path, each with its weight; the verifier for TRL's comparison of answers."""
    named = view.items("reward_funcs")
    weights = view.numbers("reward_weights") or [1.0] * len(named)
    if len(weights) != len(named):
        view.refuse("reward_weights", f"there are {len(weights)} weights for {len(named)} functions in reward_funcs")
        return {}
    functions, right = [], 0.0
    for name, weight in zip(named, weights, strict=True):
        if name in REWARDS:
            right += weight
        elif "." in name:
            functions.append(":".join(name.rsplit(".", 1)) + ("" if weight == 1 else f"={weight!r}"))
        else:
            view.refuse("reward_funcs", f"'{name}' is one of TRL's own functions: {FORMATS}")
    if functions and right:
        view.refuse("reward_funcs", "functions take the place of the verifier: write one that compares answers too")
    verified = {"mechanism.reward": [OUTCOME | {"right": right}]} if right not in (0.0, 1.0) and not functions else {}
    return {**verified, **({"reward": functions} if functions else {})}


def model(view: FileView) -> Settings:
    """Arguments with which the model is loaded: its type of numbers counts, and how it is stored does not."""
    made: Settings = {}
    for name, value in view.record("model_init_kwargs").items():
        if name in ("dtype", "torch_dtype"):
            made |= precision_of(view, "model_init_kwargs", word(value))
        elif name not in ("attn_implementation", "use_cache", "device_map", "low_cpu_mem_usage", "use_kernels"):
            view.refuse("model_init_kwargs", f"there is no setting for its '{name}'")
    return made


def lora(view: FileView) -> Settings:
    """A low-rank adapter, if use_peft says so."""
    keys = ("lora_r", "lora_alpha", "lora_target_modules", "lora_dropout")
    if not view.flag("use_peft"):
        for key in keys:
            view.let_lie(key, "use_peft is off")
        return {}
    if view.real("lora_dropout", 0.05):
        view.tell("lora_dropout", "adapters have no dropout")
    return adapter(view.whole("lora_r", 16), view.real("lora_alpha", 32.0), view.items("lora_target_modules"))


def _places(view: FileView) -> Settings:
    """The data sets, with configuration and split after the name of one of the Hub."""
    if mixed := view.value("datasets"):
        return {"data": [_mixed(view, item) for item in (mixed if isinstance(mixed, list) else [mixed])]}
    if not (name := view.text("dataset_name")):
        return {}
    made: Settings = {"data": [_place(view, name, "dataset_train_split")]}
    if view.text("eval_strategy") != "no" and _is_hub(name):
        made["eval_data"] = [_place(view, name, "dataset_test_split")]
    return made


def _mixed(view: FileView, item: Any) -> str:
    """One of several data sets: its name, configuration and split."""
    if not isinstance(item, Mapping):
        view.refuse("datasets", "each data set is a mapping with a path")
        return str(item)
    if strange := [key for key in item if key not in ("path", "name", "split")]:
        view.refuse(
            "datasets", f"a data set has a path, a name and a split; there is no setting for its '{strange[0]}'"
        )
    return ":".join(str(item[key]) for key in ("path", "name", "split") if item.get(key))


def _place(view: FileView, name: str, split: str) -> str:
    if not _is_hub(name):
        return name
    return ":".join([name, *filter(None, [view.text("dataset_config")]), view.text(split)])


def _is_hub(name: str) -> bool:
    from assay.tasks.data.files import is_hub

    return is_hub(name)


def data(view: FileView) -> Settings:
    name = view.text("dataset_name")
    if view.given("datasets"):
        view.let_lie("dataset_name", "`datasets` names the data, as in TRL")
    elif not name:
        view.need("data", "task", sentence="dataset_name is not in the file: name the problems with --data or --task.")
    elif not _is_hub(name):
        for key in ("dataset_config", "dataset_train_split", "dataset_test_split"):
            view.let_lie(key, f"{name} is a file, of which all rows are read")
    if view.text("eval_strategy") == "no":
        view.let_lie("dataset_test_split", "eval_strategy is `no`")
    if view.given("test_split_size"):
        view.tell("test_split_size", "a fifth of the rows is held out")
    return _places(view)


def exams(view: FileView) -> Settings:
    """Steps between exams; `no` leaves those before and after training."""
    if view.text("eval_strategy") == "no":
        view.let_lie("eval_steps", "eval_strategy is `no`")
        return {"evaluation.every": 0}
    every = view.real("eval_steps", view.real("logging_steps", 10.0))
    return _every(view, "eval_steps", "evaluation.every", every, view.text("eval_strategy"), "eval_strategy")


def _every(view: FileView, key: str, setting: str, every: float, strategy: str, kind: str) -> Settings:
    """A number of optimiser steps as steps."""
    if strategy != "steps" or every < 1:
        view.tell(kind if strategy != "steps" else key, f"--{setting.replace('_', '-')} counts steps")
        return {}
    return {setting: max(1, round(every / batch_of(view).updates))}


def saves(view: FileView) -> Settings:
    """Steps between checkpoints, and how many are kept."""
    kept = {"saving.keep": max(2, view.whole("save_total_limit", 2))} if view.given("save_total_limit") else {}
    if not view.given("save_steps") or view.text("save_strategy") != "steps":
        view.let_lie("save_steps", "save_strategy does not count steps")
        if view.text("save_strategy") != "steps":
            view.tell("save_strategy", "a run saves at its end, and every --saving.every steps")
        return kept
    made = _every(view, "save_steps", "saving.every", view.real("save_steps", 500.0), "steps", "save_strategy")
    return kept | made


def track(view: FileView) -> Settings:
    return trackers(view, "report_to")


def precision(view: FileView) -> Settings:
    if not view.given("bf16"):
        return {}
    return {"machine.precision": "bf16" if view.flag("bf16") else "fp32"}


RULES: dict[str, Rule] = {
    "batch": batch,
    "length": length,
    "warmup": warmup,
    "top_k": top_k,
    "generation": generation,
    "template": template,
    "norm": norm,
    "loss": loss,
    "keep": keep,
    "terms": regularise,
    "entropy": entropy,
    "reference": reference,
    "cut": cut,
    "mismatch": mismatch,
    "credit": credit,
    "reward": reward,
    "model": model,
    "lora": lora,
    "data": data,
    "exams": exams,
    "saves": saves,
    "trackers": track,
    "precision": precision,
}
