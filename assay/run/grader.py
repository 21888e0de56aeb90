"""The verdicts of a run: of its reward functions if the run has some, else of the verifiers of its tasks."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from assay.ask import Codec
from assay.collect import AtEnd, AtOnce, Verdicts
from assay.errors import DataError, UsageError
from assay.part import parts_of
from assay.recipe import Recipe
from assay.run.experiment import Experiment
from assay.run.open_rows import reads_verdicts
from assay.run.probing import probed
from assay.source import Pool
from assay.tasks import task
from assay.tasks.verifying import verify, verify_twice
from assay.types import Episode, Origin, Problem, Request, Segment, Stats, Verdict
from assay.verifiers.functions.grading import Grading
from assay.verifiers.functions.loading import load
from assay.verifiers.functions.naming import RewardName, named, names, parse
from assay.verifiers.functions.process import SECONDS, STILL
from assay.view.judged import name_of_one

PROBE = 16  # problems whose columns are compared with the arguments of reward functions before a run starts
TRIED = 2  # answers with which they are called once before a run
SLOW = 0.5  # a reward function that takes a larger share of a step gets a warning

Reward = str | Callable[..., Any]
Functions = Mapping[str, Callable[..., Any]]
"""Reward functions that the calling program passes as Python functions, by name."""


class Grader:
    """Gives each episode its verdict, and measures how long that takes.

    A grader is a context manager, because reward functions may run in processes of their own, which must end with it.

    with grader(["rewards.py:correct"]) as ask:
        verdicts = ask(episodes)
    """

    def __init__(
        self,
        grading: Grading | None = None,
        read: Callable[[Problem], bool] = lambda _: True,
        *,
        read_cut: bool = False,
    ) -> None:
        self.grading = grading
        self.read_cut = read_cut  # whether the text of an answer counts although the length limit cut it off
        self.read = read  # whether a reward, or another part of the recipe, reads the verdicts on a row of data
        self.seconds = 0.0
        self.spent: dict[str, float] = {}  # seconds by task, where verifiers are asked
        self._at_once: AtOnce | None = None
        self._warned = False  # of a slow reward function: one warning a run is enough

    def __call__(self, episodes: Sequence[Episode]) -> Sequence[Verdict | None]:
        began = time.monotonic()
        try:
            return self._verified(episodes) if self.grading is None else self.grading(episodes)
        finally:
            self.seconds += time.monotonic() - began

    def _verified(self, episodes: Sequence[Episode]) -> list[Verdict | None]:
        """The verdicts of verifiers. A reference answer that cannot be read is no fault where nobody reads verdicts."""
        found = _known(functools.partial(verify, spent=self.spent, read_cut=self.read_cut), episodes)
        for i, (episode, verdict) in enumerate(zip(episodes, found, strict=True)):
            problem = episode.request.problem
            if verdict and verdict.status == "invalid" and problem.provenance == "data" and not self.read(problem):
                found[i] = None
        return found

    def verdicts(self, pool: Pool) -> Verdicts:
        """When answers to these problems get their verdicts: at once, while others are sampled, if foreign programs
        give them.

        Other verifiers would only take time from the sampler, and reward functions see all answers of a round.
        """
        if self.grading is None and any(task(share.task).checker.externals for share in pool.shares):
            self._at_once = AtOnce(self)
        return self._at_once or AtEnd(self)

    def exam(self, episodes: Sequence[Episode]) -> Sequence[Verdict | None]:
        """One verdict on each answer, where several judges cannot stand side by side, as in a bank of samples: that of
        the task's checker, whatever reward a run trains on, because a reward may have little to do with what is right;
        on rows of data files, that of the reward functions that were named to judge them.
        """
        if self.grading is None:
            return self.verified(episodes)
        verdicts = self.grading(episodes)
        checked = [i for i, episode in enumerate(episodes) if episode.request.problem.provenance != "data"]
        twice = verify_twice([episodes[i] for i in checked], read_cut=self.read_cut)
        for i, verdict in zip(checked, twice, strict=True):
            verdicts[i] = dataclasses.replace(verdict, scores=verdicts[i].scores)
        return verdicts

    def judge(self, tasks: Iterable[str]) -> str:
        """The name of the judge whose verdict `exam` gives on answers to these tasks."""
        functions = () if self.grading is None else self.grading.functions
        return name_of_one(tasks, [function.name for function in functions])

    def verified(self, episodes: Sequence[Episode]) -> list[Verdict | None]:
        """The verdicts of the tasks' verifiers in an evaluation, whatever reward a run trains on. An "ok" also needs
        the second oracle of the task. None on answers to open problems, which they know nothing of.
        """
        return _known(functools.partial(verify_twice, read_cut=self.read_cut), episodes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.grading is not None:
            self.grading.__exit__(*problem)

    def tell(self, warn: Callable[[str], None]) -> None:
        """From now on calls `warn` with each warning about reward functions."""
        if self.grading is not None:
            self.grading.warn = warn

    def at(self, step: int) -> None:
        """Begins a step: reward functions learn its number, and measurements start from zero."""
        self.seconds, self.spent = 0.0, {}
        if self._at_once is not None:
            self._at_once.waited = 0.0
        if self.grading is not None:
            self.grading.step = step
            self.grading.taken()

    def measured(self) -> Stats:
        """The metrics of this step so far: the seconds that verdicts took, those of each task, those in which the
        sampler waited for them if they are given at once, and those of each reward function.
        """
        own = {} if self.grading is None else self.grading.taken()
        waited = {} if self._at_once is None else {"time/reward_wait": self._at_once.waited}
        tasks = {f"time/verify/{name}": seconds for name, seconds in self.spent.items()}
        return {"time/reward": self.seconds, **tasks, **waited, **own}

    def slow(self, stats: Stats, *, budget: float = math.inf) -> str | None:
        """A warning when verifying takes more than its budget of seconds in a step, or a reward function takes most of
        it; None if neither does, or after the first warning. No verdict depends on this.
        """
        if self._warned or not stats.get("time/step"):
            return None
        if self.grading is None:
            return self._over(stats, budget)
        for function in self.grading.functions:
            share = stats.get(f"time/reward/{function.name}", 0.0) / stats["time/step"]
            if share > SLOW:
                self._warned = True
                return f"warning: {function} took {share:.0%} of the step; the run waits for it."
        return None

    def _over(self, stats: Stats, budget: float) -> str | None:
        if self.seconds <= budget or not self.spent:
            return None
        self._warned = True
        dearest = max(self.spent, key=lambda name: self.spent[name])
        return (
            f"warning: verifying took {self.seconds:.0f} s, {self.seconds / stats['time/step']:.0%} of the step and "
            f"more than its budget of {budget:g} s (machine.verifying); {self.spent[dearest]:.0f} s of it went to the "
            f"answers to '{dearest}'. Verdicts do not depend on it; `time/verify/{dearest}` shows it step by step."
        )


def _known(ask: Callable[[Sequence[Episode]], list[Verdict]], episodes: Sequence[Episode]) -> list[Verdict | None]:
    """The verdicts of a verifier; None of answers to open problems, which it knows nothing of."""
    places = [i for i, episode in enumerate(episodes) if not episode.request.problem.open]
    found = dict(zip(places, ask([episodes[i] for i in places]), strict=True))
    return [found.get(i) for i in range(len(episodes))]


def grader(
    rewards: Sequence[str],
    *,
    right_from: float = 1.0,
    max_steps: int = 0,
    timeout: float = SECONDS,
    still: float = STILL,
    given: Mapping[str, Callable[..., Any]] | None = None,
    read: Callable[[Problem], bool] = lambda _: True,
    read_cut: bool = False,
) -> Grader:
    """A grader with these reward functions, written FILE.py:FUNCTION=WEIGHT; without any it uses the tasks' verifiers.

    `given` holds reward functions that the calling program passes as Python functions, by name. `timeout` is in seconds
    and holds for one call of one function. A process of functions that somebody stops is given up after `still`
    seconds. `read` says whether anybody reads the verdicts on a row of data, and `read_cut` whether the text of an
    answer counts although the length limit cut it off.
    """
    if not rewards:
        return Grader(read=read, read_cut=read_cut)
    functions = load([parse(text) for text in rewards], given, seconds=timeout, still=still)
    return Grader(Grading(functions, right_from, max_steps, timeout, read_cut=read_cut), read_cut=read_cut)


def grader_of(experiment: Experiment, given: Mapping[str, Callable[..., Any]] | None = None) -> Grader:
    return grader(
        experiment.rewards,
        right_from=experiment.right_from,
        max_steps=experiment.recipe.scale.num_steps,
        timeout=experiment.reward_timeout,
        still=min(STILL, float(experiment.machine.deadline)),
        given=given,
        read=reads_verdicts(experiment.recipe),
        read_cut=experiment.cut == "scored",
    )


def try_functions(grader: Grader, pool: Pool, codec: Codec) -> None:
    """Calls the reward functions once, with two right answers as far as the pool knows any: a function that fails
    should not do so after the model was loaded. What it returns and logs is thrown away.
    """
    if grader.grading is not None:
        grader.grading([answered(problem, codec) for problem in probed(pool, TRIED)])
        grader.grading.forget()


def answered(problem: Problem, codec: Codec | None = None) -> Episode:
    """An answer that is right: the worked solution, or else the reference answer in a box. It says nothing if neither
    is known, and has no tokens without a codec.
    """
    gold = problem.spec.get("gold")
    text = problem.solution or (f"\\boxed{{{gold}}}" if gold else "I do not know.")
    ids = np.zeros(0, np.int32)
    with contextlib.suppress(DataError):  # a tokenizer of few characters cannot write every text
        ids = ids if codec is None else np.asarray(codec.encode(text), np.int32)
    segment = Segment(ids, np.full(len(ids), Origin.POLICY, np.uint8))
    return Episode(Request(problem, np.zeros(0, np.int32), problem.id, max(1, len(ids))), (segment,), "stop", text)


def check_functions(grader: Grader, pool: Pool) -> None:
    """Refuses reward functions with arguments that are no columns of this pool's problems."""
    if grader.grading is not None:
        grader.grading.check(probed(pool, PROBE))


