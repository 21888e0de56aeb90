"""The actor on a node of a Ray cluster: it starts a process there, holds its place, and says how it ended.

The process is the same as on one machine, a child of `assay.host.child`. Its channel and its output are connections to
the process that launched it, so Ray places, watches and ends it, and carries none of its frames. The kernel kills the
process when the actor ends for any reason: its driver left, its node died, Ray killed it.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import socket
import struct
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from assay import __version__
from assay.host.child import ending_of, spawn

HEAD = struct.Struct("!32sQ?")  # of a connection: the secret of the launch, number of the process, whether it is output
LOOK = 1.0  # seconds between two looks at whether the node still lives
CONNECT = 10.0  # seconds until a connection must stand


def versions() -> dict[str, str]:
    """The versions that must be the same on every node, because frames are pickles and gradients have bits."""
    return {"Python": platform.python_version(), "torch": importlib.metadata.version("torch"), "Assay": __version__}


class Seat:
    """An actor; Ray calls its methods one after the other, on the main thread of its process.

    seat = ray.remote(Seat).remote()
    ray.get(seat.start.remote(PROGRAM, ("10.0.0.4", 40123), secret, 0)); words = ray.get(seat.ended.remote())
    """

    def __init__(self) -> None:
        threading.Thread(target=self._leave_with, args=(os.getppid(),), daemon=True).start()

    def facts(self) -> dict[str, Any]:
        """The node on which this actor runs, and what is installed there."""
        import ray  # type: ignore[import-not-found]

        return {
            "node": ray.get_runtime_context().get_node_id(),
            "host": ray.util.get_node_ip_address(),
            "versions": versions(),
        }

    def sees(self, path: str, content: str) -> bool:
        """Whether a file of the driver is there, with the same content."""
        try:
            return Path(path).read_text() == content
        except OSError:
            return False

    def start(self, program: str, home: tuple[str, int], secret: bytes, number: int) -> None:
        """Starts the process, whose frames and prints go straight to `home`."""
        lines = []
        for output in (False, True):
            line = socket.create_connection(home, timeout=CONNECT)
            line.settimeout(None)
            line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line.sendall(HEAD.pack(secret, number, output))
            lines.append(line)
        channel, printed = lines
        with channel, printed, tempfile.TemporaryFile() as words:
            self.process = spawn(program, channel=channel.fileno(), printed=printed.fileno(), words=words.fileno())

    def _leave_with(self, raylet: int) -> None:
        """Ends this actor when the raylet of its node has died: Ray itself lets actors live on."""
        while os.getppid() == raylet:
            time.sleep(LOOK)
        os._exit(1)

    def ended(self) -> str:
        """Waits for the end of the process, and says how it ended."""
        code = self.process.wait()
        return ending_of(os.CLD_KILLED, -code) if code < 0 else ending_of(os.CLD_EXITED, code)
