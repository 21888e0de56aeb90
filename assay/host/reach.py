"""Types of settings that reach out of a run: to a program, to a file of code, or to an address.

A run folder is data, which may have come from a stranger. A setting that names what the run will start, import or
connect to says so in its type, `sampler_python: Program = ""`. `reached` finds all such values of an experiment, and
`assay.run.trust` uses none of them that the person has not allowed. A test refuses a new text among the settings that
is neither of such a type nor known to be harmless.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

from assay.errors import AssayError
from assay.host.files import read_json

ADAPTER = "adapter_config.json"  # in the folder of an adapter

Consent = Literal["code", "addresses"]
"""The permissions of a person: `--trust-code` lets code run, `--trust-addresses` lets a run connect to addresses."""


def _named(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _servers(text: str) -> tuple[str, ...]:
    """The addresses of servers; none where the text says how many servers the run itself starts."""
    return () if text.isdecimal() else tuple(filter(None, text.split(",")))


def is_address(text: str) -> bool:
    """Whether an MCP server is named by its address, and not by the command that starts it."""
    return text.startswith(("http://", "https://"))


def _commands(text: str) -> tuple[str, ...]:
    return () if is_address(text) else _named(text)


def _addresses(text: str) -> tuple[str, ...]:
    return _named(text) if is_address(text) else ()


def _cluster(text: str) -> tuple[str, ...]:
    """`auto` is a cluster of this machine's own environment, or of the run's own."""
    return () if text == "auto" else _named(text)


def of_hub(text: str) -> tuple[str, ...]:
    """A model of the Hub, also that below the adapters of a folder or run; a base and a whole model reach nothing."""
    if (folder := Path(text)).is_dir():
        places = (folder, *sorted(folder.glob("ckpt/*/policy")))
        return tuple(sorted({name for place in places for name in of_hub_below(place)}))
    return () if text.count("/") != 1 or text.startswith((".", "/", "~")) else (text,)


def of_hub_below(adapter: Path) -> tuple[str, ...]:
    """The model of the Hub on which the adapter in a folder sits; nothing if it sits on a folder, or is no adapter."""
    try:
        base = read_json(adapter / ADAPTER)["base_model_name_or_path"]
    except (OSError, AssayError, KeyError, TypeError):
        return ()  # loading the model reports what is wrong
    local = not isinstance(base, str) or Path(base).is_dir()
    return () if local else of_hub(base)


def _online(text: str) -> tuple[str, ...]:
    """A tracker that sends its metrics to a server; MLflow does if your environment names one."""
    return (text,) if text == "wandb" or (text == "mlflow" and os.environ.get("MLFLOW_TRACKING_URI")) else ()


@dataclass(frozen=True)
class Reaches:
    """The note in the type of a setting that reaches out: what using the setting does, and what allows it.

    Program = Annotated[str, Reaches("starts the program", "code")]
    """

    does: str  # followed by a place, for a message: `starts the program /opt/vllm/bin/python`
    consent: Consent
    places: Callable[[str], tuple[str, ...]] = _named  # text -> the names that it reaches; () if it reaches nothing


PROGRAM = Reaches("starts the program", "code")
COMMAND = Reaches("starts the program", "code", _commands)
CODE = Reaches("runs the code", "code")

Program = Annotated[str, PROGRAM]
"""A program that is started, such as an interpreter."""
Code = Annotated[str, CODE]
"""A function in a file or module of Python, which is imported: FILE.py:FUNCTION."""
Address = Annotated[str, Reaches("sends answers to", "addresses")]
"""The address of a service."""
McpServer = Annotated[str, COMMAND, Reaches("calls tools of the server", "addresses", _addresses)]
"""An MCP server: the command that starts it, or its address."""
Servers = Annotated[str, Reaches("connects to the server", "addresses", _servers)]
"""How many servers a run starts, or the addresses of servers that run."""
Cluster = Annotated[str, Reaches("joins the cluster", "addresses", _cluster)]
"""A cluster, in which code of the run is executed and which sends pickles back."""
HubModel = Annotated[str, Reaches("downloads from the Hub the model", "addresses", of_hub)]
"""A model: a base, a folder, or one of the Hub."""
Store = Annotated[str, Reaches("sends the metrics to the MLflow store", "addresses")]
"""The address of the store of a tracker: a server, a database, or a file that is written."""
TRACKER = Reaches("sends the metrics to", "addresses", _online)
"""The note in the type of names of trackers."""


@dataclass(frozen=True)
class Reach:
    """A setting of an experiment, and the program, code or address that it reaches.

    Reach("machine.sampler_python", "/opt/vllm/bin/python", PROGRAM)
    """

    field: str  # the path of the setting in the experiment
    place: str
    mark: Reaches

    def __str__(self) -> str:
        return f"{self.field} {self.mark.does} {self.place}"


@dataclass(frozen=True)
class Reaching:
    """A setting whose type says that it may reach out, whether or not its present value does."""

    field: str
    value: Any
    mark: Reaches

    def reached(self) -> Iterator[Reach]:
        texts = self.value if isinstance(self.value, tuple | list) else (self.value,)
        for text in texts:
            for place in self.mark.places(text):
                yield Reach(self.field, place, self.mark)


def reaching(record: Any, path: str = "") -> Iterator[Reaching]:
    """All settings within a record, in the records, tuples and mappings of its fields too, that may reach out."""
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        marks = _marks(type(record))
        for field in dataclasses.fields(record):
            value, setting = getattr(record, field.name), f"{path}.{field.name}" if path else field.name
            if field.name in marks:
                yield from (Reaching(setting, value, mark) for mark in marks[field.name])
            else:
                yield from reaching(value, setting)
    elif isinstance(record, tuple | list):
        for index, item in enumerate(record):
            yield from reaching(item, f"{path}.{index}")
    elif isinstance(record, Mapping):
        for name, item in record.items():
            yield from reaching(item, f"{path}.{name}")


def reached(record: Any) -> list[Reach]:
    """All that a record reaches when it is used, by the types of its fields."""
    return [reach for found in reaching(record) for reach in found.reached()]


def mark_of(hint: Any) -> Reaches | None:
    """The first note in a type such as `Program` or `tuple[Code, ...]`; None if it has none."""
    return next(iter(marks_of(hint)), None)


def marks_of(hint: Any) -> tuple[Reaches, ...]:
    """All notes in such a type: one for each way in which its values reach out."""
    own = tuple(note for note in getattr(hint, "__metadata__", ()) if isinstance(note, Reaches))
    return own or next((marks for inner in get_args(hint) if (marks := marks_of(inner))), ())


@functools.cache
def _marks(record: type) -> Mapping[str, tuple[Reaches, ...]]:
    hints = get_type_hints(record, include_extras=True)
    names = (field.name for field in dataclasses.fields(record))
    return {name: marks for name in names if (marks := marks_of(hints[name]))}
