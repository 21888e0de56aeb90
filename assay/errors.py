"""Errors that say what was expected, what came, and what to do next. Each class has one stable exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AssayError(Exception):
    """Root of the tree; a bare one is a bug of ours."""

    exit_code = 70


class UsageError(AssayError):
    """The command line or the call is wrong."""

    exit_code = 2


class UnknownName(UsageError):
    """A name that no registry knows; the message offers the nearest one."""


class DataError(AssayError):
    """Problems, answers or files of data that cannot be used."""

    exit_code = 64


class EndpointError(AssayError):
    """A service that the run needs does not answer."""

    exit_code = 69


class StorageError(AssayError):
    """Reading or writing failed: a full disk, a damaged or missing file."""

    exit_code = 74


class Stopped(AssayError):
    """The run stopped where it can be resumed."""

    exit_code = 75


class ConfigError(AssayError):
    """Values that contradict each other, the model or the machine."""

    exit_code = 78


WITHHELD: dict[str, str] = {}
"""Names that other packages offer and that cannot be used, each with the reason."""


def unknown(kind: str, name: str, known: Iterable[str], see: str) -> UnknownName:
    """The error for a name that is not in a registry: `no task named 'coutdown'. Did you mean 'countdown'? ...`"""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    why = "".join(f" {reason}" for offer, reason in WITHHELD.items() if name in (offer, offer.partition(":")[2]))
    return UnknownName(f"no {kind} named '{name}'.{hint} `{see}` shows all {len(names)}.{why}")
