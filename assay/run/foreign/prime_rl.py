"""What a file for prime-rl's `rl` says of a run: the rules of `prime_rl.toml`."""

from __future__ import annotations

import json
import re
from typing import Any

from assay.run.foreign.parts import MIXED, Rule, Settings, adapter, part
from assay.run.foreign.view import FileView

SOURCE = "orchestrator.train.source"
SAMPLING = "orchestrator.train.sampling"
GATE = re.compile(r"orchestrator\.train\.source\.\d+\.curriculum\.gates\.")
ROWS = "math-env"  # the environment of theirs that reads rows with golds, as `--data` does


def batch(view: FileView) -> Settings:
    """A step has so many answers, in groups."""
    answers, group = view.whole("orchestrator.batch_size", 128), view.whole("orchestrator.group_size", 1)
    if group < 1 or answers % group:
        view.refuse("orchestrator.batch_size", f"{answers} answers are no whole number of groups of {group}")
    return {
        "scale.num_prompts": max(1, answers // max(1, group)),
        "scale.group_size": group,
        "scale.num_minibatches": 1,
    }


def length(view: FileView) -> Settings:
    if (most := view.count("max_steps")) is None:
        view.need("steps", sentence="max_steps is not in the file, and such a run has no end: write --steps N.")
        return {}
    return {"steps": most}


def model(view: FileView) -> Settings:
    """The name of the model in another place, if `model.name` does not say it."""
    if view.given("model.name"):
        view.let_lie("trainer.model.name", "model.name names the model")
        return {}
    name = view.text("trainer.model.name")
    return {"model": name} if name else {}


def lora(view: FileView) -> Settings:
    rank = view.whole("trainer.model.lora.rank")
    if not rank:
        return {}
    alpha, targets = view.real("trainer.model.lora.alpha"), view.items("trainer.model.lora.target_modules")
    return adapter(rank, alpha, targets)


def limit(view: FileView) -> Settings:
    """The limit of answers, or of prompt and answer together."""
    wider = "orchestrator.seq_len" if view.given("orchestrator.seq_len") else "seq_len"
    if view.given(f"{SAMPLING}.max_completion_tokens"):
        view.let_lie(wider, "max_completion_tokens gives the limit, and prompts are never cut")
        return {"scale.max_new": view.count(f"{SAMPLING}.max_completion_tokens")}
    if wider != "seq_len":
        view.let_lie("seq_len", "orchestrator.seq_len gives the limit")
    return {"scale.max_new": view.count(wider)}


def template(view: FileView) -> Settings:
    """The variables of the chat template, each under a key of its own."""
    begin = f"{SAMPLING}.extra_body.chat_template_kwargs."
    given = {key.removeprefix(begin): value for key, value in view.values.items() if key.startswith(begin)}
    return {"chat.variables": [f"{name}={json.dumps(value)}" for name, value in given.items()]} if given else {}


def norm(view: FileView) -> Settings:
    return {"scale.clip_norm": view.number("trainer.optim.max_norm") or "none"}


def schedule(view: FileView) -> Settings:
    """A constant rate, or one that falls to 0; their linear schedule falls in its last steps alone."""
    kind = view.chosen("trainer.scheduler.type", {name: name for name in ("constant", "linear", "cosine")}, "constant")
    if kind == "constant":
        for name in ("warmup_steps", "decay_steps"):
            view.let_lie(f"trainer.scheduler.{name}", "the rate is constant")
        return {"scale.schedule": kind, "scale.warmup_steps": 0}
    warm = view.whole("trainer.scheduler.warmup_steps")
    if kind == "cosine":
        view.let_lie("trainer.scheduler.decay_steps", "the cosine falls in all steps")
    elif view.whole("trainer.scheduler.decay_steps") != view.whole("max_steps") - warm:
        view.refuse("trainer.scheduler.decay_steps", "a linear schedule falls from the warm-up to the last step")
    return {"scale.schedule": kind, "scale.warmup_steps": warm}


def credit(view: FileView) -> Settings:
    """The advantage: the reward less the mean of the group, or that over the mean (MaxRL)."""
    late = "every answer is written by the newest weights; `--mechanism.collect ahead` writes them some steps before"
    view.tell("orchestrator.max_off_policy_steps", late)
    chosen = view.chosen("orchestrator.algo.type", view.keys.choices["estimators"])
    return {} if chosen is None else {"recipe": chosen["recipe"], "mechanism.credit": chosen["credit"]}


def loss(view: FileView) -> Settings:
    """DPPO: the ratio to the sampler as a weight, without tokens that moved too far; and a squared log-ratio."""
    names = ("low", "high")
    if view.text("trainer.loss.type") != "default":
        view.refuse("trainer.loss.type", "the loss with a counterpart is `default`")
    low, high = (view.real(f"trainer.loss.dppo_mask_{name}") for name in names)
    weight = 2 * view.real("trainer.loss.kl_tau")
    squared = [part("kl", weight=weight, estimator="k2", anchor="old")] if weight else []
    return {
        "mechanism.objective.ratio": "token",
        "mechanism.objective.anchor": "sampler",
        "mechanism.objective.gate": "plain",
        "mechanism.objective.keep": [part("near", kind="tv", low=low, high=high)],
        "mechanism.objective.aggregate": "token-mean",
        "mechanism.objective.regularise": squared,
    }


def filtered(view: FileView) -> Settings:
    """Groups of equal rewards do not train; a gate also draws other prompts in their place."""
    kinds = [str(value) for key, value in view.values.items() if GATE.match(key) and key.endswith(".type")]
    for key, value in view.values.items():
        if GATE.match(key) and not _is_plain(key, value):
            view.refuse(key, "the gate with a counterpart leaves out groups whose advantages are all 0")
    if kinds:
        return {"mechanism.expand": [part("refill", max_rounds=1000)], "mechanism.curate": MIXED}
    return {"mechanism.curate": MIXED[:1] if view.flag("orchestrator.train.filter_zero_advantages") else []}


def _is_plain(key: str, value: Any) -> bool:
    """Whether a value of a gate says that advantages of 0 are left out."""
    if key.endswith(".type"):
        return value == "advantage_range"
    return key.rpartition(".")[2] in ("reject_min", "reject_max") and value == 0


def data(view: FileView) -> Settings:
    """Tasks of Assay's that the sources name, or the rows of an environment that reads rows."""
    tasks, files, missing = [], [], []
    for at in range(_count(view)):
        begin = f"{SOURCE}.{at}.env.taskset."
        name, weight = view.text(f"{begin}id"), view.real(f"{SOURCE}.{at}.ratio", 1.0)
        if name == ROWS and view.given(f"{begin}dataset_name"):
            files.append(_rows(view, begin))
        elif _is_task(name):
            tasks.append(name + ("" if weight == 1 else f"={weight!r}"))
        else:
            missing.append(name)
            view.tell(f"{begin}id", "no task of that name: `assay list tasks`, or --task and --data in its place")
    if missing or not (tasks or files):
        names = ", ".join(missing) or "none"
        view.need(
            "data", "task", sentence=f"the environments {names} are not here: name problems with --task or --data."
        )
    return {name: value for name, value in (("task", tasks), ("data", files)) if value and not missing}


def _count(view: FileView) -> int:
    """How many sources of training problems there are."""
    found = [re.match(rf"{re.escape(SOURCE)}\.(\d+)\.", key) for key in view.values]
    return 1 + max((int(match[1]) for match in found if match), default=-1)


def _rows(view: FileView, begin: str) -> str:
    parts = (view.text(f"{begin}dataset_{name}") for name in ("subset", "split"))
    return ":".join([view.text(f"{begin}dataset_name"), *filter(None, parts)])


def _is_task(name: str) -> bool:
    from assay.tasks import TASKS

    return name.partition(":")[0].partition("=")[0] in TASKS


def exams(view: FileView) -> Settings:
    """Steps between exams, and their size; without a table for them there are those before and after training."""
    begin = "orchestrator.eval"
    if not any(key.startswith(f"{begin}.") for key in view.values):
        return {"evaluation.every": 0}
    made: Settings = {"evaluation.every": view.whole(f"{begin}.interval", 100)}
    made["evaluation.num_samples"] = view.whole(f"{begin}.group_size", 1)
    asked = view.whole(f"{begin}.num_examples", -1)
    return made | ({"evaluation.num_problems": asked} if asked > 0 else {})


def saves(view: FileView) -> Settings:
    return {"saving.keep": max(2, view.whole("ckpt.keep_last", 2))} if view.given("ckpt.keep_last") else {}


def track(view: FileView) -> Settings:
    """Weights & Biases, if there is a table for it."""
    if not any(key.startswith("monitors.wandb") for key in view.values):
        return {}
    project = view.text("monitors.wandb.project")
    return {"track": ["wandb"]} | ({"tracking.project": project} if project else {})


RULES: dict[str, Rule] = {
    "batch": batch,
    "length": length,
    "model": model,
    "lora": lora,
    "limit": limit,
    "template": template,
    "norm": norm,
    "schedule": schedule,
    "credit": credit,
    "loss": loss,
    "filter": filtered,
    "data": data,
    "exams": exams,
    "saves": saves,
    "trackers": track,
}
