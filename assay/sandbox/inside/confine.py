"""A process gives up rights before it runs an untrusted program: files by Landlock, system calls, limits, its user.

All of it is asked of the kernel directly. Every step that fails raises OSError, and then no program runs.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Iterable, Sequence

from . import calls

LAYERS = ("limits", "user", "landlock", "filter")
THREADS = 32  # of a program

_libc = ctypes.CDLL(None, use_errno=True)
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the three system calls of Landlock, the same on all machines
_VERSION = 1  # flag of the first of them: asks for the version of Landlock
_READ_FILE, _READ_DIR, _WRITE_FILE, _TRUNCATE, _DEVICE = 1 << 2, 1 << 3, 1 << 1, 1 << 14, 1 << 15
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}  # all rights, from a version on
_ON_FILES = 1 | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE
_CONNECT = 3  # TCP: bind and connect
_SCOPES = 3  # abstract Unix sockets and signals
_SET_NO_NEW_PRIVILEGES, _SET_FILTER, _SET_PARENT_DEATH = 38, 22, 1  # PR_SET_*
_FILTER_MODE = 2  # SECCOMP_MODE_FILTER
_KILL = 9


_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_SYSTEM = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_FOREIGN = ("site-packages", "dist-packages", "test", "__pycache__")  # not of the standard library


def standard_library() -> str:
    return os.path.dirname(os.__file__)  # noqa: PTH120


def places(standard: str) -> list[str]:
    """The places that a program may read: the standard library without packages installed into it, and shared
    libraries.
    """
    found = [f"{standard}/{name}" for name in sorted(os.listdir(standard)) if not _foreign(name)]  # noqa: PTH208
    for folder in dict.fromkeys((*_LIBRARIES, os.path.dirname(standard))):  # noqa: PTH120
        if os.path.isdir(folder):  # noqa: PTH112
            names = sorted(os.listdir(folder))  # noqa: PTH208
            found += [f"{folder}/{name}" for name in names if name.endswith("-linux-gnu") or ".so" in name]
    return [*found, *_SYSTEM]


def _foreign(name: str) -> bool:
    return name in _FOREIGN or name.startswith("config-")  # needed only to build Python itself


def landlock_version() -> int:
    """The version of Landlock's interface; 0 where the kernel has none."""
    return max(0, _libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION)))


def landlock_error() -> int:
    """The number of the error with which the kernel refuses Landlock; 0 where it has it."""
    return 0 if landlock_version() else ctypes.get_errno()


def ruleset(writable: Iterable[str]) -> int:
    """A descriptor of the rules under which `places` can be read, some folders written, and nothing else."""
    version = landlock_version()
    if not version:
        raise OSError("this kernel has no Landlock")
    rights = _RIGHTS[max(known for known in _RIGHTS if known <= version)]
    attributes = struct.pack("=QQQ", rights, _CONNECT, _SCOPES)[: 8 if version < 4 else 16 if version < 6 else 24]
    found = _called(_libc.syscall(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)))
    for path in places(standard_library()):
        _grant(found, path, _READ_FILE | _READ_DIR)
    for path in DEVICES:
        _grant(found, path, _READ_FILE | _WRITE_FILE)
    for path in writable:
        _grant(found, path, rights & ~1)  # everything but execution
    return found


def _grant(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # a place that does not exist needs no right
    try:
        if not os.path.isdir(path):  # noqa: PTH112  (this file imports as little as it can)
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, place)
        _called(_libc.syscall(_ADD, ruleset, 1, rule, ctypes.c_uint32(0)))
    finally:
        os.close(place)


def apply(
    layers: Sequence[str],
    *,
    ruleset: int,
    filter: bytes,
    user: int,
    memory_mb: int,
    seconds: int,
    file_mb: int,
    threads: int,
) -> None:
    """Gives up everything, in the order in which each step is still allowed. The caller has a single thread."""
    os.umask(0o077)
    if "limits" in layers:
        _limit(memory_mb, seconds, file_mb, threads)
    if "user" in layers and user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        if os.getresuid() != (user,) * 3 or os.getresgid() != (user,) * 3:
            raise OSError("the process kept its user")
    _called(_libc.prctl(_SET_PARENT_DEATH, _KILL, 0, 0, 0))
    _called(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    if "landlock" in layers:
        _called(_libc.syscall(_RESTRICT, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)
    if "filter" in layers:
        _install(calls.of_process(filter, os.getpid()))


def _limit(memory_mb: int, seconds: int, file_mb: int, threads: int) -> None:
    memory = memory_mb << 20
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, file_mb << 20),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NPROC, threads),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_MSGQUEUE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    stack = resource.getrlimit(resource.RLIMIT_STACK)[1]
    most = memory if stack == resource.RLIM_INFINITY else min(memory, stack)
    resource.setrlimit(resource.RLIMIT_STACK, (min(8 << 20, most), most))
    os.nice(5)


def _install(steps: bytes) -> None:
    array = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("@HP", len(steps) // 8, ctypes.addressof(array))
    _called(_libc.prctl(_SET_FILTER, _FILTER_MODE, program, 0, 0))


def _called(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
