"""Ray clusters of several nodes on one machine, and which processes they consist of."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from processes import alive

STORE = 80 << 20  # bytes of a node's object store
QUICK = {  # a dead node is noticed in two seconds, where Ray's own values take half a minute
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 2,
}


def pretend_ray(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    """Whoever looks for the package ray finds it, or does not, whatever is installed."""
    plain = importlib.util.find_spec

    def find(name: str, package: str | None = None) -> Any:
        return plain(name, package) if name != "ray" else plain("json") if there else None

    monkeypatch.setattr(importlib.util, "find_spec", find)


@contextlib.contextmanager
def cluster_of(*cpus: int) -> Iterator[Any]:
    """A cluster with a node for each number, of so many CPUs; the first is the head."""
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    from ray.cluster_utils import Cluster  # type: ignore[import-not-found]

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    about = {"object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cpus[0], "_system_config": QUICK, **about})
    try:
        for count in cpus[1:]:
            cluster.add_node(num_cpus=count, **about)
        yield cluster
    finally:
        cluster.shutdown()


def raylet_of(node: Any) -> int:
    return node.all_processes["raylet"][0].process.pid


def kill_node(node: Any) -> None:
    """What a machine without power looks like from the others: nobody says good-bye."""
    os.kill(raylet_of(node), signal.SIGKILL)


def all_gone(pids: list[int], *, within: float) -> list[int]:
    """Which of these processes still live after so many seconds."""
    end = time.monotonic() + within
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return [pid for pid in pids if alive(pid)]
