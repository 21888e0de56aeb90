"""Wrong programs that spoil their own descriptors, to have their verdict called ours. Each must fail as its own.

An act is tried on every descriptor that a program could have, at one of several moments of its life.
"""

from __future__ import annotations

ACTS = {
    "open to read": "os.read(os.open(f'/proc/self/fd/{n}', os.O_RDONLY | os.O_NONBLOCK), 1 << 16)",
    "open to write": "os.write(os.open(f'/proc/self/fd/{n}', os.O_WRONLY | os.O_NONBLOCK), b'\\1\\2')",
    "open its thread's": "os.read(os.open(f'/proc/thread-self/fd/{n}', os.O_RDONLY | os.O_NONBLOCK), 1 << 16)",
    "open its parent's": "os.read(os.open(f'/proc/{os.getppid()}/fd/{n}', os.O_RDONLY | os.O_NONBLOCK), 1 << 16)",
    "read": "n and os.read(n, 1 << 16)",
    "write the mark": "os.write(n, b'\\1')",
    "write the answer": "os.write(n, b'\\2')",
    "write garbage": "os.write(n, bytes(range(256)))",
    "write an end": 'os.write(n, b\'{"code": 0, "processor": 0}\')',
    "close": "os.close(n)",
    "close behind itself": "os.dup2(os.pipe()[0], n)",
    "put a pipe there": "os.dup2(os.pipe()[1], n)",
    "put a socket there": "os.dup2(socket.socketpair()[0].detach(), n)",
    "join them": "os.dup2(1 + n % 3, n)",
    "copy": "[os.dup(n) for _ in range(9)]",
    "rewind": "os.lseek(n, 0, 0)",
    "shut down": "socket.socket(fileno=os.dup(n)).shutdown(2)",
    "send": "socket.socket(fileno=os.dup(n)).send(b'\\2')",
    "send urgently": "socket.socket(fileno=os.dup(n)).send(b'\\1', socket.MSG_OOB)",
    "receive": "socket.socket(fileno=os.dup(n)).recv(9, socket.MSG_DONTWAIT)",
    "send descriptors": "socket.send_fds(socket.socket(fileno=os.dup(n)), [b'x'], [0, 1, 2, 3])",
    "be not blocked": "os.set_blocking(n, False)",
    "take the lock": "fcntl.flock(n, fcntl.LOCK_EX | fcntl.LOCK_NB)",
    "own the signals": "fcntl.fcntl(n, fcntl.F_SETOWN, os.getppid())",
}
"""What is done to descriptor `n`."""

_ACT = """
import fcntl, os, socket
def act():
    kept.append(1)
    for n in range(8):
        try:
            kept.append({act})
        except (OSError, ValueError):
            pass
kept = []
"""
MOMENTS = {
    "before all": "act()\ndef f(x): return 0\nprint(0)\n",
    "in its call": "def f(x):\n    act()\n    return 0\nprint(0)\nact()\n",
    "and is gone": "def f(x):\n    act()\n    os._exit(0)\nprint(0)\n",
}
"""When it is done: a program that prints 0, with a function `f` that returns 0."""


def spoilers() -> dict[str, str]:
    """Programs by what they do: `spoilers()["read, in its call"]`. All print 0, and their `f` returns 0."""
    return {
        f"{what}, {when}": _ACT.replace("{act}", act) + moment
        for what, act in ACTS.items()
        for when, moment in MOMENTS.items()
    }
