"""What the options of OpenRLHF's train_ppo_ray say of a run: the rules of `openrlhf.toml`."""

from __future__ import annotations

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
)
from assay.run.foreign.view import FileView

EPSILON = 1e-9  # which OpenRLHF adds to the standard deviation of a group
WHITEN = part("whiten", by="batch", over="tokens", ddof=0, epsilon=1e-8)
IS = "algo.advantage.is_correction"


def batch_of(view: FileView) -> Sizes:
    prompts, group = view.whole("rollout.batch_size"), view.whole("rollout.n_samples_per_prompt")
    size = view.whole("train.batch_size")
    if size <= 0 or prompts * group % size:
        view.refuse("train.batch_size", f"{prompts * group} answers are no whole number of batches of {size}")
    minibatches = max(1, prompts * group // max(1, size))
    return Sizes(prompts, minibatches, minibatches * view.whole("train.max_epochs", 1))


def batch(view: FileView) -> Settings:
    made, group = batch_of(view), view.whole("rollout.n_samples_per_prompt")
    numbers = {"num_prompts": made.prompts, "group_size": group, "num_minibatches": made.minibatches}
    return {f"scale.{name}": value for name, value in numbers.items()}


def data(view: FileView) -> Settings:
    """Data sets with their splits, and the columns of prompts and answers."""
    names, held = view.items("data.prompt_dataset"), view.items("eval.dataset")
    if not names:
        sentence = "data.prompt_dataset is not in the file: name the problems with --data or --task."
        view.need("data", "task", sentence=sentence)
        return {}
    columns = {"prompt_column": view.text("data.input_key"), "answer_column": view.text("data.label_key")}
    made: Settings = {"data": [_place(name, view.text("data.prompt_split")) for name in names]}
    made |= {"eval_data": [_place(name, view.text("eval.split")) for name in held]} if held else {}
    return made | {name: column for name, column in columns.items() if column}


def _place(name: str, split: str) -> str:
    from assay.tasks.data.files import is_hub

    return f"{name}:{split}" if is_hub(name) and ":" not in name else name


def length(view: FileView) -> Settings:
    """As many steps as the episodes take."""
    most, episodes = view.whole("data.max_samples"), view.real("train.num_episodes")
    return steps(view, "train.num_episodes", episodes, data(_aside(view)), batch_of(view).prompts, most)


def _aside(view: FileView) -> FileView:
    """The same values, with verdicts of their own."""
    return FileView(view.keys, view.values)


def limit(view: FileView) -> Settings:
    """The limit of answers, or of prompt and answer together."""
    if view.given("rollout.max_new_tokens"):
        view.let_lie("data.max_len", "max_new_tokens gives the limit, and prompts are never cut")
        return {"scale.max_new": view.count("rollout.max_new_tokens")}
    return {"scale.max_new": view.count("data.max_len")}


def optimiser(view: FileView) -> Settings:
    """The moments of AdamW, the bound on the norm, and the schedule, which ends at 0."""
    beta1, beta2 = view.numbers("actor.adam.betas", 2)
    kinds = {"constant": "constant", "constant_with_warmup": "constant", "linear": "linear", "cosine": "cosine"}
    schedule = view.chosen("actor.lr_scheduler", kinds | {"cosine_with_min_lr": "cosine"}, "cosine")
    if view.text("actor.lr_scheduler") == "cosine_with_min_lr" and (least := view.real("actor.min_lr_ratio", 0.1)):
        view.tell("actor.lr_scheduler", f"the cosine ends at a rate of 0 here, and at {least:g} of the rate there")
    made = {"beta1": beta1, "beta2": beta2, "clip_norm": view.number("actor.max_norm") or "none", "schedule": schedule}
    return {f"scale.{name}": value for name, value in made.items()}


def warmup(view: FileView) -> Settings:
    """A share of all optimiser steps."""
    if not (share := view.real("actor.lr_warmup_ratio")):
        return {"scale.warmup_steps": 0}
    if (total := length(_aside(view)).get("steps")) is None:
        return {}  # the steps are asked for already, and a run warms up for a twentieth of them
    return {"scale.warmup_steps": math.ceil(share * total * batch_of(view).updates)}


def loss(view: FileView) -> Settings:
    """Ratio, clip range and aggregation of a loss."""
    kind = view.chosen("actor.policy_loss_type", {"ppo": "ppo", "gspo": "gspo"}, "ppo")
    low = high = view.real("actor.eps_clip", 0.2)
    if view.given("actor.eps_clip_low_high"):
        view.let_lie("actor.eps_clip", "eps_clip_low_high gives both sides")
        low, high = view.numbers("actor.eps_clip_low_high", 2)
    made: Settings = {"recipe": "gspo"} if kind == "gspo" else {}
    return made | {
        "mechanism.objective.ratio": part("sequence", of="mean") if kind == "gspo" else "token",
        "mechanism.objective.gate": clip(low, high, view.number("actor.dual_clip")),
        "mechanism.objective.aggregate": "sequence-mean" if kind == "gspo" else "token-mean",
    }


def penalties(view: FileView) -> Settings:
    """The KL penalty, in the loss or in the reward of each token, and the entropy bonus."""
    weight, entropy = view.real("algo.kl.init_coef"), view.real("actor.entropy_coef")
    estimator = view.chosen("algo.kl.estimator", {name: name for name in ("k1", "k2", "k3")}, "k1")
    if not weight:
        for key in ("algo.kl.use_loss", "algo.kl.estimator"):
            view.let_lie(key, "algo.kl.init_coef is 0")
    if view.flag("algo.kl.use_loss") or not weight:
        return {"mechanism.objective.regularise": terms(kl=weight, estimator=estimator, entropy=entropy)}
    penalty = part("token-kl", weight=weight, estimator=estimator)
    made: Settings = {"mechanism.forwards": [penalty], "models": {"policy": {}, "reference": {"trained": False}}}
    return made | {"mechanism.objective.regularise": terms(entropy=entropy)}


def credit(view: FileView) -> Settings:
    """The advantage, and the recipe that is known for it."""
    key, plainly = "algo.advantage.estimator", "algo.advantage.no_std_norm"
    name, plain = view.text(key), view.flag(plainly)
    if name in (others := view.keys.choices["elsewhere"]):
        view.refuse(key, f"write the recipe that has it: `assay train {others[name]['recipe']}`")
        return {}
    if (chosen := view.chosen(key, view.keys.choices["estimators"])) is None:
        return {}
    if plain and chosen.get("whiten"):
        view.tell(plainly, "the mean over tokens is not subtracted from advantages then")
    elif plain:
        view.let_lie(plainly, f"the estimator is {name}, which does not read it")
    made = {"mechanism.credit": chosen["credit"] if "credit" in chosen else advantage(chosen["scale"], EPSILON)}
    made["mechanism.shape"] = [WHITEN] if chosen.get("whiten") and not plain else []
    return {**_recipe(view, chosen), **made}


def _recipe(view: FileView, chosen: Mapping[str, Any]) -> Settings:
    """The recipe of an estimator, unless the loss has one of its own."""
    if view.text("actor.policy_loss_type") == "gspo":
        return {}
    filtering = view.flag("algo.dynamic_filtering_enable") and chosen.get("scale") == "std"
    return {"recipe": "dapo" if filtering else chosen["recipe"]}


def mismatch(view: FileView) -> Settings:
    """The weights against the mismatch of sampler and learner."""
    if not view.flag(f"{IS}_enable"):
        for name in ("type", "threshold"):
            view.let_lie(f"{IS}_{name}", "the correction is off")
        return {}
    low, high = view.numbers(f"{IS}_threshold", 2)
    parts: dict[str, Part] = {
        "truncate": part("truncate", cap=high, level="token"),
        "weigh": part("truncate", cap=1e9, level="token"),
        "drop": part("drop", low=low, high=high, level="token"),
        "reject": part("reject", by="geometric", low=low, high=high),
    }
    names = view.chosen(f"{IS}_type", view.keys.choices["corrections"], {"parts": []})["parts"]
    if "truncate" in names and low:
        view.tell(f"{IS}_threshold", f"weights have the upper bound {high:g} alone, and no lower bound")
    if view.text("actor.policy_loss_type") == "gspo":
        view.tell(f"{IS}_enable", "gspo has weights of the mismatch beside its ratio, and not within it")
    return {"mechanism.objective.correct": [parts[name] for name in names]}


def filtered(view: FileView) -> Settings:
    """Dynamic filtering: further prompts are drawn until enough groups have rewards that differ."""
    key = "algo.dynamic_filtering_range"
    if not view.flag("algo.dynamic_filtering_enable"):
        view.let_lie(key, "dynamic filtering is off")
        return {}
    if view.numbers(key) != [0.0, 1.0]:
        view.refuse(key, "groups are left out whose rewards are all alike: 0 to 1. The part `band` has other ranges")
    return {"mechanism.expand": [part("refill", max_rounds=1000)], "mechanism.curate": MIXED}


def reward(view: FileView) -> Settings:
    """A file with a function `reward_func`, and penalties of long answers."""
    made: Settings = {}
    if url := view.text("reward.remote_url"):
        if url.endswith(".py"):
            made["reward"] = [f"{url}:reward_func"]
        else:
            view.refuse("reward.remote_url", "name a file: a function there may ask this address")
    return made | _long(view)


def _long(view: FileView) -> Settings:
    """The soft punishment of overlong answers, or the factor on answers that the limit cut."""
    buffer, factor = view.count("reward.overlong_buffer_len"), view.real("reward.overlong_penalty_factor", 1.0)
    cut = view.number("reward.stop_properly_penalty_coef")
    if buffer is None:
        view.let_lie("reward.overlong_penalty_factor", "there is no overlong buffer")
    if cut is not None and view.given("reward.remote_url"):
        if cut:
            view.refuse("reward.stop_properly_penalty_coef", "a function's reward of a cut answer is 0: --cut wrong")
        return {"cut": "wrong"} | _soft(buffer, factor)
    if cut is not None:
        name = view.keys.choices["parts"]["cut-answers"]["reward"]
        return {"mechanism.reward": [part(name, right=1.0, wrong=0.0, cut=cut)]}
    return _soft(buffer, factor)


def _soft(buffer: int | None, factor: float) -> Settings:
    if buffer is None:
        return {}
    return {"mechanism.reward": [OUTCOME, part("soft-overlong", buffer=max(1, buffer), factor=factor)]}


def ahead(view: FileView) -> Settings:
    """Answers by the weights of some steps before, as with a queue between sampler and learner."""
    if not view.flag("train.async_enable"):
        view.let_lie("train.async_queue_size", "train.async_enable is off")
        return {}
    if view.flag("train.partial_rollout_enable"):
        view.tell("train.partial_rollout_enable", "one version of the weights writes a whole answer")
    return {"mechanism.collect": [part("ahead", lag=view.whole("train.async_queue_size", 1))]}


def lora(view: FileView) -> Settings:
    """A low-rank adapter."""
    if not (rank := view.whole("ds.lora.rank")):
        for name in ("alpha", "target_modules", "dropout"):
            view.let_lie(f"ds.lora.{name}", "the rank is 0")
        return {}
    return adapter(rank, view.real("ds.lora.alpha", 16.0), view.items("ds.lora.target_modules"))


def exams(view: FileView) -> Settings:
    return {"evaluation.every": max(0, view.whole("eval.steps", -1))}


def saves(view: FileView) -> Settings:
    """Steps between checkpoints, and how many are kept."""
    every, kept = view.whole("ckpt.save_steps", -1), view.count("ckpt.max_num")
    made = {"saving.every": every} if every > 0 else {}
    return made | ({"saving.keep": max(2, kept)} if kept else {})


def track(view: FileView) -> Settings:
    """The trackers of which something is said."""
    names = {"tensorboard": "logger.tensorboard_dir", "wandb": "logger.wandb.key"}
    ours = [name for name, key in names.items() if view.given(key)]
    return {"track": ours} if ours else {}


RULES: dict[str, Rule] = {
    "batch": batch,
    "data": data,
    "length": length,
    "limit": limit,
    "optimiser": optimiser,
    "warmup": warmup,
    "loss": loss,
    "terms": penalties,
    "credit": credit,
    "mismatch": mismatch,
    "filter": filtered,
    "reward": reward,
    "ahead": ahead,
    "lora": lora,
    "exams": exams,
    "saves": saves,
    "trackers": track,
}
