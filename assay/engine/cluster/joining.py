"""The choice of the Ray cluster that a run joins, and the checks that refuse one before Ray is asked."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from assay.engine.cluster.seat import versions
from assay.errors import ConfigError, EndpointError

STORE = 80 << 20  # bytes of the object store of a cluster of ours; Ray asks for 75 MiB, and frames do not go through it
SHARED = "/dev/shm"  # where Ray puts the object store
PROBE = 5.0  # seconds in which a cluster must accept a connection


def found(asked: str, started: Callable[[], str]) -> str:
    """The address that is meant: for `auto` that of the environment or of `ray start`; '' if one is to be started."""
    if asked != "auto":
        return asked
    if named := os.environ.get("RAY_ADDRESS", ""):
        return "" if named == "local" else named
    known = started()
    return known if known and _listens(known) else ""  # the address of `ray start` outlives a cluster that was killed


def require_listening(address: str) -> None:
    if not _listens(address):
        raise EndpointError(
            f"no Ray cluster answers at {address}: start one there with `ray start --head`, or set machine.cluster to "
            "the HOST:PORT of one that runs."
        )


def require_shared_memory(free: int) -> None:
    """Refuses to start a cluster whose object store would not fit."""
    if free < STORE:
        raise EndpointError(
            f"no Ray cluster can be started: its object store takes {STORE >> 20} MiB of {SHARED}, where "
            f"{free >> 20} MiB are free."
        )


def require_versions(host: str, there: dict[str, str]) -> None:
    """Refuses a node with another Python, torch or Assay than this one."""
    for name, here in versions().items():
        if there[name] != here:
            raise ConfigError(
                f"node {host} of the Ray cluster has {name} {there[name]}, and this one {here}: install the same."
            )


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=PROBE):
            return True
    except (OSError, ValueError):
        return False