def require_services(recipe: Recipe) -> dict[str, str]:
    """Refuses a run whose parts need something outside of the program that is not there, for example a judge.

    Returns for each judge which model answered its self-test, and a digest of the prompts that it is given.
    """
    found: dict[str, str] = {}
    for part in parts_of((recipe.mechanisms, recipe.stages)):
        found |= part.prepare()
    return found


def absolute(rewards: Sequence[str]) -> tuple[str, ...]:
    """The names of reward functions with absolute paths, so that a run can be resumed from any working directory."""
    return tuple(str(parse(text)) for text in rewards)


def reward_names_of(
    reward: Reward | Sequence[Reward] | None, weights: Sequence[float] | None
) -> tuple[tuple[str, ...], dict[str, Callable[..., Any]]]:
    """(the reward functions as `--reward` would name them, those given as Python functions by name)."""
    items = [] if reward is None else _listed(reward)
    if weights is not None and len(weights) != len(items):
        raise UsageError(f"reward_weights has {len(weights)} numbers for {len(items)} reward functions.")
    functions: list[RewardName] = [parse(item) if isinstance(item, str) else named(item) for item in items]
    if weights is not None:
        functions = [dataclasses.replace(one, weight=float(w)) for one, w in zip(functions, weights, strict=True)]
    given = {name: item for name, item in zip(names(functions), items, strict=True) if not isinstance(item, str)}
    return tuple(str(function) for function in functions), given


def _listed(reward: Any) -> list[Reward]:
    """The reward functions of an argument that may hold one or several; UsageError for what is none."""
    items = list(reward) if isinstance(reward, list | tuple) else [reward]
    if wrong := [item for item in items if not (isinstance(item, str) or callable(item))]:
        raise UsageError(
            "reward is a function f(prompts, completions, **columns), the text 'FILE.py:FUNCTION', or a list of these, "
            f"and not {wrong[0]!r}, of type {type(wrong[0]).__name__}."
        )
    return items


def sources(grader: Grader) -> dict[str, str]:
    """Reward function -> digest of its source, for run.json."""
    return {function.name: function.digest for function in grader.grading.functions} if grader.grading else {}


def changes(grader: Grader, before: Mapping[str, str]) -> list[str]:
    """A warning for each reward function whose source has changed since the run began; `before` is from run.json."""
    now = sources(grader)
    return [
        f"the source of the reward function '{name}' has changed since the run began; later steps are rewarded by the "
        "new source"
        for name, was in before.items()
        if was and now.get(name, was) != was
    ]
