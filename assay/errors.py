"""Errors that say what was expected, what came, and what to do next. Each class has one stable exit code.

raise UsageError("levels of countdown are 3, 4 and 5, not 9: take one of these.")  # `assay` exits with code 2
except AssayError as error: ...  # catches every class of this module
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AssayError(Exception):
    """The base class of all errors below. Raised as itself, not as a subclass, it reports a bug in Assay."""

    exit_code = 70


class UsageError(AssayError):
    """The command line or the Python call is wrong."""

    exit_code = 2


class UnknownName(UsageError):
    """No recipe, task, base, setting, ... has the given name; the message offers the nearest name there is."""


class UnknownKeyword(UnknownName, TypeError):
    """A function of Assay was given an argument that it does not have, which Python calls a TypeError."""


class DataError(AssayError):
    """Problems, answers or data files cannot be used."""

    exit_code = 64


class VerifierError(AssayError):
    """The verifier of a task accepts answers that a second oracle refuses, and the policy would learn to write them."""

    exit_code = 65


class ClaimError(AssayError):
    """A claim may not be made: an instrument that it rests on does not hold with this code, or was not tried."""

    exit_code = 66


class EndpointError(AssayError):
    """A service that the run needs does not answer."""

    exit_code = 69


class ProcessLost(EndpointError):
    """A process that the run started has ended or says nothing any more. The run begins again from its last
    checkpoint, with another one.
    """


class StorageError(AssayError):
    """Reading or writing failed: a full disk, a damaged or missing file."""

    exit_code = 74


class Stopped(AssayError):
    """The run stopped before its last step; `assay resume` continues it from its last checkpoint."""

    exit_code = 75


class ConfigError(AssayError):
    """Settings contradict each other, the model, the data or the machine."""

    exit_code = 78


WITHHELD: dict[str, str] = {}
"""Names that other installed packages offer and that cannot be used here. Name -> why it cannot be used."""


FEW = 10  # names that an error lists


def near(name: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant: first one with the same letters in another order, then the most alike."""
    alike = difflib.get_close_matches(name, known, n=20, cutoff=0.58)
    return min(alike, key=lambda other: sorted(other) != sorted(name), default=None)


def unknown(kind: str, name: str, known: Iterable[str], see: str) -> UnknownName:
    """The error for a name that is not among `known`: `no task named 'coutdown'. Did you mean 'countdown'? ...`

    `see` is the command that lists all known names. A few names are said at once where none is near.
    """
    names = sorted(known)
    nearest = near(name, names)
    hint = f" Did you mean '{nearest}'?" if nearest else f" There are: {', '.join(names)}." if len(names) <= FEW else ""
    why = "".join(f" {reason}" for offer, reason in WITHHELD.items() if name in (offer, offer.partition(":")[2]))
    return UnknownName(f"no {kind} named '{name}'.{hint} `{see}` shows all {len(names)}.{why}")
