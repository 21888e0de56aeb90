"""What a file for verl's main_ppo says of a run: the rules of `verl.toml`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from assay.run.foreign.parts import (
    MIXED,
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
from assay.run.foreign.view import FileView

ACTOR, MODEL, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.model", "actor_rollout_ref.rollout"
LOSS, OPTIM = f"{ACTOR}.policy_loss", f"{ACTOR}.optim"
IS = "algorithm.rollout_correction"
EPSILON = 1e-6  # which verl adds to a standard deviation
AGGREGATE = {
    "token-mean": "token-mean",
    "seq-mean-token-mean": "sequence-mean",
    "seq-mean-token-sum": "sequence-sum",
    "seq-mean-token-sum-norm": "fixed-length",
}
ESTIMATOR = {"kl": "k1", "k1": "k1", "k1+": "k1+", "mse": "k2", "k2": "k2", "abs": "distance"}
ESTIMATOR |= {"low_var_kl": "k3", "k3": "k3", "low_var_kl+": "k3+", "k3+": "k3+"}
WHITEN = part("whiten", by="batch", over="tokens", ddof=1, epsilon=1e-8)
NORMALISED = "seq-mean-token-sum-norm"


def batch_of(view: FileView) -> Sizes:
    prompts, mini = view.whole("data.train_batch_size"), view.whole(f"{ACTOR}.ppo_mini_batch_size")
    if mini <= 0 or mini > prompts or prompts % mini:
        view.refuse(f"{ACTOR}.ppo_mini_batch_size", f"{prompts} prompts are no whole number of mini-batches of {mini}")
    minibatches = max(1, prompts // max(1, mini))
    return Sizes(prompts, minibatches, minibatches * view.whole(f"{ACTOR}.ppo_epochs", 1))


def batch(view: FileView) -> Settings:
    made, group = batch_of(view), view.whole(f"{ROLLOUT}.n", 1)
    numbers = {"num_prompts": made.prompts, "group_size": group, "num_minibatches": made.minibatches}
    return {f"scale.{name}": value for name, value in numbers.items()}


def data(view: FileView) -> Settings:
    """Files of rows; the column of prompts, if it is not verl's usual one."""
    if not (files := view.items("data.train_files")):
        view.need(
            "data", "task", sentence="data.train_files is not in the file: name the problems with --data or --task."
        )
    held, key = view.items("data.val_files"), view.text("data.prompt_key")
    made: Settings = {"data": files} if files else {}
    made |= {"eval_data": held} if held and files else {}
    made |= {"prompt_column": key} if key not in ("", "prompt") else {}
    return made | ({"skip_bad_rows": True} if files and view.flag("data.filter_overlong_prompts") else {})


def template(view: FileView) -> Settings:
    """The variables of the chat template, each under a key of its own."""
    begin = "data.apply_chat_template_kwargs."
    given = {key.removeprefix(begin): value for key, value in view.values.items() if key.startswith(begin)}
    return {"chat.variables": [f"{name}={_json(value)}" for name, value in given.items()]} if given else {}


def _json(value: object) -> str:
    """A value as JSON; hydra has numbers and truth values as text."""
    text = str(value)
    return text.lower() if text.lower() in ("true", "false") else json.dumps(value)


def length(view: FileView) -> Settings:
    """The number of steps, or epochs of the data."""
    if (total := view.count("trainer.total_training_steps")) is not None:
        for key in ("trainer.total_epochs", "data.train_max_samples"):
            view.let_lie(key, "total_training_steps gives the length")
        return {"steps": total}
    most, epochs = view.whole("data.train_max_samples", -1), view.real("trainer.total_epochs")
    return steps(view, "trainer.total_epochs", epochs, data(_aside(view)), batch_of(view).prompts, max(0, most) or None)


def _aside(view: FileView) -> FileView:
    """The same values, with verdicts of their own."""
    return FileView(view.keys, view.values)


def top_k(view: FileView) -> Settings:
    return {"scale.top_k": max(0, view.whole(f"{ROLLOUT}.top_k", -1))}


