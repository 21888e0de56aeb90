"""Calls reward functions: passes each the columns that it asks for, and turns its result into plain data.

An exception of a function does not leave this module, unless the caller names its type as one that must pass (Ctrl-C).
It becomes a `Fault`, which says in words what went wrong. So does a result that is not a list of numbers.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import numbers
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

LARGEST = 1e15  # the largest reward: sums of thousands of squares of such numbers still fit into fp32
IDS = "completion_ids"
STATE = "trainer_state"
LONGEST = 2_000  # characters of an exception's text that are shown
PATIENCE = 2.0  # seconds that an event loop has to end when it is closed


@dataclass(frozen=True)
class TrainerState:
    """The state of the run that a function may ask for, with TRL's names."""

    global_step: int
    max_steps: int


@dataclass(frozen=True)
class Asks:
    """The arguments that a function's signature names.

    Example:
        asks_of(lambda prompts, completions, answer=None: [])
        # Asks(required=("prompts", "completions"), optional=("answer",))
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    everything: bool = False  # it has **kwargs, or is a builtin without a readable signature
    by_position: bool = False  # some arguments can be given by position alone

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Asks:
        """From JSON data, in which tuples are lists."""
        return cls(**{**data, "required": tuple(data["required"]), "optional": tuple(data["optional"])})

    def of(self, offered: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments to call the function with, out of everything that is offered."""
        if self.everything:
            return dict(offered)
        return {name: offered[name] for name in (*self.required, *self.optional) if name in offered}


@dataclass(frozen=True)
class Fault:
    """Why a function gave no usable result. An error message begins with the function, then `line`, then `what`:
    "the reward function 'f' (f.py:f), line 3 raised ValueError".
    """

    kind: Literal["raised", "gave", "ended", "late"]
    what: str  # the verb and its object: "raised ValueError: ...", "gave 3 rewards for 4 answers"
    line: str = ""  # ", line N" of its file
    expected: str = ""  # for "gave": what it should have given
    row: int | None = None  # the index of the answer that the fault is about, if it is known
    beside: tuple[str, ...] = ()  # other functions that ran at the same time: the fault may be theirs


@dataclass(frozen=True)
class Reply:
    """The result of calling a function: a value for each answer, or a fault."""

    values: list[float | None] = field(default_factory=list)
    fault: Fault | None = None
    seconds: float = 0.0
    metrics: list[tuple[str, float]] = field(default_factory=list)  # logged by `log_metric`
    extras: list[str] = field(default_factory=list)  # columns given to `log_extra`, which are not recorded

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Reply:
        """From JSON data, in which tuples are lists."""
        fault = data["fault"] and Fault(**{**data["fault"], "beside": tuple(data["fault"]["beside"])})
        return cls(**{**data, "fault": fault, "metrics": [(name, value) for name, value in data["metrics"]]})


Watch = Callable[[Sequence[str]], AbstractContextManager[None]]
"""Given the names of functions, a context inside which these functions are at work."""


