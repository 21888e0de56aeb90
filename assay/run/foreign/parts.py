"""Our parts as data, for the rules of other systems, and what several of them compute in one way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import AssayError
from assay.run.foreign.view import FileView

Part = dict[str, Any]
Settings = dict[str, Any]
"""What a rule gives of a setup: a field, or the path of a setting -> value."""


class Sizes(NamedTuple):
    """The sizes of a step: prompts, mini-batches of their answers, and optimiser steps over all passes."""

    prompts: int
    minibatches: int
    updates: int


def part(name: str, **fields: Any) -> Part:
    """A part with those of its fields that are not None."""
    return {"part": name} | {key: value for key, value in fields.items() if value is not None}


def clip(low: float, high: float, dual: float | None = None) -> Part:
    """PPO's clip."""
    return part("clip", low=low, high=high, dual=dual)


def advantage(scale: str, epsilon: float, ddof: int = 1) -> Part:
    """GRPO's advantage: the reward less the mean of the group, divided by what `scale` names."""
    return part("group-relative", scale=scale, ddof=ddof, epsilon=epsilon)


def terms(*, kl: float = 0.0, estimator: str = "k3", entropy: float = 0.0) -> list[Part]:
    """The terms beside the policy loss that have a weight."""
    penalty = [part("kl", weight=kl, estimator=estimator)] if kl else []
    return [*penalty, *([part("entropy", weight=entropy)] if entropy else [])]


OUTCOME = part("outcome", right=1.0, wrong=0.0)
MIXED = [part("mixed-groups", by="reward"), part("first-groups")]
PLAIN: Settings = {
    "mechanism.source": "uniform",
    "mechanism.ask": [],
    "mechanism.expand": [],
    "mechanism.collect": [],
    "mechanism.reward": [OUTCOME],
    "mechanism.curate": [],
    "mechanism.forwards": [],
    "mechanism.shape": [],
    "mechanism.remember": [],
    "mechanism.objective.anchor": "old",
    "mechanism.objective.keep": [],
    "mechanism.objective.correct": [],
    "mechanism.objective.regularise": [],
}
"""GRPO without additions: what a file has not switched on is off, whatever the recipe has."""


def precision(view: FileView, key: str, text: str) -> Settings:
    """The precision of weights, by the name of a type."""
    names = {"bfloat16": "bf16", "bf16": "bf16", "float32": "fp32", "fp32": "fp32", "auto": "auto"}
    if text in names:
        return {"machine.precision": names[text]}
    view.refuse(key, "--machine.precision is auto, fp32 or bf16")
    return {}


def adapter(rank: int, alpha: float, targets: Sequence[str]) -> Settings:
    """A low-rank adapter; `all-linear` is every layer, as is no name."""
    names = [name for name in targets if name != "all-linear"]
    return {"lora.rank": rank, "lora.alpha": alpha, **({"lora.targets": names} if names else {})}


def trackers(view: FileView, key: str, *, silent: Sequence[str] = ()) -> Settings:
    """The trackers that are ours too; `silent` are names of outputs that every run has."""
    names = [name for name in view.items(key) if name not in ("none", *silent)]
    ours = [name for name in names if name in ("tensorboard", "wandb", "trackio", "mlflow")]
    if strange := [name for name in names if name not in (*ours, "all")]:
        view.tell(key, f"the trackers here are tensorboard, wandb, trackio and mlflow, not {', '.join(strange)}")
    if "all" in names:
        view.tell(key, "name the trackers: tensorboard, wandb, trackio or mlflow")
    return {"track": ours} if ours else {}


def steps(view: FileView, key: str, epochs: float, data: Settings, prompts: int, most: int | None = None) -> Settings:
    """As many steps as this number of epochs takes, if the rows can be counted here; `most` are read at most."""
    given = {name: data[name] for name in ("data", "eval_data", "prompt_column", "skip_bad_rows") if name in data}
    if (rows := _rows(given)) is None:
        places = ", ".join(given.get("data", ())) or "data that the file does not name"
        sentence = f"{key} is {epochs:g}, and the rows of {places} cannot be counted before they are loaded"
        view.need("steps", sentence=f"{sentence}: write --steps N, with N = epochs x rows / {prompts} prompts.")
        return {}
    sentence = f"{key} is {epochs:g}, of data that the command line has replaced: write --steps N."
    view.need("steps", sentence=sentence, when=("data", "task"))
    return {"steps": max(1, math.floor(epochs * max(1, min(rows, most or rows) // prompts)))}


def _rows(given: Mapping[str, Any]) -> int | None:
    """How many rows of local files train; None if they are not local, or cannot be read."""
    from assay.tasks.data.task import Data, rows_of

    places = [*given.get("data", ()), *given.get("eval_data", ())]
    if not places or not all(Path(place).expanduser().exists() for place in places):
        return None
    try:
        reading = {name: given[name] for name in ("prompt_column", "skip_bad_rows") if name in given}
        whole = tuple(str(Path(place).expanduser().resolve()) for place in given["data"])
        held = tuple(str(Path(place).expanduser().resolve()) for place in given.get("eval_data", ()))
        return len(rows_of(Data(whole, held, **reading).name, "train"))
    except AssayError:
        return None  # the run will refuse the file, and say why


Rule = Callable[[FileView], Settings]