def optimiser(view: FileView) -> Settings:
    """The moments of AdamW, the bound on the norm, and the schedule."""
    beta1, beta2 = view.numbers(f"{OPTIM}.betas", 2)
    clipped = view.number(f"{ACTOR}.grad_clip" if view.given(f"{ACTOR}.grad_clip") else f"{OPTIM}.clip_grad")
    kinds = {"constant": "constant", "cosine": "cosine", "linear": "linear"}
    keys = [key for key in (f"{OPTIM}.warmup_style", f"{OPTIM}.lr_decay_style") if view.given(key)]
    schedule = view.chosen(keys[0] if keys else f"{OPTIM}.lr_scheduler_type", kinds, "constant")
    for name in ("min_lr", "min_lr_ratio", "num_cycles") if schedule == "constant" else ():
        view.let_lie(f"{OPTIM}.{name}", "the rate is constant")
    made = {"beta1": beta1, "beta2": beta2, "clip_norm": clipped or "none", "schedule": schedule}
    return {f"scale.{name}": value for name, value in made.items()}


def warmup(view: FileView) -> Settings:
    """Steps of warm-up as optimiser steps, or a share of all steps."""
    if view.whole(f"{OPTIM}.lr_warmup_steps", -1) >= 0:
        view.let_lie(f"{OPTIM}.lr_warmup_steps_ratio", "lr_warmup_steps is given")
    number, share = view.whole(f"{OPTIM}.lr_warmup_steps", -1), view.real(f"{OPTIM}.lr_warmup_steps_ratio")
    updates = batch_of(view).updates
    if number >= 0 or not share:
        return {"scale.warmup_steps": max(0, number) * updates}
    if (total := length(_aside(view)).get("steps")) is None:
        key = f"{OPTIM}.lr_warmup_steps_ratio"
        view.need("steps", sentence=f"{key} is a share of all steps: write --steps N and --scale.warmup-steps M.")
        return {}
    return {"scale.warmup_steps": math.ceil(share * total) * updates}


def loss(view: FileView) -> Settings:
    """Ratio, gate and aggregation of a loss."""
    if (chosen := view.chosen(f"{LOSS}.loss_mode", view.keys.choices["losses"])) is None:
        return {}
    _unread(view, chosen)
    ratio = chosen.get("ratio", "token")
    named = {"recipe": chosen["recipe"]} if "recipe" in chosen else {}
    return named | {
        "mechanism.objective.aggregate": _aggregate(view, chosen),
        "mechanism.objective.ratio": part("sequence", of="mean") if ratio == "sequence" else ratio,
        "mechanism.objective.gate": _gate(view, chosen),
        "mechanism.objective.keep": _kept(view, chosen),
    }


def _aggregate(view: FileView, chosen: Mapping[str, Any]) -> str:
    key, factor = f"{ACTOR}.loss_agg_mode", view.number(f"{ACTOR}.loss_scale_factor")
    mean = view.chosen(key, AGGREGATE, "token-mean")
    if (forced := chosen.get("aggregate", mean)) != mean:
        view.let_lie(key, f"loss_mode is {view.text(f'{LOSS}.loss_mode')}, which means over answers")
    if factor is not None and view.text(key) == NORMALISED and factor != view.real("data.max_response_length"):
        view.refuse(f"{ACTOR}.loss_scale_factor", "the constant of the mean is data.max_response_length")
    return forced


def _sides(view: FileView) -> tuple[float, float]:
    """The clip range. Each side has a default of its own in verl, so that clip_ratio alone changes nothing there."""
    both = view.real(f"{ACTOR}.clip_ratio", 0.2)
    keys = [f"{ACTOR}.clip_ratio_{side}" for side in ("low", "high")]
    low, high = (both if key in view.values and not view.given(key) else view.real(key) for key in keys)
    return low, high


def _gate(view: FileView, chosen: Mapping[str, Any]) -> Part:
    """The gate of a loss, with the numbers of the file."""
    low, high = _sides(view)
    gates: dict[str, Part] = {
        "clip": clip(low, high, view.number(f"{ACTOR}.clip_ratio_c") if chosen.get("dual") else None),
        "soft": part("soft", up=view.real(f"{ACTOR}.tau_pos"), down=view.real(f"{ACTOR}.tau_neg")),
        "bounded": part("bounded", least=1 - low, most=1 + high),
        "capped": part("bounded", least=0.0, most=20.0),
        "geometric": part("geometric", low=low, high=high),
        "open": part("open"),
    }
    return gates[chosen["gate"]]


