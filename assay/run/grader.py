"""Who judges the answers of a run: its reward functions where it has some, else the checkers of its tasks."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from assay.errors import ConfigError, UsageError
from assay.recipe import Mechanism, Recipe
from assay.reward import Scored
from assay.rng import Key
from assay.run.experiment import Experiment
from assay.source import Pool
from assay.tasks.verdicts import verify
from assay.types import Episode, Stats, Verdict
from assay.verifiers.functions.naming import RewardName, load, named, names, parse
from assay.verifiers.functions.process import SECONDS
from assay.verifiers.functions.scorer import Scorer

PROBE = 16  # problems of which the columns are looked at before a run starts
SLOW = 0.5  # share of a step that a reward function may take before it is told

Reward = str | Callable[..., Any]


class Grader:
    """Verdicts of a run, and what they cost. Used as a context: functions may live in processes of their own."""

    def __init__(self, scorer: Scorer | None = None) -> None:
        self.scorer = scorer
        self.seconds = 0.0
        self._told = False

    def __call__(self, episodes: Sequence[Episode]) -> list[Verdict]:
        began = time.monotonic()
        try:
            return verify(episodes) if self.scorer is None else self.scorer(episodes)
        finally:
            self.seconds += time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        if self.scorer is not None:
            self.scorer.__exit__(*problem)

    def tell(self, warn: Callable[[str], None]) -> None:
        """Where warnings go from now on."""
        if self.scorer is not None:
            self.scorer.warn = warn

    def at(self, step: int) -> None:
        """The run stands at this step, and what was measured before belongs to another."""
        self.seconds = 0.0
        if self.scorer is not None:
            self.scorer.step = step
            self.scorer.taken()

    def measured(self) -> Stats:
        """Of this step so far."""
        own = {} if self.scorer is None else self.scorer.taken()
        return {"time/reward": self.seconds, **own}

    def slow(self, stats: Stats) -> str | None:
        """What to tell a person, once, when a function takes most of a step."""
        if self.scorer is None or self._told or not stats.get("time/step"):
            return None
        for function in self.scorer.functions:
            share = stats.get(f"time/reward/{function.name}", 0.0) / stats["time/step"]
            if share > SLOW:
                self._told = True
                return f"warning: {function} took {share:.0%} of the step; the run waits for it."
        return None


def grader(
    rewards: Sequence[str],
    *,
    right_from: float = 1.0,
    max_steps: int = 0,
    timeout: float = SECONDS,
    given: Mapping[str, Callable[..., Any]] | None = None,
) -> Grader:
    """By these reward functions; `given` are those that exist in this program already, by name. A call has `timeout`
    seconds.
    """
    if not rewards:
        return Grader()
    functions = load([parse(text) for text in rewards], given, seconds=timeout)
    return Grader(Scorer(functions, right_from, max_steps, timeout))


def grader_of(experiment: Experiment, given: Mapping[str, Callable[..., Any]] | None = None) -> Grader:
    return grader(
        experiment.rewards,
        right_from=experiment.right_from,
        max_steps=experiment.recipe.scale.num_steps,
        timeout=experiment.reward_timeout,
        given=given,
    )


def check_functions(judge: Grader, pool: Pool) -> None:
    """Refuses functions that ask for what the problems of this pool do not have."""
    if judge.scorer is not None:
        key = Key("probe")
        judge.scorer.check([pool.problem(key(i)) for i in range(PROBE)])


def absolute(rewards: Sequence[str]) -> tuple[str, ...]:
    """As they can be found from anywhere."""
    return tuple(str(parse(text)) for text in rewards)


def scored_by(recipe: Recipe, rewards: Sequence[str]) -> Recipe:
    """The recipe with reward functions where it had the outcome; its other rewards stay."""
    wishes = [parse(text) for text in rewards]
    parts = tuple(Scored(name, wish.weight) for name, wish in zip(names(wishes), wishes, strict=True))
    changed = dataclasses.replace(
        recipe,
        mechanism=_scored(recipe.mechanism, parts),
        stages=tuple(
            dataclasses.replace(stage, mechanism=_scored(stage.mechanism, parts)) if stage.mechanism else stage
            for stage in recipe.stages
        ),
    )
    if changed == recipe:
        raise ConfigError(f"{recipe.name} rewards no outcome, so that a reward function has nothing to replace.")
    return changed


def _scored(mechanism: Mechanism, parts: tuple[Scored, ...]) -> Mechanism:
    def replaced(rewards: tuple[Any, ...]) -> tuple[Any, ...]:
        if not any(part.outcome for part in rewards):
            return rewards
        return (*parts, *(part for part in rewards if not part.outcome))

    rules = tuple(
        dataclasses.replace(rule, reward=replaced(rule.reward)) if rule.verified else rule for rule in mechanism.rules
    )
    return dataclasses.replace(mechanism, reward=replaced(mechanism.reward), rules=rules)


def reward_names_of(
    reward: Reward | Sequence[Reward] | None, weights: Sequence[float] | None
) -> tuple[tuple[str, ...], dict[str, Callable[..., Any]]]:
    """(as `--reward` says them, the Python functions among them by name)."""
    items = [] if reward is None else [reward] if isinstance(reward, str) or callable(reward) else list(reward)
    if weights is not None and len(weights) != len(items):
        raise UsageError(f"reward_weights has {len(weights)} numbers for {len(items)} reward functions.")
    wishes: list[RewardName] = [parse(item) if isinstance(item, str) else named(item) for item in items]
    if weights is not None:
        wishes = [dataclasses.replace(wish, weight=float(w)) for wish, w in zip(wishes, weights, strict=True)]
    given = {name: item for name, item in zip(names(wishes), items, strict=True) if not isinstance(item, str)}
    return tuple(str(wish) for wish in wishes), given


def sources(judge: Grader) -> dict[str, str]:
    """Digests of the functions' sources by name, for a run's record."""
    return {function.name: function.digest for function in judge.scorer.functions} if judge.scorer else {}


def changes(judge: Grader, before: Mapping[str, str]) -> list[str]:
    """What a person should know before a run goes on with other functions than it began with."""
    found = sources(judge)
    return [
        f"the source of the reward function '{name}' has changed since the run began; later steps are rewarded by "
        "what it is now"
        for name, was in before.items()
        if was and found.get(name, was) != was
    ]
