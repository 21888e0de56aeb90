"""The process that speaks with Ray for a run: it joins or starts a cluster, asks for places, and reports deaths.

It is a process of its own for the run's sake. A driver whose raylet dies is ended by Ray; a call of Ray may hang, and
Ray prints on its own. Here all of that meets a child, which the run can kill at a deadline and start again.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray  # type: ignore[import-not-found]
import ray.exceptions  # type: ignore[import-not-found]
from ray._private.services import find_bootstrap_address  # type: ignore[import-not-found]
from ray.util.placement_group import placement_group, remove_placement_group  # type: ignore[import-not-found]
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy  # type: ignore[import-not-found]

import assay
from assay.engine.cluster.guarded import guard_own, require_guarded, require_token
from assay.engine.cluster.joining import (
    SHARED,
    STORE,
    found,
    require_listening,
    require_shared_memory,
    require_versions,
)
from assay.engine.cluster.launcher import Needs
from assay.engine.cluster.seat import Seat
from assay.errors import AssayError, ConfigError, EndpointError
from assay.host.child import Parent
from assay.host.space import cores

SHARE = 4  # CPUs that each core of a cluster of ours counts for: two learners, as without a cluster, and two servers
LOOK = 0.5
FAREWELL = 8.0  # seconds that leaving a cluster may take once the driver is gone


class Broker:
    """A connection to a Ray cluster, and the seats that it has there.

    broker = Broker(notice)
    broker.connect("auto", log, token)
    broker.launch(PROGRAM, 2, Needs(cpus=1), home, secret, room=45.0, shared=mark); broker.end([0, 1])
    """

    def __init__(self, notice: Callable[[int, str], None], mode: str = "") -> None:
        """`notice(number, words)` is called from a thread when a process has ended. `mode` is Ray's mode of asking for
        a token as a person has set it, "" where nobody has.
        """
        self.notice, self.mode = notice, mode
        self.seats: dict[int, Any] = {}  # number -> actor
        self.groups: dict[int, Any] = {}  # number -> placement group of its launch
        self.nodes: dict[int, str] = {}  # number -> id of its node
        self.count = 0

    def connect(self, asked: str, log: Path, token: str) -> dict[str, Any]:
        """Joins the cluster at `asked`, HOST:PORT, or, for `auto`, one that is known here or else a new one, whose
        token is `token`.

        From then on Ray prints to `log`, so that the terminal keeps its progress bar.
        """
        with log.open("ab") as printed:
            for stream in (sys.stdout, sys.stderr):
                os.dup2(printed.fileno(), stream.fileno())
        address = found(asked, lambda: find_bootstrap_address(None) or "")
        how: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
        if address:
            require_listening(address)
            require_token(os.environ, address, self.mode)
            require_guarded(address)
        else:
            guard_own(os.environ, token)
            require_shared_memory(shutil.disk_usage(SHARED).free)
            roots = [str(Path(assay.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, roots))  # the workers must find this package
            how |= {"include_dashboard": False, "object_store_memory": STORE, "num_cpus": SHARE * cores()}
        try:
            ray.init(address or "local", **how)
        except Exception as error:  # of any kind: Ray raises a bare one for a node that does not start in time
            what = f"the Ray cluster at {address} cannot be joined" if address else "no Ray cluster can be started"
            raise EndpointError(
                f"machine.cluster is {asked}, and {what}: {_line(error)} A run that was under way goes on with `assay "
                "resume`."
            ) from None
        context = ray.get_runtime_context()
        return {"host": ray.util.get_node_ip_address(), "address": context.gcs_address, "ours": not address}

    def launch(
        self,
        program: str,
        count: int,
        needs: Needs,
        home: tuple[str, int],
        secret: bytes,
        *,
        room: float,
        shared: tuple[str, str],
    ) -> list[dict[str, Any]]:
        """Starts a program on so many places; those of one node have neighbouring numbers. Returns facts of each."""
        until = time.monotonic() + 2 * room
        group = placement_group([_resources(needs)] * count, strategy="PACK")
        try:
            if not group.wait(room):
                raise EndpointError(self._no_room(count, needs, room))
            kind: Any = ray.remote(Seat)
            seats: list[Any] = [
                kind.options(
                    num_cpus=needs.cpus,
                    num_gpus=needs.gpus,
                    max_restarts=0,
                    scheduling_strategy=PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=i),
                ).remote()
                for i in range(count)
            ]
            facts = self._in_time([seat.facts.remote() for seat in seats], until)
            for process in facts:
                require_versions(process["host"], process["versions"])
            order = sorted(range(count), key=lambda i: (facts[i]["host"], facts[i]["node"], i))
            facts, seats = [facts[i] for i in order], [seats[i] for i in order]
            seen = self._in_time([seat.sees.remote(*shared) for seat in seats], until)
            for process, sees in zip(facts, seen, strict=True):
                if not sees:
                    raise ConfigError(
                        f"node {process['host']} of the Ray cluster does not see {shared[0]}: put the run folder on a "
                        "file system that all nodes share, because every learner writes its part of a checkpoint there."
                    )
            for process, seat in zip(facts, seats, strict=True):
                process["number"], self.count = self.count, self.count + 1
                self.seats[process["number"]], self.groups[process["number"]] = seat, group
                self.nodes[process["number"]] = process["node"]
            starts = [
                seat.start.remote(program, home, secret, process["number"]) for process, seat in zip(facts, seats)
            ]
            self._in_time(starts, until)
        except BaseException:
            remove_placement_group(group)
            raise
        for process in facts:
            threading.Thread(target=self._watch, args=(process["number"],), daemon=True).start()
        return facts

    def end(self, numbers: Sequence[int]) -> None:
        """Kills these processes; a launch all of whose processes are gone gives its places back."""
        for number in numbers:
            if (seat := self.seats.pop(number, None)) is not None:
                ray.kill(seat)
                group = self.groups.pop(number)
                if group not in self.groups.values():
                    remove_placement_group(group)

    def close(self) -> None:
        if ray.is_initialized():
            self.end(list(self.seats))
            ray.shutdown()

    def _watch(self, number: int) -> None:
        try:
            words = str(ray.get(self.seats[number].ended.remote()))
        except (ray.exceptions.RayError, KeyError):
            dead = {node["NodeID"] for node in ray.nodes() if not node["Alive"]}
            words = "is gone with its node" if self.nodes[number] in dead else "is gone with its Ray worker"
        self.notice(number, words)

    def _in_time(self, calls: Sequence[Any], until: float) -> list[Any]:
        try:
            return ray.get(list(calls), timeout=max(1.0, until - time.monotonic()))
        except ray.exceptions.GetTimeoutError:
            raise EndpointError("an actor of the Ray cluster was placed and does not answer.") from None
        except ray.exceptions.RayTaskError as error:
            raise EndpointError(f"a node of the Ray cluster cannot start a process: {_line(error.cause)}") from None
        except ray.exceptions.RayError as error:
            raise EndpointError(f"an actor of the Ray cluster did not start: {_line(error)}") from None

    def _no_room(self, count: int, needs: Needs, seconds: float) -> str:
        nodes = [node for node in ray.nodes() if node["Alive"]]
        whole = ", ".join(f"{node['NodeManagerAddress']} with {_amounts(node['Resources'])}" for node in nodes)
        return (
            f"machine.cluster: {count} x ({needs}) were asked for, and the Ray cluster at "
            f"{ray.get_runtime_context().gcs_address} had no room within {seconds:g} s (its nodes: {whole}; free now: "
            f"{_amounts(ray.available_resources())}): ask for fewer learners or threads, add nodes, or give it longer "
            "(machine.finding)."
        )


def _resources(needs: Needs) -> dict[str, float]:
    return {"CPU": needs.cpus, **({"GPU": needs.gpus} if needs.gpus else {})}


def _amounts(resources: Mapping[str, float]) -> str:
    return " and ".join(f"{resources.get(name, 0):g} {name}" for name in ("CPU", "GPU"))


def _line(error: BaseException) -> str:
    """The first sentence of an error, which Ray writes over many lines."""
    return next(filter(None, str(error).strip().splitlines()), type(error).__name__)


def serve(channel: int, words: int, parent: int, mode: str) -> None:
    """The main function of the child process, called by `assay.engine.cluster.program`."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    driver = Parent(channel, words, parent, tied=False)  # a killed cluster leaves agents behind for half a minute
    threading.Thread(target=_outlive, args=(parent,), daemon=True).start()
    lock = threading.Lock()

    def say(*message: Any) -> None:
        with lock:
            driver.say(pickle.dumps(message))

    broker = Broker(lambda number, how: say("ended", number, how), mode)
    while (frame := driver.read()) is not None:
        try:
            method, arguments, named = pickle.loads(frame)
            say("done", getattr(broker, method)(*arguments, **named))
        except AssayError as error:
            say("refused", error)
        except Exception as error:  # of any kind: the run is told, and gives up the cluster
            say("failed", f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
    broker.close()


def _outlive(parent: int) -> None:
    """Ends this process, and with it what it has started, if it still hangs some time after its parent is gone."""
    while os.getppid() == parent:
        time.sleep(LOOK)
    time.sleep(FAREWELL)
    os.killpg(0, signal.SIGKILL)