def _kept(view: FileView, chosen: Mapping[str, Any]) -> list[Part]:
    """The tokens that have a gradient under this loss."""
    low, high = _sides(view)
    if chosen.get("keep") == "near":
        return [part("near", kind=chosen["distance"], low=low, high=high)]
    return [_covariance(view, high)] if chosen.get("keep") == "covariance" else []


def _covariance(view: FileView, high: float) -> Part:
    """The tokens that clip_cov leaves out: a share of those of a large covariance."""
    names = ("clip_cov_ratio", "clip_cov_lb", "clip_cov_ub")
    share, least, most = (view.real(f"{LOSS}.{name}") for name in names)
    return part("covariance", share=share, pick="draw", low=least, high=most, open=high, side="out")


def _unread(view: FileView, chosen: Mapping[str, Any]) -> None:
    """The keys that a loss does not read, in verl neither."""
    covered = [f"{LOSS}.clip_cov_{name}" for name in ("ratio", "lb", "ub")] if "keep" not in chosen else []
    soft = [f"{ACTOR}.tau_pos", f"{ACTOR}.tau_neg"] if chosen["gate"] != "soft" else []
    dual = [] if chosen.get("dual") else [f"{ACTOR}.clip_ratio_c"]
    sides = [f"{ACTOR}.clip_ratio_low", f"{ACTOR}.clip_ratio_high"]
    null = [key for key in sides if key in view.values and not view.given(key)]
    if view.given(f"{ACTOR}.clip_ratio") and not null and view.real(f"{ACTOR}.clip_ratio") != 0.2:
        view.tell(f"{ACTOR}.clip_ratio", "verl reads it only for a side that is null: write clip_ratio_low and _high")
    clipped = [f"{ACTOR}.clip_ratio", *sides] if chosen["gate"] in ("soft", "open") else []
    for key in (*covered, *soft, *dual, *clipped):
        view.let_lie(key, f"loss_mode is {view.text(f'{LOSS}.loss_mode')}, which does not read it")


def regularise(view: FileView) -> Settings:
    """The KL penalty of the loss and the entropy bonus."""
    used = view.flag(f"{ACTOR}.use_kl_loss")
    estimator = view.chosen(f"{ACTOR}.kl_loss_type", ESTIMATOR, "k3")
    for name in () if used else ("kl_loss_coef", "kl_loss_type"):
        view.let_lie(f"{ACTOR}.{name}", "use_kl_loss is off")
    weight = view.real(f"{ACTOR}.kl_loss_coef") if used else 0.0
    made = terms(kl=weight, estimator=estimator, entropy=view.real(f"{ACTOR}.entropy_coeff"))
    return {"mechanism.objective.regularise": made}


def kl_reward(view: FileView) -> Settings:
    """The KL penalty as a part of the reward of each token."""
    if not view.flag("algorithm.use_kl_in_reward"):
        for key in ("algorithm.kl_ctrl.kl_coef", "algorithm.kl_penalty"):
            view.let_lie(key, "use_kl_in_reward is off")
        return {}
    kinds = {name: kind for name, kind in ESTIMATOR.items() if kind in ("k1", "k2", "k3")}
    estimator = view.chosen("algorithm.kl_penalty", kinds, "k1")
    penalty = part("token-kl", weight=view.real("algorithm.kl_ctrl.kl_coef"), estimator=estimator)
    return {"mechanism.forwards": [penalty], "models": {"policy": {}, "reference": {"trained": False}}}


def credit(view: FileView) -> Settings:
    """The advantage, and the recipe that is known for it."""
    key, norm = "algorithm.adv_estimator", "algorithm.norm_adv_by_std_in_grpo"
    name, scale = view.text(key), "std" if view.flag(norm) else "none"
    if name in (others := view.keys.choices["elsewhere"]):
        view.refuse(key, f"write the recipe that has it: `assay train {others[name]['recipe']}`")
        return {}
    if (chosen := view.chosen(key, view.keys.choices["estimators"])) is None:
        return {}
    if not chosen.get("group"):
        view.let_lie(norm, f"adv_estimator is {name}, which does not read it")
    made = {"mechanism.credit": advantage(scale, EPSILON) if chosen.get("group") else chosen["credit"]}
    made["mechanism.shape"] = [WHITEN] if chosen.get("whiten") else []
    return {**_recipe(view, chosen, scale), **made}


