"""The store by which the processes of a group find each other: torch's, behind a gate that asks for the group's secret.

Torch's store over the network asks nobody who he is, and listens at every interface of the machine. Here it has a
socket on the learner's loopback. A process of a server reaches it through a gate of the learner, which listens at the
address that leads to the server, and through a tunnel of its own, which names the secret. The learner, both kinds of
servers and vLLM import this file, which needs torch alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
import socket
import threading
import time
from datetime import timedelta

from torch._C._distributed_c10d import Store, TCPStore

HERE = "127.0.0.1"
GREETING = 5.0  # seconds that a connection has to name its secret
MOST = 64  # connections of a gate at a time
PIECE = 1 << 16


class GuardedStore:
    """The learner's store, and its gates.

    guarded = GuardedStore(60.0)
    secret = guarded.admit(); port = guarded.gate("10.0.0.4")
    """

    def __init__(self, seconds: float) -> None:
        listener = socket.create_server((HERE, 0), backlog=MOST)
        self.port = int(listener.getsockname()[1])
        self.store: Store = TCPStore(
            HERE,
            self.port,
            is_master=True,
            wait_for_workers=False,
            timeout=timedelta(seconds=seconds),
            master_listen_fd=listener.detach(),
        )
        self._secrets: list[bytes] = []
        self._gates: dict[str, socket.socket] = {}
        self._places = threading.BoundedSemaphore(MOST)

    def admit(self) -> str:
        """A new secret. The gates let in the processes that name it."""
        secret = secrets.token_hex(32)
        self._secrets.append(_greeting(secret))
        return secret

    def gate(self, host: str) -> int:
        """The port of the gate at this address of the machine."""
        if host not in self._gates:
            self._gates[host] = socket.create_server((host, 0), backlog=MOST)
            threading.Thread(target=self._keep, args=(self._gates[host],), daemon=True).start()
        return int(self._gates[host].getsockname()[1])

    def close(self) -> None:
        for gate in self._gates.values():
            _close(gate)
        self._gates.clear()

    def _keep(self, gate: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the gate was closed
            while True:
                guest, _ = gate.accept()
                if self._places.acquire(blocking=False):
                    threading.Thread(target=self._let_in, args=(guest,), daemon=True).start()
                else:
                    guest.close()

    def _let_in(self, guest: socket.socket) -> None:
        try:
            with guest:
                said = _read(guest, hashlib.sha256().digest_size, GREETING)
                if any(hmac.compare_digest(said, known) for known in self._secrets):
                    with socket.create_connection((HERE, self.port)) as inside:
                        _join(guest, inside)
        except OSError:
            pass  # the guest or the store has gone
        finally:
            self._places.release()


def store_behind(host: str, port: int, secret: str, seconds: float) -> Store:
    """The learner's store, as a process of a server sees it."""
    return TCPStore(HERE, _tunnel(host, port, secret, seconds), is_master=False, timeout=timedelta(seconds=seconds))


def _tunnel(host: str, port: int, secret: str, seconds: float) -> int:
    """A port of the loopback that leads through a gate for so many seconds; connections that stand then go on."""
    listener = socket.create_server((HERE, 0))
    threading.Thread(target=_dig, args=(listener, (host, port), secret, seconds), daemon=True).start()
    return int(listener.getsockname()[1])


def _dig(listener: socket.socket, gate: tuple[str, int], secret: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    with listener, contextlib.suppress(TimeoutError):
        while (left := until - time.monotonic()) > 0:
            listener.settimeout(left)
            inside, _ = listener.accept()
            try:
                outside = socket.create_connection(gate, timeout=left)
                outside.sendall(_greeting(secret))
            except OSError:
                inside.close()  # the process that connected sees that nobody is there
                continue
            threading.Thread(target=_carry, args=(inside, outside), daemon=True).start()


def _carry(inside: socket.socket, outside: socket.socket) -> None:
    with inside, outside, contextlib.suppress(OSError):
        _join(inside, outside)


def _join(one: socket.socket, other: socket.socket) -> None:
    """Carries bytes both ways until both sides have ended."""
    one.settimeout(None)
    other.settimeout(None)
    back = threading.Thread(target=_pour, args=(other, one), daemon=True)
    back.start()
    _pour(one, other)
    back.join()


def _pour(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(PIECE):
            target.sendall(data)
    for link in (source, target):
        with contextlib.suppress(OSError):
            link.shutdown(socket.SHUT_RDWR)


def _read(link: socket.socket, size: int, seconds: float) -> bytes:
    """So many bytes, or what has come of them in this time."""
    until, found = time.monotonic() + seconds, b""
    while len(found) < size and (left := until - time.monotonic()) > 0:
        link.settimeout(left)
        if not (more := link.recv(size - len(found))):
            break
        found += more
    return found


def _greeting(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _close(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits in `accept`
    link.close()
