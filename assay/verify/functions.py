"""Reward functions of users, with the signature that TRL gave them: f(prompts, completions, **columns) -> numbers.

A function is called once with all answers of a round, in this process. It is given what its signature names. What it
gives back is checked answer by answer: None says that it has nothing to say, and nothing but a finite number is one.
"""

from __future__ import annotations

import asyncio
import copy
import difflib
import inspect
import math
import numbers
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.errors import ConfigError, DataError
from assay.tasks.task import find_answer
from assay.types import Episode, Problem, Stats, Verdict
from assay.verify.naming import Function, line_in

OWN = ("prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric")
ROUNDING = 1e-9  # 0.7 + 0.2 + 0.1 is a little less than 1
LEFT_OUT = ("prompt", "completion", "completion_ids")  # columns that TRL keeps from functions as well


@dataclass(frozen=True)
class TrainerState:
    """What a function may ask of the run, under TRL's names."""

    global_step: int
    max_steps: int


@dataclass
class Scorer:
    """Judges answers by reward functions: right where the weighted sum of what they say is at least `right_from`."""

    functions: tuple[Function, ...]
    right_from: float = 1.0
    max_steps: int = 0
    warn: Callable[[str], None] = lambda text: None
    step: int = 0
    seconds: dict[str, float] = field(default_factory=dict)  # of each function, since they were last taken
    _logged: dict[str, list[float]] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _loop: _Loop | None = None

    def __call__(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """A verdict with scores for each; an answer about which no function says anything has no reward."""
        answered = [i for i, episode in enumerate(episodes) if episode.finish != "error"]
        rows = self._scores([episodes[i] for i in answered]) if answered else []
        scores = dict(zip(answered, rows, strict=True))
        verdicts = [
            self._verdict(episode, scores[i]) if i in scores else Verdict.invalid("generation", "the sampler failed")
            for i, episode in enumerate(episodes)
        ]
        if silent := [i for i, verdict in enumerate(verdicts) if verdict.kind == "no_reward"]:
            self._once(
                "silent",
                f"warning: every reward function gave None for {len(silent)} of {len(episodes)} answers, first for "
                f"{where(episodes[silent[0]])}. They have no reward and are left out of training.",
            )
        return verdicts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def check(self, problems: Sequence[Problem]) -> None:
        """Refuses, before a run, a function that asks for a column that these problems do not have."""
        offered = dict.fromkeys((*OWN, *columns_of(problems)))
        for function in self.functions:
            asked_of(function, offered)

    def taken(self) -> Stats:
        """What was logged and how long it took since this was last asked."""
        stats = {f"reward/logged/{name}": float(np.mean(values)) for name, values in self._logged.items()}
        stats |= {f"time/reward/{name}": value for name, value in self.seconds.items()}
        self._logged, self.seconds = {}, {}
        return stats

    def _verdict(self, episode: Episode, scores: Mapping[str, float | None]) -> Verdict:
        parts = [f.weight * value for f in self.functions if (value := scores[f.name]) is not None]
        answer = find_answer(episode.text, "natural")
        if not parts:
            return Verdict("invalid", "no_reward", "no reward function applied", answer, scores)
        if episode.finish == "length":
            return Verdict("fail", "truncated", answer=answer, scores=scores)
        right = math.fsum(parts) >= self.right_from - ROUNDING
        return Verdict("ok" if right else "fail", "" if right else "wrong", answer=answer, scores=scores)

    def _scores(self, episodes: Sequence[Episode]) -> list[dict[str, float | None]]:
        offered = self._offered(episodes)
        columns: dict[str, Sequence[float | None]] = {}
        waiting: list[tuple[Function, Awaitable[Any]]] = []
        try:
            for function in self.functions:
                result = self._call(function, offered, episodes)
                if inspect.isawaitable(result):
                    waiting.append((function, result))
                else:
                    columns[function.name] = values_of(function, result, episodes)
        except BaseException:
            for _, result in waiting:
                _close(result)
            raise
        for (function, _), result in zip(waiting, self._gathered(waiting), strict=True):
            columns[function.name] = values_of(function, result, episodes)
        return [{f.name: columns[f.name][i] for f in self.functions} for i in range(len(episodes))]

    def _offered(self, episodes: Sequence[Episode]) -> dict[str, Any]:
        problems = [episode.request.problem for episode in episodes]
        return columns_of(problems) | {
            "prompts": [p.prompt if isinstance(p.prompt, str) else [dict(m) for m in p.prompt] for p in problems],
            "completions": [
                e.text if isinstance(e.request.problem.prompt, str) else [{"role": "assistant", "content": e.text}]
                for e in episodes
            ],
            "completion_ids": [episode.stream("ids").tolist() for episode in episodes],
            "trainer_state": TrainerState(self.step, self.max_steps),
            "log_extra": self._log_extra,
            "log_metric": self._log_metric,
        }

    def _call(self, function: Function, offered: Mapping[str, Any], episodes: Sequence[Episode]) -> Any:
        arguments = asked_of(
            function,
            copy.deepcopy({k: v for k, v in offered.items() if k not in OWN})
            | {name: offered[name] for name in OWN if name in offered},
        )
        began = time.monotonic()
        try:
            return function.call(**arguments)
        except Exception as error:  # of a user's function: it is named, and the run stops
            raise self._raised(function, error, episodes, offered) from error
        finally:
            self._spend(function, time.monotonic() - began)

    def _raised(
        self, function: Function, error: Exception, episodes: Sequence[Episode], offered: Mapping[str, Any]
    ) -> DataError:
        """The error for what a function raised; asked of each answer alone, it shows which one it is about."""
        guilty = f"a call with {len(episodes)} answers" if len(episodes) > 1 else where(episodes[0])
        for i, episode in enumerate(episodes if len(episodes) > 1 else ()):
            alone = {name: [value[i]] if isinstance(value, list) else value for name, value in offered.items()}
            try:
                result = function.call(**asked_of(function, alone))
            except Exception as again:
                error, guilty = again, f"{where(episode)}, whose answer begins {shown(episode.text)}"
                break
            _close(result)
        path = function.place.rpartition(":")[0]
        return DataError(
            f"{function}{line_in(error, path)} raised {type(error).__name__}: {error}, for {guilty}. A reward function "
            "gives a number for every answer, None where it does not apply, and raises on none."
        )

    def _gathered(self, waiting: Sequence[tuple[Function, Awaitable[Any]]]) -> list[Any]:
        if not waiting:
            return []
        self._loop = self._loop or _Loop()
        return self._loop.run(_together([self._awaited(*one) for one in waiting]))

    async def _awaited(self, function: Function, result: Awaitable[Any]) -> Any:
        began = time.monotonic()
        try:
            return await result
        except Exception as error:
            path = function.place.rpartition(":")[0]
            raise DataError(f"{function}{line_in(error, path)} raised {type(error).__name__}: {error}.") from error
        finally:
            self._spend(function, time.monotonic() - began)

    def _spend(self, function: Function, seconds: float) -> None:
        self.seconds[function.name] = self.seconds.get(function.name, 0.0) + seconds

    def _log_metric(self, name: str, value: float) -> None:
        self._logged.setdefault(name, []).append(float(value))

    def _log_extra(self, column: str, values: Sequence[Any]) -> None:
        self._once("extra", f"warning: log_extra('{column}', ...): saved rollouts have no further columns; left out.")

    def _once(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self.warn(text)


def asked_of(function: Function, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is offered, what the signature names; all of it for `**kwargs`."""
    try:
        parameters = inspect.signature(function.call).parameters.values()
    except (TypeError, ValueError):  # some builtins do not tell
        return dict(offered)
    if any(parameter.kind is parameter.POSITIONAL_ONLY for parameter in parameters):
        raise ConfigError(f"{function} takes arguments by position alone; arguments are given by name. Remove the `/`.")
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing = [p.name for p in named if p.name not in offered and p.default is p.empty]
    if missing:
        columns = [name for name in offered if name not in OWN]
        near = difflib.get_close_matches(missing[0], [*columns, *OWN], n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise ConfigError(
            f"{function} asks for '{missing[0]}', which there is not.{hint} There are prompts, completions, "
            f"completion_ids and the columns {', '.join(sorted(columns)) or '(none)'}."
        )
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(offered)
    return {p.name: offered[p.name] for p in named if p.name in offered}


def columns_of(problems: Sequence[Problem]) -> dict[str, list[Any]]:
    """The columns of all rows, None where a row has none of this name."""
    rows = [_row(problem) for problem in problems]
    names = dict.fromkeys(name for row in rows for name in row if name not in (*OWN, *LEFT_OUT))
    return {name: [row.get(name) for row in rows] for name in names}


def _row(problem: Problem) -> dict[str, Any]:
    """Of a data row its own columns; of a problem that a task made, what its checker knows, and a right answer."""
    own = problem.spec.get("columns")
    if isinstance(own, Mapping):
        return {"gold": problem.spec.get("gold"), **own}
    answer = find_answer(problem.solution, problem.wording) if problem.solution else None
    return {
        "task": problem.task,
        "level": problem.level,
        "solution": problem.solution,
        "answer": answer,
        **problem.spec,
    }


def values_of(function: Function, result: Any, episodes: Sequence[Episode]) -> list[float | None]:
    """What a function gave back as finite numbers and None, or an error that names function, row and value."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(result, torch.Tensor):
        result = result.detach().cpu().numpy()
    if isinstance(result, np.ndarray):
        if result.ndim != 1:
            raise DataError(f"{function} gave an array of shape {result.shape}; expected one number for each answer.")
        result = list(result)
    if not isinstance(result, list | tuple):
        raise DataError(
            f"{function} gave {shown(result)}, of type {type(result).__name__}; expected a list with a number or None "
            f"for each of the {len(episodes)} answers."
        )
    if len(result) != len(episodes):
        raise DataError(
            f"{function} gave {len(result)} rewards for {len(episodes)} answers; expected one for each, in their order."
        )
    return [_value(function, item, episode) for item, episode in zip(result, episodes, strict=True)]


def _value(function: Function, item: Any, episode: Episode) -> float | None:
    if item is None:
        return None
    torch = sys.modules.get("torch")
    if isinstance(item, np.ndarray) or (torch is not None and isinstance(item, torch.Tensor)):
        if item.ndim != 0:
            raise _bad(function, f"an array of shape {tuple(item.shape)}", "a single number", episode)
        item = item.item()
    if isinstance(item, np.generic):
        item = item.item()
    if not isinstance(item, numbers.Real):
        raise _bad(function, f"{shown(item)}, of type {type(item).__name__}", "a number, or None", episode)
    try:
        value = float(item)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise _bad(function, str(value), "a finite number, or None where the function does not apply", episode)
    return value


def _bad(function: Function, came: str, expected: str, episode: Episode) -> DataError:
    return DataError(
        f"{function} gave {came} for {where(episode)}, whose answer begins {shown(episode.text)}; expected {expected}."
    )


def where(episode: Episode) -> str:
    """The row of a file, or the problem of a task."""
    problem = episode.request.problem
    if "row" in problem.spec and "columns" in problem.spec:
        file = Path(problem.task.removeprefix("data:").partition("?")[0]).name
        return f"line {problem.spec['row']} of {file} (problem {problem.id})"
    return f"problem {problem.id} of {problem.task}"


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _close(result: Any) -> None:
    """What is never awaited."""
    if inspect.iscoroutine(result):
        result.close()


async def _together(awaitables: Sequence[Awaitable[Any]]) -> list[Any]:
    return list(await asyncio.gather(*awaitables))


class _Loop:
    """One event loop in a thread of its own: it outlives a call, and a notebook may have another one running."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="assay-rewards", daemon=True)
        self.thread.start()

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    def close(self) -> None:
        async def leave() -> None:
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        self.run(leave())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
