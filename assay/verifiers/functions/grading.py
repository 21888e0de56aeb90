"""Grades answers by reward functions of users, which have TRL's signature:
f(prompts, completions, **columns) -> numbers.

A function is called once with all answers of a round, and is given the columns that its signature names. It gives a
finite number for each answer, or None where it does not apply. Anything else is an error. Functions that have a file
run in a process for each file. Functions of the calling program run in this process. Every call has a time limit.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from assay.errors import ConfigError, DataError
from assay.types import Episode, Problem, Stats, Verdict
from assay.verifiers.answers import find_answer
from assay.verifiers.functions.calling import IDS, LARGEST, STATE, Fault, Reply, TrainerState, shown
from assay.verifiers.functions.here import Here
from assay.verifiers.functions.loading import Function
from assay.verifiers.functions.process import SECONDS, FunctionProcess, answers

OWN = ("prompts", "completions", IDS, STATE, "log_extra", "log_metric")
ROUNDING = 1e-9  # 0.7 + 0.2 + 0.1 is a little less than 1
LEFT_OUT = ("prompt", "completion", IDS)  # columns that TRL does not pass to functions either
SHARE = 1.0  # seconds that each answer may always take in a search for the answer on which a function hangs


@dataclass
class Grading:
    """Grades answers by reward functions: an answer is right if the weighted
    sum of its grades is at least `right_from`.

    Example:
        with Grading(load([parse("rewards.py:accuracy")])) as grading:
            verdicts = grading(episodes)  # one for each, with the grades of each function as its scores
    """

    functions: tuple[Function, ...]
    right_from: float = 1.0
    max_steps: int = 0  # steps of the run, for functions that ask for `trainer_state`
    limit: float = SECONDS  # time limit of one call
    read_cut: bool = False  # whether an answer can be right that the length limit cut off
    warn: Callable[[str], None] = lambda text: None
    step: int = 0
    seconds: dict[str, float] = field(default_factory=dict)  # time of each function since `taken` was last called
    _logged: dict[str, list[float]] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _here: Here | None = None

    def __call__(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """A verdict with the grades of each answer. An answer for which every function gives None has no reward."""
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
        for process in self._processes():
            process.close()
        if self._here is not None:
            self._here.close()
            self._here = None

    def check(self, problems: Sequence[Problem]) -> None:
        """Raises ConfigError, before a run, for a function that asks for a column that these problems do not have."""
        offered = dict.fromkeys((*OWN, *columns_of(problems)))
        for function in self.functions:
            asked_of(function, offered)

    def taken(self) -> Stats:
        """The metrics that functions logged, and the seconds that they took, since `taken` was last called."""
        with np.errstate(over="ignore"):
            stats = {f"reward/logged/{name}": float(np.mean(values)) for name, values in self._logged.items()}
        stats |= {f"time/reward/{name}": value for name, value in self.seconds.items()}
        self._logged, self.seconds = {}, {}
        return stats

    def forget(self) -> None:
        """Throws away what functions have returned, logged and been warned of so far, as if nothing had been asked."""
        self.taken()
        self._warned.clear()

    def _verdict(self, episode: Episode, scores: Mapping[str, float | None]) -> Verdict:
        parts = [f.weight * value for f in self.functions if (value := scores[f.name]) is not None]
        answer = find_answer(episode.text, "natural")
        if not parts:
            return Verdict("invalid", "no_reward", "no reward function applied", answer, scores)
        if episode.finish == "length" and not self.read_cut:
            return Verdict("fail", "truncated", answer=answer, scores=scores)
        right = math.fsum(parts) >= self.right_from - ROUNDING
        return Verdict("ok" if right else "fail", "" if right else "wrong", answer=answer, scores=scores)

    # --- asking ---------------------------------------------------------------------------------------------

    def _scores(self, episodes: Sequence[Episode]) -> list[dict[str, float | None]]:
        """The scores of each answer. If a process ends, the functions without a reply are asked once more: the
        system may have killed it, for memory say. If that happens again, the function is at fault.
        """
        offered = self._offered(episodes)
        columns, failure = self._columns(self.functions, offered, episodes)
        if failure is not None and failure[1].kind == "ended":
            function, fault = failure
            rest = [function for function in self.functions if function.name not in columns]
            more, failure = self._columns(rest, offered, episodes)
            columns |= more
            if failure is None:
                self.warn(f"warning: {function} {fault.what}; started again, it gave rewards for the same answers.")
        if failure is not None:  # raised here, when no function is at work any more
            raise self._error(*failure, offered, episodes)
        return [{f.name: columns[f.name][i] for f in self.functions} for i in range(len(episodes))]

    def _columns(
        self, functions: Sequence[Function], offered: Mapping[str, Any], episodes: Sequence[Episode]
    ) -> tuple[dict[str, list[float | None]], tuple[Function, Fault] | None]:
        """(the values of each function that gave some, the first fault and whose it is)."""
        known = {function.name: function for function in functions}
        columns: dict[str, list[float | None]] = {}
        with contextlib.closing(self._ask(functions, offered, len(episodes), self.limit)) as replies:
            for name, reply in replies:
                self._account(name, reply)
                if reply.fault is not None:
                    return columns, (known[name], reply.fault)
                columns[name] = _weighed(known[name], reply.values, episodes)
        return columns, None

    def _ask(
        self, functions: Sequence[Function], offered: Mapping[str, Any], count: int, seconds: float
    ) -> Generator[tuple[str, Reply], None, None]:
        """The reply of each function. All processes work at the same time, and so do the functions of this process."""
        asked = {function.name: asked_of(function, offered) for function in functions}
        apart: dict[FunctionProcess, list[str]] = {}
        for function in functions:
            if isinstance(function.call, FunctionProcess):
                apart.setdefault(function.call, []).append(function.name)
        try:
            for process, theirs in apart.items():
                process.give(theirs, {key: value for name in theirs for key, value in asked[name].items()}, count)
            if here := [function for function in functions if not isinstance(function.call, FunctionProcess)]:
                self._here = self._here or Here([f for f in self.functions if not isinstance(f.call, FunctionProcess)])
                names = [function.name for function in here]
                yield from self._here.ask(names, lambda name: _copied(asked[name]), count, seconds)
            yield from answers(list(apart), seconds)
        finally:
            for process in apart:
                if process.working:
                    process.drop()

    def _offered(self, episodes: Sequence[Episode]) -> dict[str, Any]:
        """All columns that a function may ask for, as plain data that can be sent to a process.

        `log_extra` and `log_metric` are None here, and become functions where the reward function runs. Token ids stay
        arrays, which are sent faster than lists.
        """
        problems = [episode.request.problem for episode in episodes]
        return columns_of(problems) | {
            "prompts": [p.prompt if isinstance(p.prompt, str) else [dict(m) for m in p.prompt] for p in problems],
            "completions": [
                e.text if isinstance(e.request.problem.prompt, str) else [{"role": "assistant", "content": e.text}]
                for e in episodes
            ],
            IDS: [episode.stream("ids") for episode in episodes],
            STATE: TrainerState(self.step, self.max_steps),
            "log_extra": None,
            "log_metric": None,
        }

    def _account(self, name: str, reply: Reply) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + reply.seconds
        for metric, value in reply.metrics:
            self._logged.setdefault(metric, []).append(value)
        for column in reply.extras:
            self._once(
                "extra", f"warning: log_extra('{column}', ...): saved rollouts have no further columns; left out."
            )

    # --- what goes wrong ------------------------------------------------------------------------------------

    def _error(
        self, function: Function, fault: Fault, offered: Mapping[str, Any], episodes: Sequence[Episode]
    ) -> DataError:
        """The error for a fault. To name the answer that caused it, the function is called again for single answers."""
        if fault.kind == "gave":
            about = "" if fault.row is None else f" for {_answer(episodes[fault.row])}"
            return DataError(f"{function} {fault.what}{about}; expected {fault.expected}.")
        beside = [other for other in self.functions if other.name in fault.beside]
        guilty, alone, row = self._guilty([function, *beside], fault, offered, episodes)
        about = f"a call with {len(episodes)} answers" if row is None else _answer(episodes[row])
        if len(episodes) == 1:
            about = where(episodes[0])
        if fault.kind == "raised":
            return DataError(
                f"{guilty}{alone.line} {alone.what}, for {about}. A reward function gives a number for every answer, "
                "None where it does not apply, and raises on none."
            )
        advice = "A run that was under way goes on with `assay resume` when the function is mended"
        if fault.kind == "ended":
            return DataError(f"{guilty}{alone.line} {alone.what}, for {about}. It only gives numbers back. {advice}.")
        first = "" if alone is fault or len(episodes) == 1 else f" {fault.what}; asked of one answer alone it"
        unknown = " or one that waits with it" if alone is fault and fault.beside else ""
        return DataError(
            f"{guilty}{unknown}{alone.line}{first} {alone.what}, for {about}. {advice}, or with more time "
            "(--reward-timeout SECONDS)."
        )

    def _guilty(
        self, functions: Sequence[Function], fault: Fault, offered: Mapping[str, Any], episodes: Sequence[Episode]
    ) -> tuple[Function, Fault, int | None]:
        """(function, its fault, index of the answer) of the first single answer
        on which the same kind of fault happens.

        The search ends after the time limit of a call, or after a second for each answer if that is longer.
        In a search for an answer on which a function hangs, each answer has an equal share of that time.
        """
        left = max(self.limit, SHARE * len(episodes))
        share = left / len(episodes) if fault.kind == "late" else self.limit
        for function in functions if len(episodes) > 1 else ():
            for row in range(len(episodes)):
                if left < 0:
                    break
                alone = {name: [value[row]] if isinstance(value, list) else value for name, value in offered.items()}
                for _, reply in self._ask([function], alone, 1, share):
                    left -= reply.seconds
                    if reply.fault is not None and reply.fault.kind == fault.kind:
                        return function, reply.fault, row
        return functions[0], fault, None

    def _processes(self) -> list[FunctionProcess]:
        return list(dict.fromkeys(f.call for f in self.functions if isinstance(f.call, FunctionProcess)))

    def _once(self, kind: str, text: str) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            self.warn(text)


def asked_of(function: Function, offered: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that a function's signature names; all columns for `**kwargs`."""
    asks = function.asks
    if asks.by_position:
        raise ConfigError(
            f"{function} takes arguments by position alone, but a reward function gets them by name. Remove the `/`."
        )
    if missing := [name for name in asks.required if name not in offered]:
        columns = [name for name in offered if name not in OWN]
        near = difflib.get_close_matches(missing[0], [*columns, *OWN], n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise ConfigError(
            f"{function} asks for '{missing[0]}', but there is no such column.{hint} There are prompts, completions, "
            f"completion_ids and the columns {', '.join(sorted(columns)) or '(none)'}."
        )
    return asks.of(offered)


def _copied(columns: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of all columns but the arrays of token ids, of which each function gets lists of its own anyway."""
    return {name: value if name == IDS else copy.deepcopy(value) for name, value in columns.items()}


def columns_of(problems: Sequence[Problem]) -> dict[str, list[Any]]:
    """The columns of these problems, with None where a problem lacks a column."""
    rows = [_row(problem) for problem in problems]
    names = dict.fromkeys(name for row in rows for name in row if name not in (*OWN, *LEFT_OUT))
    return {name: [row.get(name) for row in rows] for name in names}


def _row(problem: Problem) -> dict[str, Any]:
    """The columns of one problem: those of its data row or, if a task made it, its spec and a right answer."""
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


def _weighed(function: Function, values: list[float | None], episodes: Sequence[Episode]) -> list[float | None]:
    """The values, after checking that none is too large when multiplied by its weight."""
    for value, episode in zip(values, episodes, strict=True):
        if value is not None and abs(function.weight * value) > LARGEST:
            raise DataError(
                f"{function} gave {value:g} with a weight of {function.weight:g} for {_answer(episode)}; expected a "
                f"product of at most {LARGEST:g}, so that sums of rewards stay finite."
            )
    return values


def _answer(episode: Episode) -> str:
    return f"{where(episode)}, whose answer begins {shown(episode.text)}"


def where(episode: Episode) -> str:
    """The source of an episode's problem: a line of a file, or a problem of a task."""
    problem = episode.request.problem
    if "row" in problem.spec and "columns" in problem.spec:
        file, _, line = str(problem.spec["row"]).rpartition(":")  # with several files, a row says which one it is from
        file = file or Path(problem.task.removeprefix("data:").partition("?")[0]).name
        return f"line {line} of {file} (problem {problem.id})"
    return f"problem {problem.id} of {problem.task}"
