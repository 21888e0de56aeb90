"""Hostile programs, each with what a sandbox must say of it. `REACHED` in an output means that an attack succeeded.

The placeholders `$folder`, `$grouped`, `$tcp`, `$udp`, `$unix`, `$path`, `$pid` and `$secret` are the canaries of `canaries.py`.
"""
# ruff: noqa: E501  (programs on one line each)

from __future__ import annotations

from dataclasses import dataclass

from assay.sandbox import Limits

QUICK = Limits(seconds=0.4, memory_mb=192, output_kb=64)
ROOMY = Limits(seconds=4.0, memory_mb=256, output_kb=64)
WIDE = Limits(seconds=2.0, memory_mb=192, output_kb=64, processes=8, files_mb=8)
SHORT_WIDE = Limits(seconds=0.5, memory_mb=192, output_kb=64, processes=8, files_mb=8)

TRY = """
import os, sys
def attempt(what, attack):
    try:
        got = attack()
    except BaseException as error:
        return print("refused", what, type(error).__name__)
    print("REACHED", what, repr(got)[:60])
"""


@dataclass(frozen=True)
class Hostile:
    """A program of a row of the catalogue: `Hostile("P03", "loop", "while True: pass", ("time",))`."""

    row: str
    name: str
    program: str
    wanted: tuple[str, ...]
    limits: Limits = ROOMY
    input: bytes = b""


def tries(row: str, name: str, body: str, limits: Limits = ROOMY) -> Hostile:
    """A program that tries things one after another, none of which may be reached."""
    return Hostile(row, name, f"{TRY}{body}\nprint('END')\n", ("exit",), limits)


_SYSCALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
def call(x86, other, *arguments):
    if libc.syscall(other if arm else x86, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return "made"
space = ctypes.create_string_buffer(512)
"""

BOMBS = [
    tries("P01", "fork", "attempt('fork', lambda: os.fork() or os._exit(0))"),
    tries("P01", "vfork and clone", _SYSCALL + (
        "attempt('vfork', lambda: call(58, 220, 17, 0, 0, 0, 0))\n"
        "attempt('clone', lambda: call(56, 220, 17, 0, 0, 0, 0))\n"
        "attempt('clone3', lambda: call(435, 435, space, 88))\n"
    )),
    Hostile("P01", "threads", "import threading, time\nwhile True:\n"
            "    threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n", ("exit", "memory"), QUICK),
    Hostile("P01", "forks without end", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
            ("time",), SHORT_WIDE),
    Hostile("P02", "one large object", "held = bytearray(10 ** 10)", ("memory",)),
    Hostile("P02", "a growing list", "held = []\nwhile True:\n    held.append('x' * 10 ** 6)\n", ("memory",)),
    Hostile("P02", "a huge list of one string", "held = ['x' * 1000] * 10 ** 9", ("memory",)),
    Hostile("P02", "mapped memory", "import mmap\nheld = mmap.mmap(-1, 1 << 33)\n", ("exit", "memory")),
    Hostile("P02", "a growing big integer", "x = 3\nwhile True:\n    x = x * x\n", ("memory", "time"), QUICK),
    Hostile("P02", "fifty children", "import os\nfor i in range(50):\n    try:\n        if not os.fork(): break\n"
            "    except OSError: pass\nheld = bytearray(100 << 20)\nfor i in range(0, len(held), 4096): held[i] = 1\n"
            "import time\ntime.sleep(9)\n", ("time", "memory"), SHORT_WIDE),
    Hostile("P02", "a full disk", "with open('/tmp/big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))\n",
            ("exit", "signal"), WIDE),
    tries("P02", "shared memory", "attempt('shm', lambda: open('/dev/shm/x', 'wb').write(b'1'))", WIDE),
    Hostile("P03", "a loop", "while True: pass", ("time",), QUICK),
    Hostile("P03", "a power of large numbers", "x = (7 ** 7 ** 8) ** 99", ("time",), QUICK),
    Hostile("P03", "a regular expression", "import re\nre.match('(a*)*b', 'a' * 60)\n", ("time",), QUICK),
    Hostile("P03", "a sum in C", "sum(range(10 ** 12))", ("time",), QUICK),
    Hostile("P03", "threads that work", "import threading\ndef work():\n    while True: pass\n"
            "for _ in range(4): threading.Thread(target=work).start()\n", ("time",), QUICK),
    Hostile("P04", "sleep", "import time\ntime.sleep(10 ** 6)", ("time",), QUICK),
    Hostile("P04", "a lock", "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n", ("time",), QUICK),
    Hostile("P04", "input that is not there", "input()", ("exit",), QUICK),
    Hostile("P04", "a pipe that nobody writes", "import os\nread, write = os.pipe()\nos.read(read, 1)\n", ("time",), QUICK),
    Hostile("P05", "output without end", "while True: print('x' * 1000)", ("output",)),
    Hostile("P05", "errors without end", "import sys\nwhile True: print('x' * 1000, file=sys.stderr)", ("output",)),
    Hostile("P05", "both at once", "import os\nwhile True:\n    os.write(1, b'x' * 100)\n    os.write(2, b'y' * 100)\n",
            ("output",)),
    Hostile("P05", "one long line", "import os\nwhile True: os.write(1, bytes(1 << 16))", ("output",)),
    Hostile("P05", "a reply without end", "import os\nwhile True: os.write(3, b'x' * 1000)", ("output",)),
    Hostile("P07", "every signal is ignored", "import signal\nfor number in range(1, 65):\n"
            "    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
            "signal.alarm(0)\nsignal.setitimer(signal.ITIMER_REAL, 0)\nwhile True: pass\n", ("time",), QUICK),
    Hostile("P07", "every signal is blocked", "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
            "while True: pass\n", ("time",), QUICK),
    Hostile("P10", "it stops itself", "import signal\nsignal.raise_signal(signal.SIGSTOP)", ("time",), QUICK),
    Hostile("P10", "zombies", "import os, time\nfor _ in range(50):\n    try:\n        if not os.fork(): os._exit(0)\n"
            "    except OSError: pass\n", ("exit",), WIDE),
    Hostile("P09", "a daemon", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
            "        time.sleep(1)\n        open('$folder/daemon', 'w').write('x')\n    os._exit(0)\n", ("exit",), WIDE),
    Hostile("P15", "a sparse file", "import os\nos.truncate(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1 << 40)",
            ("exit", "signal"), WIDE),
    Hostile("P15", "a million files", "for i in range(10 ** 6): open(f'/tmp/{i}', 'w').close()", ("time", "memory", "exit"),
            SHORT_WIDE),
    Hostile("P15", "a deep folder", "import os\nos.chdir('/tmp')\nfor _ in range(5000):\n    os.mkdir('d')\n    os.chdir('d')\n",
            ("exit", "time"), WIDE),
    Hostile("P15", "a pipe with a name", "import os\nos.mkfifo('/tmp/f')\nopen('/tmp/f').read()", ("exit", "time"), SHORT_WIDE),
    Hostile("P29", "a null pointer", "import ctypes\nctypes.string_at(0)", ("signal",)),
    Hostile("P29", "abort", "import os\nos.abort()", ("signal",)),
    Hostile("P29", "its own interpreter", "import sys\nsys.setrecursionlimit(10 ** 9)\n"
            "def f(): return f() + [1].sort(key=lambda _: f())\nf()\n", ("signal", "memory", "time", "exit"), QUICK),
    Hostile("P32", "a slow farewell", "import atexit, time\natexit.register(time.sleep, 99)", ("time",), QUICK),
    Hostile("P32", "a thread that stays", "import threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()",
            ("time",), QUICK),
]  # fmt: skip

SOURCES = [
    Hostile("P28", "endless import", "import sys\nsys.meta_path.insert(0, None)\nimport nothing", ("exit",), QUICK),
    Hostile("P28", "parentheses", "(" * 100_000 + ")" * 100_000, ("compile", "memory", "signal")),
    Hostile("P28", "signs", "-" * 200_000 + "1", ("compile", "memory", "signal", "time")),
    Hostile("P28", "deep recursion", "def f(n): return f(n + 1)\nf(0)", ("exit",)),
    Hostile("P28", "a NUL", "print(1)\0", ("compile",)),
    Hostile("P28", "a lone surrogate", "print('\ud800')", ("compile",)),
    Hostile("P28", "too large", "#" * (300 << 10), ("size",)),
    Hostile("P28", "constant folding", "x = 'a' * 10 ** 9 * 9", ("memory", "exit")),
    Hostile("P28", "a wrong encoding", "# -*- coding: rot13 -*-\ncevag(1)", ("compile", "exit")),
]

OUTSIDE = [
    tries("P08", "signals", (
        "import signal\n"
        "for pid in ($pid, os.getppid(), -1, 0, 1):\n"
        "    attempt(f'kill {pid}', lambda: os.kill(pid, signal.SIGKILL))\n"
        "    attempt(f'stop {pid}', lambda: os.kill(pid, signal.SIGSTOP))\n"
        "    attempt(f'group {pid}', lambda: os.killpg(pid, signal.SIGKILL))\n"
        "attempt('pidfd', lambda: os.pidfd_open($pid))\n"
    )),
    tries("P11", "files of others", (
        "for path in ('/etc/shadow', '/etc/passwd', '/root/.ssh/id_rsa', '/root/.netrc', '/home', '/root',\n"
        "             '/proc/1/environ', '/', '/var', '$folder', '$folder/secret', '$grouped'):\n"
        "    attempt(path, lambda: open(path).read() if not os.path.isdir(path) else os.listdir(path))\n"
    )),
    tries("P11", "the package and what is installed", (
        "for place in ('$package', '$package/tasks/task.py', '$tests/attacks/hostile.py'):\n"
        "    attempt(place, lambda: open(place).read() if not os.path.isdir(place) else os.listdir(place))\n"
        "attempt('import assay', lambda: __import__('assay'))\n"
        "attempt('import numpy', lambda: __import__('numpy'))\n"
    )),
    tries("P12", "environments and memory of processes", (
        "def known(text):\n"
        "    if '$secret' in text: return text\n"
        "    raise LookupError\n"
        "attempt('environment', lambda: known(repr(os.environ)))\n"
        "for pid in ('self', '1', '$pid', str(os.getppid())):\n"
        "    for name in ('environ', 'cmdline', 'mem', 'maps', 'fd', 'status', 'root', 'cwd'):\n"
        "        path = f'/proc/{pid}/{name}'\n"
        "        attempt(path, lambda: open(path, 'rb').read(10) if not os.path.isdir(path) else os.listdir(path))\n"
    )),
    tries("P13", "changes of files", (
        "secret = '$folder/secret'\n"
        "attempt('write', lambda: open(secret, 'w'))\n"
        "attempt('append', lambda: open(secret, 'a'))\n"
        "attempt('create', lambda: open('$folder/new', 'w'))\n"
        "attempt('truncate', lambda: os.truncate(secret, 0))\n"
        "attempt('truncate while reading', lambda: os.open(secret, os.O_RDONLY | os.O_TRUNC))\n"
        "attempt('mode', lambda: os.chmod(secret, 0o777))\n"
        "attempt('owner', lambda: os.chown(secret, 1, 1))\n"
        "attempt('times', lambda: os.utime(secret, (0, 0)))\n"
        "attempt('attribute', lambda: os.setxattr(secret, 'user.x', b'1'))\n"
        "attempt('rename', lambda: os.rename(secret, secret + '2'))\n"
        "attempt('link', lambda: os.link(secret, '$folder/link'))\n"
        "attempt('symlink', lambda: os.symlink(secret, '$folder/symlink'))\n"
        "attempt('remove', lambda: os.remove(secret))\n"
        "attempt('folder', lambda: os.mkdir('$folder/folder'))\n"
        "attempt('own folder', lambda: open('file', 'w'))\n"
        "attempt('library', lambda: open(os.__file__, 'a'))\n"
    )),
    tries("P14", "links to places outside", (
        "os.chdir('/tmp')\n"
        "os.symlink('$folder/secret', 'link')\n"
        "os.symlink('/', 'root')\n"
        "attempt('read', lambda: open('link').read())\n"
        "attempt('write', lambda: open('link', 'w'))\n"
        "attempt('through', lambda: open('root/etc/passwd').read())\n"
        "attempt('hard link', lambda: os.link('$folder/secret', 'hard'))\n"
        "attempt('up', lambda: open('../../..$folder/secret').read())\n"
    ), WIDE),
    tries("P17", "the network", (
        "import socket\n"
        "def connect(family, kind, address):\n"
        "    one = socket.socket(family, kind)\n"
        "    one.settimeout(1)\n"
        "    one.connect(address)\n"
        "    one.send(b'x')\n"
        "inet, unix, stream, datagram = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM\n"
        "attempt('tcp', lambda: connect(inet, stream, ('127.0.0.1', $tcp)))\n"
        "attempt('udp', lambda: connect(inet, datagram, ('127.0.0.1', $udp)))\n"
        "attempt('tcp6', lambda: connect(socket.AF_INET6, stream, ('::1', $tcp)))\n"
        "attempt('abstract', lambda: connect(unix, stream, '\\0$unix'))\n"
        "attempt('path', lambda: connect(unix, stream, '$path'))\n"
        "attempt('raw', lambda: socket.socket(inet, socket.SOCK_RAW, 1))\n"
        "attempt('netlink', lambda: socket.socket(16, socket.SOCK_RAW, 0))\n"
        "attempt('vsock', lambda: socket.socket(40, stream, 0))\n"
        "attempt('metadata', lambda: connect(inet, stream, ('169.254.169.254', 80)))\n"
        "attempt('name', lambda: socket.gethostbyname('localhost.example'))\n"
        "attempt('datagrams of a pair', lambda: socket.socketpair(unix, datagram))\n"
        "one, other = socket.socketpair(unix, stream)\n"
        "attempt('connect a pair', lambda: one.connect('\\0$unix'))\n"
        "attempt('bind', lambda: one.bind('\\0mine'))\n"
        "attempt('send with an address', lambda: one.sendto(b'x', '\\0$unix'))\n"
        "attempt('send urgently', lambda: one.send(b'x', socket.MSG_OOB))\n"
        "attempt('receive urgently', lambda: other.recv(1, socket.MSG_OOB | socket.MSG_DONTWAIT))\n"
        "attempt('send descriptors', lambda: socket.send_fds(one, [b'x'], [0, 1]))\n"
        "one.send(b'x')\n"
        "attempt('receive descriptors', lambda: socket.recv_fds(other, 1, 1))\n"
        "assert other.recv(1) == b'x', 'a pair is of use within the program'\n"
    )),
    tries("P18", "system calls", _SYSCALL + (
        "attempt('ptrace', lambda: call(101, 117, 0, 0, 0, 0))\n"
        "attempt('process_vm_readv', lambda: call(310, 270, $pid, space, 1, space, 1, 0))\n"
        "attempt('bpf', lambda: call(321, 280, 0, space, 72))\n"
        "attempt('perf_event_open', lambda: call(298, 241, space, 0, -1, -1, 0))\n"
        "attempt('keyctl', lambda: call(250, 219, 0, -3, 1))\n"
        "attempt('io_uring_setup', lambda: call(425, 425, 1, space))\n"
        "attempt('userfaultfd', lambda: call(323, 282, 1))\n"
        "attempt('mount', lambda: call(165, 40, b'none', b'/tmp', b'tmpfs', 0, 0))\n"
        "attempt('unshare', lambda: call(272, 97, 0x10000000))\n"
        "attempt('setns', lambda: call(308, 268, 0, 0))\n"
        "attempt('personality', lambda: call(135, 92, 0x0040000))\n"
        "attempt('chroot', lambda: call(161, 51, b'/tmp'))\n"
        "attempt('pivot_root', lambda: call(155, 41, b'/', b'/'))\n"
        "attempt('memfd_create', lambda: call(319, 279, b'x', 0))\n"
        "attempt('shmget', lambda: call(29, 194, 0, 4096, 0o1600))\n"
        "attempt('semget', lambda: call(64, 190, 0, 1, 0o1600))\n"
        "attempt('msgget', lambda: call(68, 186, 0, 0o1600))\n"
        "attempt('mq_open', lambda: call(240, 180, b'x', 0o100, 0o600, 0))\n"
        "attempt('name_to_handle_at', lambda: call(303, 264, -100, b'/', space, space, 0))\n"
        "attempt('open_by_handle_at', lambda: call(304, 265, -100, space, 0))\n"
        "attempt('fanotify_init', lambda: call(300, 262, 0, 0))\n"
        "attempt('inotify_init1', lambda: call(294, 26, 0))\n"
        "attempt('init_module', lambda: call(175, 105, space, 0, b''))\n"
        "attempt('reboot', lambda: call(169, 142, 0, 0, 0, 0))\n"
        "attempt('sethostname', lambda: call(170, 161, b'x', 1))\n"
        "attempt('setpriority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))\n"
        "attempt('sched_setaffinity', lambda: os.sched_setaffinity(0, {0}))\n"
        "attempt('setuid', lambda: os.setuid(0))\n"
        "attempt('openat2', lambda: call(437, 437, -100, b'$folder/secret', space, 24))\n"
        "attempt('seccomp', lambda: call(317, 277, 1, 0, space))\n"
        "attempt('prctl dumpable', lambda: call(157, 167, 4, 1, 0, 0, 0))\n"
        "attempt('rlimits of others', lambda: call(302, 261, $pid, 7, 0, space))\n"
        "attempt('raise a limit', lambda: __import__('resource').setrlimit(7, (4096, 4096)))\n"
    )),
    tries("P18", "the second interface of the processor", _SYSCALL + (
        "attempt('x32', lambda: call(0x40000000 + 39, 0x40000000 + 39) if arm else 1 / 0)\n"
    )),
    tries("P19", "programs and libraries that it wrote", (
        "os.chdir('/tmp')\n"
        "open('run', 'w').write('#!/bin/sh\\necho REACHED')\n"
        "os.chmod('run', 0o755)\n"
        "attempt('execute', lambda: os.posix_spawn('/tmp/run', ['run'], {}))\n"
        "attempt('shell', lambda: __import__('subprocess').run(['/bin/sh', '-c', 'echo 1'], check=True))\n"
        "attempt('interpreter', lambda: __import__('subprocess').run([sys.executable, '-c', '1'], check=True))\n"
        "attempt('exec', lambda: os.execv('/tmp/run', ['run']))\n"
        "attempt('system', lambda: 1 / (os.system('true') == 0))\n"
    ), WIDE),
    tries("P34", "graphics cards", (
        "import glob\n"
        "for path in ('/dev/nvidia0', '/dev/nvidiactl', '/dev/dri', '/dev/kvm', '/dev/mem', '/dev/vda', '/dev/fuse'):\n"
        "    attempt(path, lambda: os.open(path, os.O_RDONLY))\n"
    )),
]  # fmt: skip

EVERYTHING = [*BOMBS, *SOURCES, *OUTSIDE]