def asks_of(call: Callable[..., Any]) -> Asks:
    """The arguments that a function asks for."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):  # some builtins have no readable signature
        return Asks(everything=True)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return Asks(
        required=tuple(p.name for p in named if p.default is p.empty),
        optional=tuple(p.name for p in named if p.default is not p.empty),
        everything=any(p.kind is p.VAR_KEYWORD for p in parameters),
        by_position=any(p.kind is p.POSITIONAL_ONLY for p in parameters),
    )


def file_of(call: Any) -> str:
    """The source file of something that can be called; "" if it has none."""
    try:
        return inspect.getfile(inspect.unwrap(call))
    except TypeError:
        pass
    try:
        return inspect.getfile(type(call))
    except TypeError:
        return ""


class Desk:
    """Calls functions of this process one after another. Coroutine functions run together, in one lasting event loop.

    Example:
        desk = Desk({"accuracy": accuracy}, files={}, watch=lambda names: contextlib.nullcontext())
        dict(desk.ask(["accuracy"], lambda name: {"completions": ["4"]}, count=1))
    """

    def __init__(
        self,
        calls: Mapping[str, Callable[..., Any]],
        files: Mapping[str, str],
        watch: Watch,
        passing: tuple[type[BaseException], ...] = (),
    ) -> None:
        """`files` are the functions' source files. Exceptions of the types
        `passing` are raised, and blamed on nobody.
        """
        self.calls, self.files, self.watch, self.passing = dict(calls), dict(files), watch, passing
        self.loop: Loop | None = None

    def ask(
        self, names: Sequence[str], columns: Callable[[str], dict[str, Any]], count: int
    ) -> Iterator[tuple[str, Reply]]:
        """The reply of each function for `count` answers, as soon as it is there. No reply follows a fault.

        `columns(name)` makes the arguments of a function anew, so that no function sees another one's changes to them.
        """
        waiting: dict[str, _Waiting] = {}
        try:
            for name in names:
                notes, given, began = _Notes(), columns(name), time.monotonic()
                with self.watch([name]):
                    result = self._called(name, notes.offered(given))
                seconds = time.monotonic() - began
                if inspect.isawaitable(result):
                    waiting[name] = _Waiting(result, notes, seconds)
                    continue
                reply = self._reply(result, count, seconds, notes)
                yield name, reply
                if reply.fault is not None:
                    return
            yield from self._together(waiting, count)
        finally:
            for pending in waiting.values():
                if inspect.iscoroutine(pending.result):
                    pending.result.close()

    def close(self) -> None:
        if self.loop is not None:
            self.loop.close()
            self.loop = None

    def _together(self, waiting: Mapping[str, _Waiting], count: int) -> Iterator[tuple[str, Reply]]:
        if not waiting:
            return
        self.loop = self.loop or Loop()
        with self.watch(list(waiting)):
            found = self.loop.run(_first_fault({name: self._awaited(name, one) for name, one in waiting.items()}))
        replies = {
            name: self._reply(result, count, waiting[name].seconds + seconds, waiting[name].notes)
            for name, (result, seconds) in found.items()
        }
        for name, reply in sorted(replies.items(), key=lambda pair: pair[1].fault is not None):
            yield name, reply
            if reply.fault is not None:
                return

    async def _awaited(self, name: str, one: _Waiting) -> tuple[Any, float]:
        began = time.monotonic()
        try:
            result = await one.result
        except BaseException as error:  # in the loop's thread, to which nothing else is sent
            result = self._raised(name, error)
        return result, time.monotonic() - began

    def _called(self, name: str, arguments: dict[str, Any]) -> Any:
        try:
            return self.calls[name](**arguments)
        except self.passing:
            raise
        except BaseException as error:  # SystemExit too: a function does not decide when a run is over
            return self._raised(name, error)

    def _raised(self, name: str, error: BaseException) -> Fault:
        return Fault("raised", f"raised {told(error)}", line_in(error, self.files.get(name, "")))

    def _reply(self, result: Any, count: int, seconds: float, notes: _Notes) -> Reply:
        found = result
        if not isinstance(result, Fault):
            try:
                found = values_of(result, count)
            except self.passing:
                raise
            except BaseException as error:  # of an object that calls itself a list or a number
                found = _gave(f"a result that cannot be read ({told(error)})", "a list of numbers or None")
        common = {"seconds": seconds, "metrics": notes.metrics, "extras": notes.extras}
        return Reply(fault=found, **common) if isinstance(found, Fault) else Reply(found, **common)


@dataclass(frozen=True)
class _Waiting:
    """A call whose result is to be awaited."""

    result: Awaitable[Any]
    notes: _Notes
    seconds: float  # that the call took so far


class _Notes:
    """The log of one call."""

    def __init__(self) -> None:
        self.metrics: list[tuple[str, float]] = []
        self.extras: list[str] = []

    def offered(self, columns: dict[str, Any]) -> dict[str, Any]:
        """The arguments as the function gets them: lists of token ids, and functions to log with."""
        own = {"log_metric": self.metric, "log_extra": self.extra}
        ids = {IDS: [row.tolist() for row in columns[IDS]]} if IDS in columns else {}
        return columns | ids | {name: call for name, call in own.items() if name in columns}

    def metric(self, name: str, value: float) -> None:
        self.metrics.append((str(name), float(value)))

    def extra(self, column: str, values: Sequence[Any]) -> None:
        self.extras.append(str(column))


# --- checking results ---------------------------------------------------------------------------------------


def values_of(result: Any, count: int) -> list[float | None] | Fault:
    """The result as finite numbers and None, one for each answer; a Fault if it is anything else."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(result, torch.Tensor):
        result = result.detach().cpu().numpy()
    if isinstance(result, np.ndarray):
        if result.ndim != 1:
            return _gave(f"an array of shape {result.shape}", "one number for each answer")
        result = list(result)
    if not isinstance(result, list | tuple):
        what = f"{shown(result)}, of type {type(result).__name__}"
        return _gave(what, f"a list with a number or None for each of the {count} answers")
    if len(result) != count:
        return _gave(f"{len(result)} rewards for {count} answers", "one for each, in their order")
    values: list[float | None] = []
    for row, item in enumerate(result):
        value = _value(item, row)
        if isinstance(value, Fault):
            return value
        values.append(value)
    return values


