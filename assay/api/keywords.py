"""The keywords of a call: which setting one means, whether its value has the right type, and what was meant by another.

`train(..., lora=16, scale={"group_size": 8}, learning_rate=1e-5)` names a setting by its short name, a group of
settings, and a setting by the name that it has in TRL.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import numbers
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin

from assay.api.given import article, native
from assay.errors import UnknownKeyword, UsageError, near
from assay.recipe import Recipe
from assay.run.short_names import ELSEWHERE

P = ParamSpec("P")
R = TypeVar("R")

OF_TRAINERS = {
    "train_dataset": "data",
    "eval_dataset": "eval_data",
    "reward_funcs": "reward",
    "processing_class": "tokenizer",
}
"""Argument of TRL's trainers -> ours, with the same meaning."""
ANSWERS = {
    "args": "give what it holds as keywords, such as learning_rate=1e-5, num_generations=8",
    "peft_config": "lora=RANK trains an adapter, or lora={'rank': 16, 'alpha': 32, 'targets': ['q_proj']}",
    "callback": "callbacks takes functions and objects, such as callbacks=[lambda step: print(step.metrics)]",
    "compute_metrics": "a reward function of weight 0 beside others is measured and not trained on: reward=[f, g], "
    "reward_weights=[1, 0]",
    "optimizers": "the optimiser is AdamW: scale={'learning_rate': 1e-5, 'weight_decay': 0.01}",
    "dry_run": "assay.explain says what a recipe computes, assay.plan what it takes; `assay train --dry-run` shows a "
    "whole run",
}
"""What no argument of ours takes -> what does."""
ALSO = {
    "dataset": "data",
    "train_data": "data",
    "rewards": "reward",
    "num_epochs": "epochs",
    "output": "run",
    "folder": "run",
    "wandb": "track",
    "mlflow": "track",
    **ELSEWHERE,
}
"""What others call an argument or setting -> its name here."""


def settings_of(
    recipe: Recipe | None,
    keywords: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
    *,
    beside: Iterable[str],
    tell: Callable[[str], None] = lambda line: None,
    of: str = "assay.train",
) -> dict[str, Any]:
    """What the further keywords of a call, and its `settings`, give of a setup: fields by name, and settings by path.

    `beside` are the other arguments of the call, for the error that offers the nearest. `tell` is given a line for each
    name of TRL's, which says what it is here.
    """
    from assay.run.foreign.typed import is_theirs
    from assay.run.setup import FIELDS
    from assay.run.short_names import leaves

    for name in keywords:
        if not is_theirs(name) and name.partition(".")[0] not in groups() and name != "settings":
            raise strange(name, [*beside, *groups()], of=of)
    given = [pair for name, value in {**(settings or {}), **keywords}.items() for pair in leaves(name, value)]
    paths = {path.replace("-", "_"): native(value) for path, value in given}
    if len(paths) < len(given):
        raise UsageError(f"{_twice(path for path, _ in given)} is given twice: leave one of the two out.")
    theirs = {path: value for path, value in paths.items() if is_theirs(path)}
    ours = {path: value for path, value in paths.items() if path not in theirs}
    for name, value in _ours(recipe, theirs, tell).items():
        if name in ours:
            raise UsageError(f"{name} is given under TRL's name too: leave one of the two out.")
        ours[name] = value
    fields = {path: ours.pop(path) for path in list(ours) if path in FIELDS}
    return {**fields, "settings": ours}


def groups() -> tuple[str, ...]:
    """The groups of settings, and the settings with short names."""
    from assay.run.experiment import Experiment
    from assay.run.settings import SHORT
    from assay.run.setup import FIELDS
    from assay.run.short_names import SHORT_NAMES

    own = (field.name for field in dataclasses.fields(Experiment) if field.name not in (*FIELDS, "rewards"))
    return tuple(dict.fromkeys((*SHORT, "recipe", *own, *SHORT_NAMES)))


def _twice(names: Iterable[str]) -> str:
    seen: set[str] = set()
    return next(name for name in (n.replace("-", "_") for n in names) if name in seen or seen.add(name))


