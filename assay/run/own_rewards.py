"""A recipe with reward functions of the user: in place of its outcome reward, beside its other rewards, or alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal

from assay.errors import ConfigError
from assay.part import Rewarding, parts_of
from assay.recipe import Mechanism, Recipe, with_mechanisms
from assay.reward import Scored, Sum
from assay.verifiers.functions.naming import names, parse

Rewards = tuple[Rewarding, ...]


def scored_by(
    recipe: Recipe, rewards: Sequence[str], *, only: bool = False, cut: Literal["scored", "wrong"] = "scored"
) -> Recipe:
    """The recipe with these reward functions, FILE.py:FUNCTION=WEIGHT, in place of its outcome reward and beside every
    other reward that it has: judges, rules, reward models, lengths. With `only` in place of all rewards of the policy's
    answers; a role that judges or poses problems keeps its own. An answer that was cut earns what `cut` says.
    """
    parsed = [parse(text) for text in rewards]
    parts = tuple(Scored(name, function.weight, cut) for name, function in zip(names(parsed), parsed, strict=True))
    return with_scores(recipe, parts, only=only)


def with_scores(recipe: Recipe, parts: tuple[Scored, ...], *, only: bool = False) -> Recipe:
    """The recipe with these scores where `scored_by` puts those of reward functions."""

    def of_policy(before: Rewards) -> Rewards:
        after = parts if only else _replaced(before, parts)
        return after if only or after != before else (*parts, *before)

    def of_role(before: Rewards) -> Rewards:
        return _replaced(before, parts)

    def changed(mechanism: Mechanism) -> Mechanism:
        return _with(mechanism, of_policy, of_role)

    return with_mechanisms(recipe, changed)


def _with(mechanism: Mechanism, of_policy: Callable[[Rewards], Rewards], of_role: Callable[[Rewards], Rewards]) -> Any:
    """The mechanism with other rewards. Roles whose answers no verifier checks keep theirs."""
    rules = tuple(
        dataclasses.replace(rule, reward=(of_policy if rule.role == "policy" else of_role)(rule.reward))
        if rule.verified
        else rule
        for rule in mechanism.rules
    )
    return dataclasses.replace(mechanism, reward=of_policy(mechanism.reward), rules=rules)


def _replaced(rewards: Rewards, parts: Sequence[Scored]) -> Rewards:
    """The rewards with the functions' in place of the outcome rewards, also of those within other rewards."""
    within = tuple(_within(part, parts) for part in rewards)
    if not any(part.outcome for part in rewards):
        return within
    return (*parts, *(part for part in within if not part.outcome))


def _within(part: Rewarding, parts: Sequence[Scored]) -> Rewarding:
    """A reward that is made of rewards, with the scores in place of each outcome reward within it."""

    def replaced(inner: Any) -> Any:
        if isinstance(inner, tuple):
            return tuple(map(replaced, inner))
        if not isinstance(inner, Rewarding):
            return inner
        if inner.outcome:
            return parts[0] if len(parts) == 1 else Sum(of=tuple(parts))
        return _within(inner, parts)

    changes = {field.name: replaced(getattr(part, field.name)) for field in dataclasses.fields(part)}
    return dataclasses.replace(part, **changes)


def require_counted(recipe: Recipe, rewards: Sequence[str]) -> None:
    """Refuses (ConfigError) reward functions that no reward of the recipe reads: a setting has replaced them."""
    parts = list(parts_of((recipe.mechanisms, recipe.stages)))
    if any(isinstance(part, Rewarding) and part.outcome for part in parts):
        return  # which is by the functions
    read = {part.name for part in parts if isinstance(part, Scored)}
    if idle := [name for name in names([parse(text) for text in rewards]) if name not in read]:
        raise ConfigError(
            f"mechanism.reward is set, which replaces all rewards: the reward function '{idle[0]}' would earn nothing. "
            f"Put it among them, `--mechanism.reward scored,... --mechanism.reward.0.name {idle[0]}`, or leave one of "
            "the two out."
        )
