"""What files of settings say of a run that goes on: `assay resume RUN --config more.toml`.

A run keeps what it began with. Of a file the number of steps is taken, and the settings that another machine may have
otherwise; what else it says must be what the run began with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.record.folder import RunFolder
from assay.run import file_trust, session, setup_file
from assay.run.configure import from_data, to_data
from assay.run.experiment import Experiment
from assay.run.settings import MEANS, reaching_paths
from assay.run.setup import DECIDES, FIELDS, STEPS, Given, composed, full_or_same
from assay.run.trust import Trust

LEARNERS, TIMEOUT = "machine.learners", "reward_timeout"
PATHS = {
    **dict.fromkeys(("task", "wording", "data", "eval_data", "prompt_column", "answer_column"), "pool"),
    **dict.fromkeys(("answer_from_messages", "skip_bad_rows"), "pool"),
    **dict.fromkeys(("reward", "only_reward"), "rewards"),
    **DECIDES,
    "recipe": "recipe.name",
}
"""Field of a setup -> where the experiment holds it, if it has another name there."""


def asked(
    run: Path,
    files: Sequence[Path],
    given: Mapping[str, Any],
    settings: Mapping[str, Any],
    *,
    trust_code: bool,
    trust_addresses: bool,
) -> dict[str, Any]:
    """The arguments of `session.resume` that files and a person give; what the person gives overrides the files.

    asked(Path("runs/first"), [Path("longer.toml")], {"steps": None}, {}, trust_code=False, trust_addresses=False)
    """
    trust = Trust.of(code=trust_code, addresses=trust_addresses)
    of_files = changes(run, files, trust) if files else {}
    typed = {name: value for name, value in given.items() if value is not None}
    return {**of_files, **typed, "overrides": {**of_files.get("overrides", {}), **settings}}


def changes(run: Path, files: Sequence[Path], trust: Trust) -> dict[str, Any]:
    """What the files give of these arguments. Refuses (ConfigError) what contradicts the run.

    changes(Path("runs/first"), [Path("longer.toml")], Trust())  # {"steps": 400, "overrides": {}}
    """
    begun = from_data(Experiment, RunFolder.read_only(run).experiment)
    own: dict[str, Any] = {"model": begun.model, "profile": begun.profile, "seed": begun.seed, "reward": begun.rewards}
    sources = {file: setup_file.read(file) for file in files}
    setup = composed(own, *sources.values())
    method = None if setup.recipe else begun.recipe
    pool = None if setup.task or setup.data else begun.pool
    now, _ = session.planned(setup, method, pool)
    file_trust.require(sources, {}, now, trust)
    free = {STEPS, LEARNERS, TIMEOUT} | reaching_paths(now) | MEANS
    values: dict[str, Any] = {}
    for file, source in sources.items():
        for name, path in _named(source):
            before, after = (_at(experiment, path) for experiment in (begun, now))
            if path in free:
                values[path] = after
            elif before != after:
                raise ConfigError(
                    f"{file}: {name} is {_shown(after)}, and {run} began with {_shown(before)}. A run goes on as it "
                    f"began: leave {name} out, or begin a new run with assay train --config {file}."
                )
    numbers = {"steps": STEPS, "learners": LEARNERS, "reward_timeout": TIMEOUT}
    given = {name: values.pop(path) for name, path in numbers.items() if path in values}
    return {**given, "overrides": values}


def _named(given: Given) -> Iterator[tuple[str, str]]:
    """(name in the file, path in the experiment) of all that a file says."""
    for name in FIELDS:
        if name in given and name not in ("settings", "run"):
            yield setup_file.written(name), PATHS.get(name, name)
    for path in map(full_or_same, given.get("settings", {})):
        yield setup_file.written(path.removeprefix("recipe.")), path


def _at(experiment: Experiment, path: str) -> Any:
    """The value at a path, as data; None where the experiment has nothing there."""

    def below(value: Any, name: str) -> Any:
        if isinstance(value, list):
            return value[int(name)] if name.isdecimal() and int(name) < len(value) else None
        return value.get(name) if isinstance(value, Mapping) else None

    return reduce(below, path.split("."), to_data(experiment))


def _shown(value: Any) -> str:
    return "not set" if value in (None, "", [], ()) else f"{value!r}"