def _recipe(view: FileView, chosen: Mapping[str, Any], scale: str) -> Settings:
    """The recipe of an estimator, unless the loss has one of its own."""
    if "recipe" in view.keys.choices["losses"].get(view.text(f"{LOSS}.loss_mode"), {}):
        return {}
    of_grpo = "dapo" if view.flag("algorithm.filter_groups.enable") else "dr-grpo" if scale == "none" else "grpo"
    return {"recipe": chosen.get("recipe", of_grpo)}


def filter_groups(view: FileView) -> Settings:
    """Dynamic sampling: further prompts are drawn until enough groups have rewards that differ."""
    begin = "algorithm.filter_groups"
    drawn, prompts = view.count("data.gen_batch_size"), view.whole("data.train_batch_size")
    if not view.flag(f"{begin}.enable"):
        for key in (f"{begin}.metric", f"{begin}.max_num_gen_batches", "data.gen_batch_size"):
            view.let_lie(key, "filter_groups is off")
        return {}
    metrics = {
        "acc": "accuracy",
        "": "accuracy",
        "score": "reward",
        "seq_reward": "reward",
        "seq_final_reward": "reward",
    }
    by = view.chosen(f"{begin}.metric", metrics, "accuracy")
    rounds = view.whole(f"{begin}.max_num_gen_batches") or 1000
    made: Settings = {"mechanism.expand": [part("refill", max_rounds=rounds)]}
    made["mechanism.curate"] = [MIXED[0] | {"by": by}, *MIXED[1:]]
    return made | ({"scale.oversample": max(1, drawn // prompts)} if drawn else {})


def mismatch(view: FileView) -> Settings:
    """Weights and rejection against the mismatch of sampler and learner."""
    rejected, within = _rejection(view)
    weighed = _weights(view, within)
    if rejected or within:
        view.tell(f"{IS}.rollout_rs", "what is rejected stays in the denominator of the loss")
    return {"mechanism.objective.correct": [*rejected, *weighed]}


def _weights(view: FileView, within: tuple[float, float] | None) -> list[Part]:
    """The importance weights: at most a cap, or 0 outside of a range, which is also `within` of rejected tokens."""
    key = f"{IS}.rollout_is_threshold"
    if not view.text(f"{IS}.rollout_is"):
        for name in ("rollout_is_threshold", "rollout_is_batch_normalize"):
            view.let_lie(f"{IS}.{name}", "rollout_is is not set")
        if within:
            view.refuse(f"{IS}.rollout_rs", "single tokens are rejected only with weights: rollout_is=token")
        return []
    level = view.chosen(f"{IS}.rollout_is", {"token": "token", "sequence": "sequence"}, "token")
    bounds = _bounds(view, key)
    normal = view.flag(f"{IS}.rollout_is_batch_normalize")
    if len(bounds) == 1 and within is None:
        return [part("truncate", cap=bounds[0], level=level, normalise=normal)]
    low, high = within or (bounds[0], bounds[-1])
    if normal or (within and (level != "token" or len(bounds) > 1 or bounds[0] < high)):
        view.refuse(key, "weights with a range are not normalised, and a cap below the range of rejection has no part")
    return [part("drop", low=low, high=high, level=level)]


def _bounds(view: FileView, key: str) -> list[float]:
    """One bound, or two as LOWER_UPPER."""
    texts = [text for text in view.text(key).split("_") if text]
    return FileView(view.keys, {key: texts}).numbers(key) if texts else []


def _rejection(view: FileView) -> tuple[list[Part], tuple[float, float] | None]:
    """(parts that leave answers out by a measure of the mismatch; the range of the weights of tokens that stay)."""
    if not (by := view.text(f"{IS}.rollout_rs")):
        view.let_lie(f"{IS}.rollout_rs_threshold", "rollout_rs is not set")
        return [], None
    kinds = {"seq_mean_k1": "geometric", "seq_mean_k2": "k2", "seq_mean_k3": "k3", "token_k1": "token"}
    measure = view.chosen(f"{IS}.rollout_rs", kinds)
    bounds = _bounds(view, f"{IS}.rollout_rs_threshold")
    if measure is None or len(bounds) != (2 if by.endswith("k1") else 1):
        view.refuse(f"{IS}.rollout_rs_threshold", "k1 has two bounds, LOWER_UPPER, and other measures one")
        return [], None
    if measure in ("k2", "k3"):
        return [part("reject", by=measure, high=bounds[0])], None
    low, high = 1 / bounds[1], 1 / bounds[0]  # verl bounds the inverse ratio
    return ([], (low, high)) if measure == "token" else ([part("reject", by=measure, low=low, high=high)], None)


def reward(view: FileView) -> Settings:
    """A function of the user's in place of the verifier, and the punishment of overlong answers."""
    made: Settings = {}
    for begin in ("reward.custom_reward_function", "custom_reward_function"):
        if path := view.text(f"{begin}.path"):
            made["reward"] = [f"{path}:{view.text(f'{begin}.name')}"]
        else:
            view.let_lie(f"{begin}.name", "no path is given")
    for key in ("reward.reward_manager.name", "reward_model.reward_manager"):
        if view.given(key):
            view.chosen(key, view.keys.choices["managers"])
    return made | _overlong(view)


def _overlong(view: FileView) -> Settings:
    """The soft punishment of overlong answers, if one of the two places for it switches it on."""
    for begin in ("reward.reward_kwargs.overlong_buffer_cfg", "reward_model.reward_kwargs.overlong_buffer_cfg"):
        if view.flag(f"{begin}.enable"):
            buffer, factor = view.whole(f"{begin}.len"), view.real(f"{begin}.penalty_factor")
            return {"mechanism.reward": [OUTCOME, part("soft-overlong", buffer=max(1, buffer), factor=factor)]}
        for name in ("len", "penalty_factor"):
            view.let_lie(f"{begin}.{name}", "the overlong buffer is off")
    return {}


def lora(view: FileView) -> Settings:
    """An adapter that begins anew, or one that is there."""
    for begin in (f"{MODEL}.lora_", f"{MODEL}.lora."):
        if rank := view.whole(f"{begin}rank"):
            other = f"{MODEL}.lora." if begin.endswith("_") else f"{MODEL}.lora_"
            view.let_lie(f"{other}rank", "the rank is given in another place")
            view.let_lie(f"{other}alpha", "the rank is given in another place")
            return adapter(rank, view.real(f"{begin}alpha"), view.items(f"{MODEL}.target_modules"))
    for key in (f"{MODEL}.lora_alpha", f"{MODEL}.lora.alpha", f"{MODEL}.target_modules"):
        view.let_lie(key, "the rank is 0")
    path = view.text(f"{MODEL}.lora_adapter_path")
    return {"model": path} if path else {}


def exams(view: FileView) -> Settings:
    """Steps between exams, and how their answers are sampled."""
    every, begin = view.whole("trainer.test_freq", -1), f"{ROLLOUT}.val_kwargs"
    heat = view.real(f"{begin}.temperature") if view.flag(f"{begin}.do_sample") else 0.0
    if not view.flag(f"{begin}.do_sample"):
        view.let_lie(f"{begin}.temperature", "val_kwargs.do_sample is off: exams are greedy")
    samples = view.whole(f"{begin}.n", 1)
    return {"evaluation.every": max(0, every), "evaluation.num_samples": samples, "evaluation.temperature": heat}


def saves(view: FileView) -> Settings:
    """Steps between checkpoints, and how many are kept."""
    every, kept = view.whole("trainer.save_freq", -1), view.count("trainer.max_actor_ckpt_to_keep")
    if every < 1:
        view.let_lie("trainer.save_freq", "a run saves at its end, and every half hour")
    made = {"saving.every": every} if every > 0 else {}
    return made | ({"saving.keep": max(2, kept)} if kept else {})


def track(view: FileView) -> Settings:
    return trackers(view, "trainer.logger", silent=("console", "file"))


RULES: dict[str, Rule] = {
    "batch": batch,
    "data": data,
    "template": template,
    "length": length,
    "top_k": top_k,
    "optimiser": optimiser,
    "warmup": warmup,
    "loss": loss,
    "terms": regularise,
    "kl_reward": kl_reward,
    "credit": credit,
    "filter": filter_groups,
    "mismatch": mismatch,
    "reward": reward,
    "lora": lora,
    "exams": exams,
    "saves": saves,
    "trackers": track,
}
