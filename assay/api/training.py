"""Training from Python: what `assay train` does, as a function. Torch is imported when a run starts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.api import keywords, models, notebook, rows
from assay.api.given import Callables, Data, Model, Place, Reward, article, native, places
from assay.api.runs import Run

if TYPE_CHECKING:
    from assay.recipe import ProfileChoice, Recipe
    from assay.run.callbacks import Callback
    from assay.verifiers.answers import Wording


def train(
    recipe: str | Recipe | None = None,
    *,
    model: Model | None = None,
    data: Data | None = None,
    reward: Reward | Sequence[Reward] | None = None,
    tokenizer: Any = None,
    eval_data: Data | None = None,
    task: str | Sequence[str] | None = None,
    levels: Sequence[int] | None = None,
    wording: Wording | None = None,
    system: str | None = None,
    prompt_column: str | None = None,
    answer_column: str | None = None,
    answer_from_messages: bool | None = None,
    skip_bad_rows: bool | None = None,
    only_reward: Reward | Sequence[Reward] | None = None,
    reward_weights: Sequence[float] | None = None,
    right_from: float | None = None,
    reward_timeout: float | None = None,
    tools: Callables | None = None,
    mcp: str | Sequence[str] | None = None,
    profile: ProfileChoice | None = None,
    steps: int | None = None,
    epochs: float | None = None,
    seed: int | None = None,
    run: Place | None = None,
    track: str | Sequence[str] | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    config: Place | Sequence[Place] = (),
    quiet: bool = False,
    trust_code: bool = False,
    trust_addresses: bool = False,
    settings: Mapping[str, Any] | None = None,
    **more_settings: Any,
) -> Run:
    """Trains a model with a recipe in a new run folder and returns the run.

    run = assay.train("grpo", task="countdown", levels=[3], steps=20)
    run = assay.train("grpo", data=rows, model=(model, tokenizer), reward=my_reward, lora=16, scale={"group_size": 8})
    run = assay.train(config="runs/grpo-countdown-1/run.toml", seed=1)

    Problems come from a generated `task`, from `data`, or from both mixed; without either from the first of the
    recipe's tasks, or from countdown. `data` are files, names of the Hub, lists of dictionaries, data sets and data
    frames. `model` is a place, a run, or a model of transformers with its tokenizer: `(model, tokenizer)`, or the
    tokenizer as an argument of its own. Objects are written down once (docs/python.md), and never changed. `system` is
    the system message of prompts that bring none (setting `chat.system`). `epochs`, passes over the rows of data, may
    say how long the run is in place of `steps`.

    `reward` is a function f(prompts, completions, **columns) that returns one number for each completion, or the text
    "FILE.py:FUNCTION", or a list of these. It takes the place of the recipe's outcome reward, beside its other rewards;
    `only_reward` takes the place of all rewards. A completion counts as right if the weighted sum of its rewards is at
    least `right_from`, 1 unless said. One call of a reward function may take `reward_timeout` seconds, 300 unless said.

    `tools` are functions with type hints and docstrings, or texts "FILE.py:FUNCTION", which the policy may call while
    it answers rows of data.

    `mcp` are MCP servers whose tools the policy may call likewise: commands that start them, "COMMAND ARGS", or
    addresses (docs/world.md).

    `callbacks` are functions and objects that see the run and may stop it (`assay.Stop`).

    Settings are those of the command line, {"scale.learning_rate": 1e-3} or {"scale": {"learning_rate": 1e-3}}, and
    further keywords are settings too: a group as in `scale={"learning_rate": 1e-3}`, a short name as in `lora=16`, or
    a name of TRL's as in `learning_rate=1e-3`.

    `config` names files of settings, of which later ones override earlier ones, as the arguments of the call do. Code
    and addresses that such a file names, and that were not allowed to it before, are used only with `trust_code` and
    `trust_addresses`.
    """
    from assay.host.terminal import say
    from assay.known import others
    from assay.run import callbacks as heard
    from assay.run import file_trust, session
    from assay.run.own_tools import servers_named
    from assay.run.trust import Trust

    others()
    method = None if recipe is None or isinstance(recipe, str) else recipe
    arguments = {
        "recipe": recipe if method is None else _named(method),
        "task": _tasks(_usual(recipe) if task is None and levels is not None and data is None else task, levels),
        "data": data,
        "eval_data": eval_data,
        "wording": wording,
        "system": system,
        "prompt_column": prompt_column,
        "answer_column": answer_column,
        "answer_from_messages": answer_from_messages,
        "skip_bad_rows": skip_bad_rows,
        "model": model,
        "reward": reward,
        "tokenizer": tokenizer,
        "mcp": None if mcp is None else servers_named(mcp),
        "right_from": right_from,
        "reward_timeout": reward_timeout,
        "profile": profile,
        "steps": steps,
        "epochs": epochs,
        "seed": seed,
        "run": None if run is None else os.fspath(run),
        "track": track,
    }
    told = _of_trainers(arguments, more_settings)
    of = _method_of(method, arguments["recipe"])
    more = keywords.settings_of(of, told, settings, beside=NAMES, tell=(lambda line: None) if quiet else say)
    functions, given = _given(arguments, more, only_reward, reward_weights)
    tools_by_name = _named_tools(tools, given)
    watch = heard.Watch.of(callbacks)
    setup, allowed = file_trust.composed_with(
        places(config), given, Trust.of(code=trust_code, addresses=trust_addresses)
    )
    experiment, _ = session.planned(setup, method)
    allowed(experiment)
    folder = session.place_of(setup, experiment)
    with notebook.shown(experiment, quiet=quiet) as shown:
        how = {"quiet": quiet, "shown": shown, "functions": functions, "setup": setup, "watch": watch}
        how["tools"] = tools_by_name
        command = f"assay.train({experiment.recipe.name!r}, ...)"
        return Run(session.start(experiment, folder, command=command, **how))


NAMES = tuple(name for name in train.__kwdefaults__ or () if name not in ("settings", "more_settings"))
"""The arguments of `train` by name."""


def _given(
    arguments: dict[str, Any],
    more: Mapping[str, Any],
    only_reward: Reward | Sequence[Reward] | None,
    reward_weights: Sequence[float] | None,
) -> tuple[Mapping[str, Callable[..., Any]], dict[str, Any]]:
    """(reward functions by name, what the call gives of a setup): objects are written down, functions are named."""
    from assay.errors import UsageError
    from assay.run.grader import reward_names_of
    from assay.tasks.data.task import all_located

    reward, tokenizer = arguments.pop("reward"), arguments.pop("tokenizer")
    if reward is not None and only_reward is not None:
        raise UsageError("reward stands beside the recipe's other rewards, and only_reward alone: leave one out.")
    rewards, functions = reward_names_of(reward if only_reward is None else only_reward, reward_weights)
    given = {name: native(value) for name, value in arguments.items() if value is not None}
    if both := sorted(given.keys() & more.keys()):
        raise UsageError(f"{both[0]} is given twice, by its own name and by that of TRL's: leave one of the two out.")
    given |= more
    if tokenizer is not None and "model" not in given:
        raise UsageError("tokenizer is that of a model which is an object: give that as model.")
    if "model" in given:
        given["model"] = models.named(given["model"], tokenizer)
    for name in ("data", "eval_data"):
        if name in given:
            given[name] = all_located(rows.places(given[name], name))
    if isinstance(given.get("track"), str):
        given["track"] = (given["track"],)
    if rewards:
        given["reward" if only_reward is None else "only_reward"] = rewards
    keywords.require_types({name: value for name, value in given.items() if name not in more})
    return functions, given


def _named_tools(tools: Callables | None, given: dict[str, Any]) -> Mapping[str, Callable[..., Any]]:
    """Tools by name, of those given as functions; their names are put among what the call gives of a setup."""
    from assay.run.own_tools import tool_names_of

    if tools is None:
        return {}
    given["tools"], by_name = tool_names_of(tools)
    return by_name


def _of_trainers(arguments: dict[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """The further keywords without those of TRL's trainers, which are put among the arguments under our names."""
    from assay.errors import UsageError

    for theirs, ours in keywords.OF_TRAINERS.items():
        if theirs in more and arguments[ours] is not None:
            raise UsageError(f"{theirs} is {ours} here, and both are given: leave one of the two out.")
        arguments[ours] = more.get(theirs, arguments[ours])
    return {name: value for name, value in more.items() if name not in keywords.OF_TRAINERS}