def _ours(recipe: Recipe | None, theirs: Mapping[str, Any], tell: Callable[[str], None]) -> dict[str, Any]:
    """Our settings in place of TRL's, by their paths. Refuses all if one of them has no counterpart."""
    from assay.run.settings import in_python

    if not theirs:
        return {}
    texts = {name: _text(value) for name, value in theirs.items()}
    ours, refusal = _answered(recipe, texts)
    for name, text in texts.items():
        alone, own = _answered(recipe, {name: text})
        if not alone:
            raise refusal
        if not alone.keys() & ours.keys():  # of another trainer than the first
            raise own
    given = ", ".join(f"{name}={value!r}" for name, value in theirs.items())
    tell(f"  {given}, in words of Assay, is {in_python(ours)}")
    return {_short(path.replace("-", "_")): value for path, value in ours.items()}


def _answered(recipe: Recipe | None, theirs: Mapping[str, str]) -> tuple[dict[str, str], UsageError]:
    """(our settings in place of these, the error that a command line gets, which tells them and what has none)."""
    from assay.run.foreign.typed import refusal
    from assay.run.settings import in_python

    ours: dict[str, str] = {}

    def write(settings: Mapping[str, str]) -> str:
        ours.update(settings)
        return in_python(settings)

    return ours, refusal(theirs, recipe, write=write)


def _short(path: str) -> str:
    from assay.run.short_names import SHORT_NAMES

    return SHORT_NAMES.get(path, path)


def _text(value: Any) -> str:
    """A value of Python's as a command line has it."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return ",".join(map(_text, value)) if isinstance(value, list | tuple | set) else str(value)


def strange(name: str, names: Sequence[str], *, of: str = "assay.train") -> UnknownKeyword:
    """The error for a keyword that a function does not have."""
    if name in ANSWERS:
        return UnknownKeyword(f"{of} has no argument '{name}': {ANSWERS[name]}.")
    from assay.run.setup_file import settings_by_name

    paths = {leaf: path for leaf, path in settings_by_name().items() if path.partition(".")[0] in names}
    meant = ALSO.get(name) or paths.get(name, "")
    if meant and meant.partition(".")[0] in names:
        return UnknownKeyword(f"{of} has no argument '{name}'. Here it is {meant}: write {_written(meant)}.")
    nearest = near(name, [*names, *paths])
    hint = "" if nearest is None else f" Did you mean '{nearest}'?"
    if nearest in paths and nearest not in names:
        hint = f" Did you mean {paths[nearest]}? Write {_written(paths[nearest])}."
    return UnknownKeyword(f"{of} has no argument '{name}'.{hint} It takes {', '.join(dict.fromkeys(names))}.")


def _written(path: str) -> str:
    """A setting, or an argument, as a keyword."""
    group, _, rest = path.partition(".")
    return f"{group}={{'{rest}': ...}}" if rest else f"{group}=..."


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which answers a keyword that it does not have with the one that was meant."""
    names = [name for name, one in inspect.signature(function).parameters.items() if one.kind != one.VAR_KEYWORD]

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in names:
                raise strange(name, names, of=f"assay.{function.__qualname__.replace('Run.', 'Run().')}")
        return function(*args, **kwargs)

    return called


def require_types(given: Mapping[str, Any]) -> None:
    """Refuses (UsageError) fields of a setup with values of another type. Text stands for a number on a command line;
    in a program that is a slip.
    """
    from assay.run.setup import Setup
    from assay.streams import hints_of

    hints = hints_of(Setup, notes=False)
    for name, value in given.items():
        if name in hints and not _fits(value, hints[name]):
            raise UsageError(f"{name} is {_kind(hints[name])}, and not {value!r}, {article(value)}.")


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value has a type, as far as numbers and texts go."""
    if get_origin(kind) is tuple:
        items = [value] if isinstance(value, str) else value
        return isinstance(items, Sequence) and all(_fits(item, get_args(kind)[0]) for item in items)
    if get_origin(kind) in (Union, types.UnionType):
        return any(_fits(value, inner) for inner in get_args(kind))
    if kind in (int, float):
        wanted = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, wanted) and not isinstance(value, bool)
    return isinstance(value, kind) if kind in (str, bool, type(None)) else True


def _optional(kind: Any) -> bool:
    return type(None) in get_args(kind)


def _kind(kind: Any) -> str:
    """A type in words."""
    words = {int: "a whole number", float: "a number", bool: "True or False"}
    for plain in (kind, *(get_args(kind) if _optional(kind) else ())):
        if plain in words:
            return words[plain]
    return "a list of texts" if get_origin(kind) is tuple else "text"
