"""Claim cards, and the checks of the gate with their outcomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.rng import Key

Json = dict[str, Any]
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Work:
    """The folder in which checks keep trained models and samples, so that a killed gate goes on, and the function by
    which they tell how far they are.
    """

    folder: Path
    tell: Tell


@dataclass(frozen=True)
class Finding:
    """The finding of a check: a sentence with its numbers, whether the instrument holds, and the numbers as data."""

    came: str
    holds: bool
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """One instrument tried on a case whose truth is known.

    Check("pass-at-k", "pass@k is unbiased", passes_unbiased)
    """

    name: str
    expected: str
    measure: Callable[[Work], Finding]
    trains: bool = False  # whether it trains or samples models, which takes minutes


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check. `holds` is None if it was not run."""

    name: str
    expected: str
    came: str
    holds: bool | None
    seconds: float
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Card:
    """A claim, the rule that decides it, and the checks that must hold before it may be decided.

    Card("CC-01", "RL narrows coverage", metric="change of pass@256", rule="SUPPORTED if ...", needs=("pass-at-k",))
    """

    id: str
    claim: str
    metric: str  # the primary one; a card has one
    rule: str
    checks: tuple[Check, ...] = ()  # of the gate
    needs: tuple[str, ...] = ()  # checks of the gate that must hold before the card may report


def key_of(check: str) -> Key:
    """The random numbers of a check, the same in every run of it."""
    return Key("claims", check)


def at_most(share: float, bound: float, trials: int) -> bool:
    """Whether a share seen in so many trials agrees with a true one of at most `bound`: up to three standard errors."""
    return share <= bound + 3 * math.sqrt(bound * (1 - bound) / trials)
