"""The system calls that an untrusted program may make, as a filter that the kernel runs before each of them.

The filter is a list of what is allowed: everything else answers EPERM, also calls that a later kernel adds. It is
written as instructions of classic BPF and needs no library. Numbers are those of x86-64 and of aarch64.
"""

from __future__ import annotations

import errno
import hashlib
import struct
import sys
from collections.abc import Iterable

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the tables below, and AUDIT_ARCH_*

Numbers = dict[str, tuple[int | None, int | None]]

# fmt: off
ALWAYS: Numbers = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "lseek": (8, 62), "fstat": (5, 80), "mmap": (9, 222),
    "munmap": (11, 215), "brk": (12, 214), "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233),
    "newfstatat": (262, 79), "stat": (4, None), "lstat": (6, None), "statx": (332, 291), "futex": (202, 98),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, None),
    "times": (100, 153), "getrusage": (98, 165), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "sched_yield": (24, 124), "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "restart_syscall": (219, 128), "pause": (34, None), "alarm": (37, None),
    "getitimer": (36, 102), "setitimer": (38, 103), "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65),
    "writev": (20, 66), "preadv": (295, 69), "pwritev": (296, 70), "readlink": (89, None), "readlinkat": (267, 78),
    "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439), "getcwd": (79, 17), "chdir": (80, 49),
    "fchdir": (81, 50), "getdents64": (217, 61), "fadvise64": (221, 223), "pipe": (22, None), "pipe2": (293, 59),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "poll": (7, None), "ppoll": (271, 73),
    "select": (23, None), "pselect6": (270, 72), "epoll_create": (213, None), "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "shutdown": (48, 210), "getsockname": (51, 204), "getpeername": (52, 205), "getsockopt": (55, 209),
    "getpid": (39, 172),
    "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176),
    "getegid": (108, 177), "getresuid": (118, 148), "getresgid": (120, 150), "getgroups": (115, 158),
    "getpgid": (121, 155), "getpgrp": (111, None), "getsid": (124, 156), "umask": (95, 166), "uname": (63, 160),
    "sysinfo": (99, 179), "sched_getaffinity": (204, 123), "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120), "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "getpriority": (140, 141), "getrlimit": (97, 163), "setrlimit": (160, 164), "set_robust_list": (273, 99),
    "get_robust_list": (274, 100), "rseq": (334, 293), "set_tid_address": (218, 96), "arch_prctl": (158, None),
    "membarrier": (324, 283), "getcpu": (309, 168), "getrandom": (318, 278), "mincore": (27, 232), "exit": (60, 93),
    "exit_group": (231, 94), "wait4": (61, 260), "waitid": (247, 95),
}
FORKS: Numbers = {
    "fork": (57, None), "vfork": (58, None), "setsid": (112, 157), "setpgid": (109, 154),
}
FILES: Numbers = {
    "mkdir": (83, None), "mkdirat": (258, 34), "unlink": (87, None), "unlinkat": (263, 35), "rmdir": (84, None),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "link": (86, None), "linkat": (265, 37),
    "symlink": (88, None), "symlinkat": (266, 36), "ftruncate": (77, 46), "fsync": (74, 82), "fdatasync": (75, 83),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "utimensat": (280, 88), "fallocate": (285, 47),
}
ASKED: Numbers = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "clone": (56, 220), "clone3": (435, 435),
    "socketpair": (53, 199), "sendto": (44, 206), "recvfrom": (45, 207), "tgkill": (234, 131),
    "prlimit64": (302, 261), "prctl": (157, 167), "ioctl": (16, 29), "fcntl": (72, 25),
}
# fmt: on
"""Calls by name, as (number on x86-64, number on aarch64): those allowed to every program, to programs with
processes, to programs with files; then the calls whose arguments decide."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06  # BPF instruction codes
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000  # SECCOMP_RET_*
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000  # bit of the numbers of the second, 32-bit interface of x86-64

_THREAD = 0x00010000  # CLONE_THREAD
_NEW = 0x7E020000  # every CLONE_NEW* that `clone` takes
_WRITES, _TRUNCATE = 0o3, 0o1000  # O_WRONLY and O_RDWR; O_TRUNC
_UNIX, _STREAM, _KIND = 1, 1, 0xF  # AF_UNIX, SOCK_STREAM, and the bits of a socket's type without its flags
_URGENT = 1  # MSG_OOB
_ITSELF = 0x7A7A7A7A  # stands for the number of the process, which no process can have
_NAMES = (15, 16)  # PR_SET_NAME, PR_GET_NAME
_TERMINAL = (0x5401, 0x5413, 0x5421, 0x541B, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONBIO, FIONREAD, FIO(N)CLEX
_DESCRIPTOR = (0, 1, 2, 3, 4, 1030, 1032)  # F_DUPFD, F_GETFD to F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def filter_for(machine: str, *, processes: bool, files: bool) -> bytes:
    """The filter of programs as an array of `struct sock_filter`; `of_process` makes it that of one process.

    `processes` and `files` say whether the programs may start processes and write files.
    """
    column, arch = MACHINES[machine]
    steps: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if machine == "x86_64":
        steps += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name, rule in _rules(processes).items():
        number = ASKED[name][column]
        if number is not None:
            steps += [(_EQUAL, 0, len(rule), number), *rule]
    tables = (ALWAYS, FORKS if processes else {}, FILES if files else {})
    allowed = {number for table in tables for numbers in table.values() if (number := numbers[column]) is not None}
    for first, last in _ranges(allowed):
        steps += [(_AT_LEAST, 3, 0, last + 1), (_AT_LEAST, 0, 1, first), _allow(), _refuse(errno.EPERM)]
    steps.append(_refuse(errno.EPERM))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def of_process(steps: bytes, pid: int) -> bytes:
    """The filter for one process, by its number in its own namespace."""
    return steps.replace(struct.pack("=I", _ITSELF), struct.pack("=I", pid))


def digest(machine: str) -> str:
    """A short name of the filter of the narrowest program, for the record of a run."""
    return hashlib.sha256(filter_for(machine, processes=False, files=False)).hexdigest()[:12]


def _rules(processes: bool) -> dict[str, list[Instruction]]:
    """The rules of the calls whose arguments decide, by the name of the call. Every rule ends in a decision."""
    opened = [(_ANY_BIT, 0, 2, _TRUNCATE), (_ANY_BIT, 1, 0, _WRITES), _refuse(errno.EPERM), _allow()]
    kind = [_argument(1), (_AND, 0, 0, _KIND), (_EQUAL, 0, 1, _STREAM), _allow(), _refuse(errno.EPERM)]
    calm = [_argument(3), (_ANY_BIT, 0, 1, _URGENT), _refuse(errno.EPERM)]
    forked = [_allow()] if processes else [(_ANY_BIT, 0, 1, _THREAD), _allow(), _refuse(errno.EPERM)]
    return {
        "open": [_argument(1), *opened],  # a file that may be read is not emptied by reading it with O_TRUNC
        "openat": [_argument(2), *opened],
        "openat2": [_refuse(errno.ENOSYS)],  # its flags lie in memory, which a filter does not see
        "clone": [_argument(0), (_ANY_BIT, 0, 1, _NEW), _refuse(errno.EPERM), *forked],
        "clone3": [_refuse(errno.ENOSYS)],  # libraries fall back to `clone`
        "socketpair": [_argument(0), (_EQUAL, 1, 0, _UNIX), _refuse(errno.EPERM), *kind],  # datagrams have addresses
        "sendto": [
            *calm,
            _argument(4),
            (_EQUAL, 1, 0, 0),
            _refuse(errno.EPERM),
            _argument(4, high=True),
            *_one_of((0,)),
        ],
        "recvfrom": [*calm, _allow()],  # urgent data and sent descriptors are seldom used, and the kernel errs in them
        "tgkill": [_argument(0), *_one_of((_ITSELF,))],  # signals reach the process itself, as `abort` needs
        "prlimit64": [_argument(0), *_one_of((0,))],
        "prctl": [_argument(0), *_one_of(_NAMES)],
        "ioctl": [_argument(1), *_one_of(_TERMINAL)],
        "fcntl": [_argument(1), *_one_of(_DESCRIPTOR)],
    }


def _ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Runs of neighbours, ascending: the kernel tries a filter on every number when it is installed, so it is short."""
    found: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _one_of(values: Iterable[int]) -> list[Instruction]:
    allowed = [step for value in values for step in ((_EQUAL, 0, 1, value), _allow())]
    return [*allowed, _refuse(errno.EPERM)]


def _argument(index: int, *, high: bool = False) -> Instruction:
    """Loads the low or the high half of an argument."""
    assert sys.byteorder == "little"
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index + 4 * high)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _refuse(number: int) -> Instruction:
    return (_RETURN, 0, 0, _REFUSE | number)
