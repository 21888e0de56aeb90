"""Comparisons from Python: runs that are there, recipes over seeds, a grid of settings, a study in a file."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.api import keywords, models, rows
from assay.api.given import Data, Model, Place, Reward, native, places
from assay.api.results import Result
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.lab.study.plan import Study
    from assay.run.setup import Given, Setup


def compare(
    *what: Place,
    model: Model | None = None,
    data: Data | None = None,
    reward: Reward | Sequence[Reward] | None = None,
    tokenizer: Any = None,
    eval_data: Data | None = None,
    task: str | Sequence[str] | None = None,
    only_reward: Reward | Sequence[Reward] | None = None,
    seeds: int | None = None,
    steps: int | None = None,
    budget: str | None = None,
    trials: Sequence[float] = (),
    differ: Sequence[str] = (),
    config: Place | Sequence[Place] = (),
    into: Place | None = None,
    plan: bool = False,
    again: bool = False,
    quiet: bool = False,
    trust_code: bool = False,
    trust_addresses: bool = False,
    settings: Mapping[str, Any] | None = None,
    **more_settings: Any,
) -> Result:
    """Compares runs side by side; recipes it trains over seeds first, and compares the methods: `assay compare`.

    print(assay.compare(first_run, "runs/dapo-countdown-1"))
    print(assay.compare("grpo", "dapo", data=rows, model=model, tokenizer=tokenizer, seeds=5, steps=100))

    A comparison of recipes is a study in the folder `into`: the same call goes on with what is missing. `plan` says
    what it would take, and runs nothing. `budget` is that of a run, such as "tokens=2e6" in place of `steps`. Further
    arguments of `assay.train` (`system`, `prompt_column`, `right_from`, ...) and settings hold for every run.
    """
    from assay.known import RECIPES, others

    others()
    names = [os.fspath(item) for item in what]
    of_recipes = [name in RECIPES and not Path(name).is_dir() for name in names]
    given = {"model": model, "data": data, "reward": reward, "tokenizer": tokenizer, "eval_data": eval_data}
    given |= {"task": task, "only_reward": only_reward, "steps": steps}
    if not any(of_recipes):
        studied = {"seeds": seeds, "budget": budget, "settings": settings, **given, **more_settings}
        return _of_runs(names, [name for name, value in studied.items() if value is not None])
    from assay.lab.study.asked import of_recipes as asked

    setup, allowed = _setup(names[0], given, settings, more_settings, config, (trust_code, trust_addresses), of=compare)
    _require_one_budget(steps, budget)
    rest = {"seeds": seeds, "budget": budget, "trials": tuple(trials), "differ": tuple(differ)}
    study, folder = asked(names, setup, **rest)
    return _carried(study, folder if into is None else Path(os.fspath(into)), allowed, plan, again, quiet)


def sweep(
    recipe: str,
    over: Mapping[str, Any],
    *,
    model: Model | None = None,
    data: Data | None = None,
    reward: Reward | Sequence[Reward] | None = None,
    tokenizer: Any = None,
    eval_data: Data | None = None,
    task: str | Sequence[str] | None = None,
    only_reward: Reward | Sequence[Reward] | None = None,
    seeds: int | None = None,
    steps: int | None = None,
    budget: str | None = None,
    config: Place | Sequence[Place] = (),
    into: Place | None = None,
    plan: bool = False,
    again: bool = False,
    quiet: bool = False,
    trust_code: bool = False,
    trust_addresses: bool = False,
    settings: Mapping[str, Any] | None = None,
    **more_settings: Any,
) -> Result:
    """Trains a recipe with a grid of settings over seeds, and compares each point with the recipe as it is.

    assay.sweep("grpo", {"scale.learning_rate": [1e-4, 2e-4], "scale": {"group_size": [8, 16]}}, data=rows, seeds=3)

    The other arguments are those of `assay.compare`.
    """
    from assay.known import others
    from assay.lab.study.asked import of_grid
    from assay.run.short_names import leaves

    others()
    points = (pair for name, values in over.items() for pair in leaves(name.replace("-", "_"), values))
    grid = {path: native(values) for path, values in points}
    if not grid or any(isinstance(v, str) or not isinstance(v, Sequence) or not len(v) for v in grid.values()):
        raise UsageError(
            'over gives the values of each setting, such as {"scale.learning_rate": [1e-4, 2e-4]}, and not '
            f"{dict(over)!r}."
        )
    given = {"model": model, "data": data, "reward": reward, "tokenizer": tokenizer, "eval_data": eval_data}
    given |= {"task": task, "only_reward": only_reward, "steps": steps}
    setup, allowed = _setup(recipe, given, settings, more_settings, config, (trust_code, trust_addresses), of=sweep)
    _require_one_budget(steps, budget)
    study, folder = of_grid(recipe, grid, setup, seeds=seeds, budget=budget)
    return _carried(study, folder if into is None else Path(os.fspath(into)), allowed, plan, again, quiet)


@keywords.suggesting
def study(
    described: Place | Mapping[str, Any],
    *,
    into: Place | None = None,
    plan: bool = False,
    again: bool = False,
    quiet: bool = False,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Result:
    """Carries out a study: `assay compare --study FILE`, or the content of such a file as a dictionary.

    print(assay.study("small.toml"))
    assay.study({"recipes": ["grpo", "dapo"], "tasks": ["countdown:3"], "seeds": 2, "budget": "steps=20"}, into="small")

    In a dictionary `data`, `eval_data` and `model` may be objects, and `reward` functions that a file defines.
    """
    from assay.known import others
    from assay.lab.study.files import described as from_table
    from assay.lab.study.files import read
    from assay.run.trust import Trust

    others()
    if isinstance(described, str | os.PathLike):
        path = Path(os.fspath(described))
        made = read(path, Trust.of(code=trust_code, addresses=trust_addresses))
        folder = path.with_suffix("") if into is None else Path(os.fspath(into))
    else:
        made, _ = from_table(_table(described), Path("the study"))
        if into is None:
            raise UsageError("a study in a dictionary has no name: give the folder that it is kept in as into.")
        folder = Path(os.fspath(into))
    return _carried(made, folder, lambda _: None, plan, again, quiet)


def _table(described: Mapping[str, Any]) -> dict[str, Any]:
    """A study as its file would hold it."""
    table = dict(described)
    if "model" in table:
        table["model"] = models.named(table["model"])
    table |= {name: list(rows.places(table[name], name)) for name in ("data", "eval_data") if name in table}
    return table | {name: list(_in_files(table[name])) for name in ("reward", "only_reward") if name in table}


def _of_runs(names: Sequence[str], studied: Sequence[str]) -> Result:
    """The comparison of runs that are there."""
    from assay.lab.compare import as_json, compare_runs, show

    if studied:
        raise UsageError(
            f"{studied[0]} is for comparing recipes, and {', '.join(names) or 'nothing'} names no recipe. `assay list "
            "recipes` shows all."
        )
    comparison = compare_runs([Path(name) for name in names])
    text = io.StringIO()
    show(comparison, stream=text)
    return Result(as_json(comparison), text.getvalue().rstrip("\n"))


Allowed = Callable[["Study"], None]


def _setup(
    recipe: str,
    given: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
    more: Mapping[str, Any],
    config: Place | Sequence[Place],
    trusted: tuple[bool, bool],
    *,
    of: Callable[..., Any],
) -> tuple[Setup, Allowed]:
    """(what is asked of every run, a function that refuses what a file names and nobody allowed)."""
    from assay.known import recipe as of_name
    from assay.lab.study.asked import first_experiment
    from assay.run import file_trust
    from assay.run.trust import Trust

    own = {name: more[name] for name in ALSO_OF_TRAIN if name in more}
    rest = {name: value for name, value in more.items() if name not in own}
    beside = [*(of.__kwdefaults__ or ()), *ALSO_OF_TRAIN]
    told = keywords.settings_of(of_name(recipe), rest, settings, beside=beside, of=f"assay.{of.__name__}")
    fields = {name: value for name, value in {**given, **own}.items() if value is not None}
    source = {**_written(fields), **told}
    setup, allowed = file_trust.composed_with(places(config), source, Trust.of(code=trusted[0], addresses=trusted[1]))
    return setup, lambda study: allowed(first_experiment(study))


ALSO_OF_TRAIN = (
    *("wording", "system", "prompt_column", "answer_column", "answer_from_messages", "skip_bad_rows"),
    *("right_from", "reward_timeout", "profile"),
)
"""Arguments of `assay.train` that a comparison of recipes takes too."""


def _written(fields: Mapping[str, Any]) -> Given:
    """The fields of a setup, with objects written down."""
    given = dict(fields)
    tokenizer = given.pop("tokenizer", None)
    if "model" in given:
        given["model"] = models.named(given["model"], tokenizer)
    given |= {name: rows.places(given[name], name) for name in ("data", "eval_data") if name in given}
    given |= {name: _in_files(given[name]) for name in ("reward", "only_reward") if name in given}
    keywords.require_types(given)
    return given


def _in_files(reward: Reward | Sequence[Reward]) -> tuple[str, ...]:
    """The names of reward functions that lie in files, from which the later processes of a study load them."""
    from assay.run.grader import reward_names_of
    from assay.verifiers.functions.naming import NAMELESS, parse

    names, _ = reward_names_of(reward, None)
    for name in map(parse, names):
        if name.place == NAMELESS:
            raise UsageError(
                f"the reward {name.function} exists in this program alone, and a study goes on in later ones: write it "
                f'into a file and give "FILE.py:{name.function}".'
            )
    return names


def _require_one_budget(steps: int | None, budget: str | None) -> None:
    if steps is not None and budget is not None:
        raise UsageError(f"steps is short for budget='steps={steps}': leave one of the two out.")


def _carried(made: Study, folder: Path, allowed: Allowed, plan: bool, again: bool, quiet: bool) -> Result:
    """What came out of a study, or with `plan` what it would take."""
    from assay.host.terminal import say
    from assay.lab.study import queue
    from assay.lab.study.carried import carry_out

    allowed(made)
    outlook = queue.outlook(made, folder)
    if plan:
        return Result(outlook.document(), "\n".join(outlook.lines()))
    for line in () if quiet else outlook.lines():
        say(line)
    carried = carry_out(made, folder, again=again, quiet=quiet)
    return Result(carried.document(), f"{carried.text}\nreport  {carried.report}")
