"""The process of a rank: it joins the other ranks, builds its shares of parameter sets, and does what the driver says.

A thread says every second that the process lives, also while the process waits for other ranks: a process that was
stopped or that hangs without releasing the interpreter falls silent, and the driver can name it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import pickle
import struct
import sys
import threading
import traceback
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, EndpointError
from assay.host.child import Parent

if TYPE_CHECKING:
    from assay.engine.sharded.shard import Shard, Spec

PROGRAM = "assay.engine.sharded.rank:serve"
BEAT = 1.0  # seconds between two signs of life
MEETING = "ranks"  # the file by which ranks find each other
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
SIOCGIFADDR = 0x8915  # asks the kernel for the address of an interface
ALIVE = pickle.dumps(("alive", None))


class Rank:
    """The parameter sets of one rank, by name, and its place among the ranks.

    rank = Rank()
    rank.join(0, 2, "127.0.0.1", "/run/meeting", replicate=1, device="cpu", threads=1, deadline=600.0)
    rank.build("policy", spec)
    rank.do("policy", "step", 1e-6, 1.0, "")
    """

    def __init__(self) -> None:
        self.shards: dict[str, Shard] = {}

    def join(
        self,
        rank: int,
        world: int,
        host: str,
        meeting: str,
        *,
        replicate: int,
        device: str,
        threads: int,
        deadline: float,
    ) -> dict[str, Any]:
        """Joins the group; every collective of it has a deadline. Returns what the driver writes down of this rank.

        Ranks find each other by a file in the folder `meeting`, which belongs to the run alone: torch's store over the
        network asks nobody for a secret. `host` is where the first rank is reached.
        """
        import torch
        import torch.distributed as dist
        from torch._C._distributed_c10d import FileStore
        from torch.distributed.device_mesh import init_device_mesh

        timeout = timedelta(seconds=deadline)
        kind = torch.device(device).type
        if kind == "cuda":
            torch.cuda.set_device(rank % torch.cuda.device_count())
        torch.set_num_threads(threads)
        name_interface(host)
        store = FileStore(f"{meeting}/{MEETING}", world)
        store.set_timeout(timeout)
        backend = "nccl" if kind == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=timeout)
        self.device = torch.device(kind, torch.cuda.current_device()) if kind == "cuda" else torch.device("cpu")
        shape = (replicate, world // replicate) if replicate > 1 else (world,)
        names = ("replicate", "shard") if replicate > 1 else ("shard",)
        self.mesh = init_device_mesh(kind, shape, mesh_dim_names=names)
        return {"pid": os.getpid(), "backend": backend, "torch": torch.__version__}

    def build(self, name: str, spec: Spec) -> None:
        from assay.engine.sharded.shard import Shard

        self.shards[name] = Shard(spec, self.mesh, self.device)

    def do(self, name: str, what: str, *arguments: Any, **named: Any) -> Any:
        return getattr(self.shards[name], what)(*arguments, **named)

    def take(self, name: str, other: str, rate: float) -> None:
        self.shards[name].take(self.shards[other], rate)

    def whole(self, name: str, names: list[str], merged: bool, first: bool) -> Any:
        """Tensors that all ranks gather and one of them hands out."""
        found = self.shards[name].whole(names, merged)
        return found if first else None


def name_interface(host: str) -> None:
    """Tells gloo and NCCL the network interface that leads to the first rank, unless the environment names one.

    Otherwise they would listen at the address of this machine's name, which others may reach, or at every interface.
    """
    for variable in INTERFACES:
        os.environ.setdefault(variable, interface_towards(host))


def interface_towards(host: str) -> str:
    """The name of the interface by which this machine reaches a host."""
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 1))  # sends nothing; the kernel chooses the way
        own = probe.getsockname()[0]
        if ipaddress.ip_address(own).is_loopback:
            own = "127.0.0.1"  # that of the loopback's interface, which has all of 127.0.0.0/8
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # an interface without an address
                reply = fcntl.ioctl(probe, SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                if socket.inet_ntoa(reply[20:24]) == own:
                    return name
    raise EndpointError(f"no network interface of this machine has the address {own}, by which {host} is reached.")


def serve(channel: int, words: int, parent: int) -> None:
    """The main function of a rank's process: it does what the driver says, until the channel closes."""
    driver = Parent(channel, words, parent)
    lock = threading.Lock()

    def say(frame: bytes) -> None:
        with lock:
            driver.say(frame)

    threading.Thread(target=_live, args=(say,), daemon=True).start()
    rank = Rank()
    while (frame := driver.read()) is not None:
        try:
            method, arguments, named = pickle.loads(frame)
            reply = ("done", getattr(rank, method)(*arguments, **named))
        except (AssayError, OSError) as error:
            reply = ("refused", error)
        except Exception as error:  # of any kind: the driver tells it, and gives up the group
            reply = ("failed", f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        say(pickle.dumps(reply, protocol=5))
    os._exit(0)  # a group's threads would wait for ranks that are gone


def _live(say: Any) -> None:
    event = threading.Event()
    while not event.wait(BEAT):
        try:
            say(ALIVE)
        except OSError:  # the driver has closed the channel
            sys.exit()