def _value(item: Any, row: int) -> float | Fault | None:
    if item is None:
        return None
    torch = sys.modules.get("torch")
    if isinstance(item, np.ndarray) or (torch is not None and isinstance(item, torch.Tensor)):
        if item.ndim != 0:
            return _gave(f"an array of shape {tuple(item.shape)}", "a single number", row)
        item = item.item()
    if isinstance(item, np.generic):
        item = item.item()
    if not isinstance(item, numbers.Real):
        return _gave(f"{shown(item)}, of type {type(item).__name__}", "a number, or None", row)
    try:
        value = float(item)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        return _gave(str(value), "a finite number, or None where the function does not apply", row)
    if abs(value) > LARGEST:
        return _gave(f"{value:g}", f"a number of at most {LARGEST:g}, so that sums of rewards stay finite", row)
    return value


def _gave(what: str, expected: str, row: int | None = None) -> Fault:
    return Fault("gave", f"gave {what}", expected=expected, row=row)


# --- in words -----------------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """A value's repr, cut to 60 characters; a repr that raises is described instead."""
    try:
        text = repr(value)
    except Exception as error:
        return f"an object whose repr raises {type(error).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def told(error: BaseException) -> str:
    """The class and the text of an exception; a text that cannot be made is described instead."""
    try:
        text = str(error)
    except Exception as again:
        text = f"(its text raises {type(again).__name__})"
    return f"{type(error).__name__}: {text if len(text) <= LONGEST else text[:LONGEST] + '...'}"


def line_in(error: BaseException, path: str) -> str:
    """ ", line N", the line of a file that an exception came from; "" if it came from elsewhere."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f", line {lines[-1]}" if lines else ""


# --- coroutine functions ------------------------------------------------------------------------------------


async def _first_fault(waiting: Mapping[str, Coroutine[Any, Any, tuple[Any, float]]]) -> dict[str, tuple[Any, float]]:
    """Results by name: of all calls or, once a call has a fault, only of the calls that have ended."""
    tasks = {name: asyncio.ensure_future(one) for name, one in waiting.items()}
    pending = set(tasks.values())
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if any(isinstance(task.result()[0], Fault) for task in done):
            break
    for task in pending:
        task.cancel()
    return {name: task.result() for name, task in tasks.items() if task not in pending}


class Loop:
    """An event loop in a thread of its own. It outlives a call, and does not disturb the loop that a notebook runs."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="assay-rewards", daemon=True)
        self.thread.start()

    def run(self, coroutine: Any) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancels all tasks and waits a little. A task that never yields is left to end with the program."""

        async def leave() -> None:
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(leave(), self.loop)
        self.thread.join(PATIENCE)
        if not self.thread.is_alive():
            self.loop.close()
