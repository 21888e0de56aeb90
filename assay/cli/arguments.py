"""Reading a command line: separates settings from other arguments, and turns wrong usage into errors with advice."""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from assay.errors import UsageError, near, unknown
from assay.host import terminal
from assay.run.short_names import SHORT_NAMES

SHORT_OPTIONS = {f"--{name}": path for name, path in SHORT_NAMES.items()}

Argument = tuple[tuple[str, ...], dict[str, Any]]
"""The names of an argument, and the keyword arguments of `ArgumentParser.add_argument`."""

OPTIONAL = "optional"
"""A key of an argument's options: words without a dash, one or more, which may be left out. argparse's own `*` takes
none of them as soon as an option stands before.
"""
TRUST_ADDRESSES: Argument = (
    ("--trust-addresses",),
    {
        "action": "store_true",
        "help": "connect to what RUN names (servers, clusters, judges, trackers, the Hub), though no command of yours "
        "has allowed it",
    },
)


def overrides(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """(the other arguments, {path: text} of the settings that are written `--a.b value` or `--a.b=value`)."""
    rest: list[str] = []
    values: dict[str, str] = {}
    names: dict[str, str] = {}  # path -> the option that set it
    items = iter(arguments)
    for item in items:
        if item == "--":
            rest += [item, *items]
            break
        name, equals, value = item.partition("=")
        path = SHORT_OPTIONS.get(name, name[2:].replace("-", "_") if name.startswith("--") and "." in name else "")
        if not path:
            rest.append(item)
            continue
        if not equals:
            value = next(items, "--")
            if value.startswith("--"):
                raise UsageError(f"{name} wants a value: {name} VALUE.")
        option = item.partition("=")[0]
        if names.setdefault(path, option) != option:
            _require_alike(path, values[path], value)
        values[path] = value
    return rest, values


def track() -> Argument:
    """The option `--track`, with the names of the trackers."""
    from assay.record.sinks import SINKS

    said = f"also send the metrics to these trackers, one or several of: {', '.join(SINKS)}; default none"
    return ("--track",), {"nargs": "+", "action": "extend", "metavar": "SINK", "help": said}


def _require_alike(path: str, one: str, other: str) -> None:
    """Refuses a setting that two options set to two values."""
    if one != other:
        raise UsageError(f"--{path} is given twice, as '{one}' and as '{other}': leave one of the two out.")


def refuse_theirs(words: Sequence[str]) -> None:
    """Refuses all settings of other trainers on the command line of `train`, options and hydra's `key=value` alike,
    with one error that names Assay's options.
    """
    from assay.run.foreign import typed

    given: dict[str, str] = {}
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if (word.startswith("--") or (equals and "." in name)) and typed.is_theirs(name.removeprefix("--")):
            given[name] = value if equals else _following(words[at + 1 :])
    if given:
        from assay.known import RECIPES, others, spelt

        others()
        recipe = next((RECIPES[name] for word in words if (name := spelt(word)) is not None), None)
        raise typed.refusal(given, recipe, write=in_shell)


def _following(words: Sequence[str]) -> str:
    """The value behind an option: the next word, or all numbers that follow."""
    numbers = list(itertools.takewhile(lambda word: word.replace(".", "", 1).isdecimal(), words))
    return " ".join(numbers) or next((word for word in words[:1] if not word.startswith("--")), "")


def in_shell(settings: Mapping[str, str]) -> str:
    """Settings as options of the command line, for messages."""
    return " ".join(f"--{name} {shlex.quote(value)}" for name, value in settings.items())


class Told(Exception):
    """Raised after the text of `--help` or `--version` was printed: the command is done."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UsageErrors, with the form and the exit code of Assay's other errors."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.defaults: dict[str, Any] = {}

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """The value of an argument; a number is asked for in words."""
        kinds: dict[Any, str] = {int: "a whole number", float: "a number"}
        if action.type in kinds:
            try:
                return action.type(arg_string)  # type: ignore[operator]
            except ValueError:
                name = action.option_strings[0] if action.option_strings else str(action.metavar or action.dest)
                raise UsageError(
                    f"{name} is {kinds[action.type]}, not {arg_string!r}. `{self.prog} --help` shows all arguments."
                ) from None
        return super()._get_value(action, arg_string)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}. `{self.prog} --help` shows all arguments.")

    def _print_message(self, message: str, file: Any = None) -> None:
        terminal.write(file or sys.stderr, message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Told


def settings_help() -> str:
    """The settings of a run that do not belong to its recipe, one line each, for `--help`."""
    from assay.policy.conversation import Chat
    from assay.policy.lora import Lora
    from assay.run.configure import settings
    from assay.run.experiment import Agent, Evaluation, Machine, Saving, Tracking

    groups = {"evaluation": Evaluation(), "machine": Machine(), "saving": Saving()}
    groups |= {"tracking": Tracking(), "lora": Lora(), "chat": Chat(), "agent": Agent()}
    rows = [row for prefix, record in groups.items() for row in settings(record, prefix)]
    lines = [f"  --{path.replace('_', '-'):<30} {kind}, default {_shown(value)}" for path, kind, value in rows]
    return "\n".join(
        [
            "what most runs change:",
            *(f"  {option:<32} {what}" for option, what in ASKED_MOST.items()),
            "",
            "settings of every run (`assay show RECIPE` lists those of a recipe, --scale.* and --mechanism.*):",
            *lines,
        ]
    )


ASKED_MOST = {
    "--agent COMMAND": "a program that answers the problems and asks the policy (docs/serve.md); default: none",
    "--lora RANK": "train an adapter of this rank; default 0, which trains all weights",
    "--scale.learning-rate RATE": "default: that of the recipe at its profile, as of all of these",
    "--scale.num-prompts N": "questions of a step: the batch size, together with",
    "--scale.group-size N": "answers to each question",
    "--scale.max-new N": "tokens of an answer",
    "--scale.temperature T": "of sampling",
    "--stop TEXT": "a text that ends an answer; default: none beside the end token",
    "--shots N": "worked examples before each question; default 0",
    "--cut scored|wrong": "what an answer earns that the length limit cut off",
}
"""Option -> what it is, of the settings under which people look for a learning rate, a batch size or an adapter."""


def _shown(value: Any) -> str:
    return str(value) if value not in ("", ()) else "none"


def one_of(kind: str, names: Sequence[str], *, see: str, **options: Any) -> dict[str, Any]:
    """Keyword arguments for an argument that takes one of these names. For another the error offers the nearest."""

    def known(text: str) -> str:
        if text not in names:
            raise unknown(kind, text, names, see)
        return text

    return {"type": known, "metavar": f"{{{','.join(names)}}}", **options}


USUAL = {
    **dict.fromkeys(("lr", "learning-rate"), "--scale.learning-rate"),
    "num-epochs": "--epochs",
    **dict.fromkeys(("batch-size", "bs"), "--scale.num-prompts, questions, times --scale.group-size, answers to each"),
    **dict.fromkeys(("max-length", "max-tokens", "max-new-tokens"), "--scale.max-new"),
    **dict.fromkeys(("output", "out"), "--run"),
    **dict.fromkeys(("dataset", "train-data"), "--data"),
    **dict.fromkeys(("eval", "val-data", "test-data"), "--eval-data"),
    **dict.fromkeys(("gpus", "num-gpus"), "--machine.learners"),
    **dict.fromkeys(("wandb", "logger"), "--track wandb"),
    "mlflow": "--track mlflow",
    "lora-rank": "--lora",
}
"""What other programs call an option of `assay train` -> the option."""


def strange(argument: str, flags: Sequence[str], verb: str) -> UsageError:
    """The error for an argument that a verb does not have."""
    meant = USUAL.get(argument.partition("=")[0].lstrip("-").replace("_", "-")) if verb == "train" else None
    nearest = near(argument, flags)
    hint = f" In Assay it is {meant}." if meant else f" Did you mean '{nearest}'?" if nearest else ""
    return UsageError(f"unknown argument '{argument}'.{hint} `assay {verb} --help` shows all arguments.")