def _method_of(method: Recipe | None, name: Any) -> Recipe | None:
    """The recipe whose parts decide what a setting of TRL's means here; None if only a file names it."""
    from assay.known import RECIPES, spelt

    known = spelt(name) if isinstance(name, str) else None
    return method if method is not None or known is None else RECIPES[known]


def _named(method: Recipe) -> str:
    """The name under which a file can name a recipe that was passed as an object."""
    from assay.errors import UsageError
    from assay.known import RECIPES
    from assay.recipe import Recipe

    if not isinstance(method, Recipe):
        raise UsageError(f"recipe is a name of `assay list recipes`, or a Recipe, and not {article(method)}.")

    return method.name if RECIPES.get(method.name) == method else f"{method.name} (passed by a program)"


def _usual(recipe: str | Recipe | None) -> str:
    """The first task of a recipe, without its levels."""
    from assay.known import recipe as of_name
    from assay.recipe import USUAL_RECIPE
    from assay.source import Share

    method = of_name(recipe or USUAL_RECIPE) if recipe is None or isinstance(recipe, str) else recipe
    return Share.parse(method.usual_task).task


def _tasks(task: str | Sequence[str] | None, levels: Sequence[int] | None) -> tuple[str, ...] | None:
    """The tasks with their levels, as the command line writes them."""
    from assay.errors import DataError, UsageError
    from assay.recipe import USUAL_TASK

    given: Any = () if task is None else task  # whatever a program gives
    listed = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if wrong := [name for name in listed if not isinstance(name, str)]:
        raise UsageError(f"task is a name of `assay list tasks`, or a list of names, and not {wrong[0]!r}.")
    if levels is not None and not listed:
        raise UsageError("levels are those of a task: name it with task=, or leave levels out.")
    if levels is not None and not levels:
        raise DataError(f"task '{listed[0]}' is given without a level: name some, or leave levels out.")
    if levels is not None:
        return tuple(f"{name}:{','.join(map(str, levels))}" for name in listed)
    return tuple(USUAL_TASK if name == "countdown" else name for name in listed) or None
