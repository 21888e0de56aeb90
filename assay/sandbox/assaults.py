"""The programs with which the probe attacks a sandbox. Each prints `REACHED ...` for a target that it should not reach.

They are templates: `$canary` is a folder that a program must not see, `$grouped` are files in it which groups of the
trainer's user may read, `$tcp`, `$udp` and `$name` are listeners, `$pid`
is a process, and `$secret` stands in the environment of the process that starts the sandbox.
"""

_TRY = """
import os, sys
def attempt(what, attack):
    try:
        got = attack()
    except BaseException as error:
        return
    print("REACHED", what, repr(got)[:80], flush=True)
"""

FILES = (
    _TRY
    + """
path = "$canary/secret"
def put(flags, path=path):
    return os.write(os.open(path, flags, 0o666), b"x")
attempt("read", lambda: open(path).read())
attempt("list", lambda: os.listdir("$canary"))
attempt("write", lambda: put(os.O_WRONLY))
attempt("append", lambda: put(os.O_WRONLY | os.O_APPEND))
attempt("create", lambda: put(os.O_WRONLY | os.O_CREAT, "$canary/new"))
attempt("empty", lambda: os.truncate(path, 0))
attempt("empty while reading", lambda: os.open(path, os.O_RDONLY | os.O_TRUNC))
attempt("rename", lambda: os.rename(path, path + "2"))
attempt("remove", lambda: os.remove(path))
attempt("link", lambda: os.link(path, "$canary/link"))
attempt("change its mode", lambda: os.chmod(path, 0o777))
for one in $grouped:
    attempt(f"read by a group {one}", lambda: open(one).read())
attempt("password file", lambda: open("/etc/passwd").read())
print("DONE")
"""
)

STREAMS = (
    _TRY
    + """
for number in range(4):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDONLY | os.O_NONBLOCK):
        attempt(f"descriptor {number}", lambda: os.open(f"/proc/self/fd/{number}", flags))
for number in range(4, 64):
    attempt(f"descriptor {number}", lambda: os.fstat(number))
print("DONE")
"""
)

HIDDEN = _TRY + 'attempt("read", lambda: open("$hidden").read(1))\nprint("DONE")\n'

ENVIRONMENT = (
    _TRY
    + """
def known(text):
    if "$secret" in text:
        return text
    raise LookupError
attempt("environment", lambda: known(repr(dict(os.environ))))
for pid in (1, os.getpid(), os.getppid(), $pid):
    for name in ("environ", "cmdline", "mem", "maps"):
        attempt(f"/proc/{pid}/{name}", lambda: open(f"/proc/{pid}/{name}", "rb").read(100))
print("DONE")
"""
)

NETWORK = (
    _TRY
    + """
import socket, time
def stream(family, address):
    one = socket.socket(family, socket.SOCK_STREAM)
    one.settimeout(1)
    one.connect(address)
def datagram(family, address):
    one = socket.socket(family, socket.SOCK_DGRAM)
    one.connect(address)
    for _ in range(2):
        one.send(b"x")  # the second one fails where nobody heard the first
        time.sleep(0.05)
def paired():
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"x", "\\0$name-datagram")
attempt("tcp", lambda: stream(socket.AF_INET, ("127.0.0.1", $tcp)))
attempt("udp", lambda: datagram(socket.AF_INET, ("127.0.0.1", $udp)))
attempt("abstract socket", lambda: stream(socket.AF_UNIX, "\\0$name"))
attempt("abstract datagram", lambda: datagram(socket.AF_UNIX, "\\0$name-datagram"))
attempt("datagram of a pair", paired)
print("DONE")
"""
)

SIGNALS = (
    _TRY
    + """
import signal
for number in (0, signal.SIGSTOP, signal.SIGKILL):
    attempt(f"signal {number}", lambda: os.kill($pid, number))
print("DONE")
"""
)

CALLS = (
    _TRY
    + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
numbers = $calls
def call(name, *arguments):
    if libc.syscall(numbers[name], *arguments) < 0:
        raise OSError(ctypes.get_errno())
    return name
attempt("unshare", lambda: call("unshare", 0x10000000))
attempt("ptrace", lambda: call("ptrace", 0, 0, 0, 0))
attempt("io_uring_setup", lambda: call("io_uring_setup", 1, ctypes.create_string_buffer(256)))
attempt("mount", lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, 0))
attempt("socket", lambda: call("socket", 1, 1, 0))
attempt("personality", lambda: call("personality", 0xFFFFFFFF))
attempt("memfd_create", lambda: call("memfd_create", b"x", 0))
attempt("signal its parent", lambda: os.kill(os.getppid() or 1, 0))
attempt("start a program", lambda: os.posix_spawn("/bin/true", ["true"], {}))
print("DONE")
"""
)

FORKS = _TRY + 'attempt("fork", lambda: os.fork() or os._exit(0))\nprint("DONE")\n'

USER = (
    _TRY
    + """
if $user and os.getresuid() != ($user,) * 3:
    print("REACHED user", os.getresuid())
if $user and os.getgroups():
    print("REACHED groups", os.getgroups())
attempt("become root", lambda: os.setuid(0))
print("DONE")
"""
)

DESCRIPTORS = (
    _TRY
    + """
attempt("200 open files", lambda: [os.dup(1) for _ in range(200)] and len)
print("DONE")
"""
)
THREADS = (
    _TRY
    + """
import threading
stay = threading.Event()
threads = [threading.Thread(target=stay.wait, daemon=True) for _ in range($threads)]
threading.stack_size(1 << 16)
attempt("$threads threads", lambda: [thread.start() for thread in threads] and "threads")
stay.set()
print("DONE")
"""
)

MEMORY = "held = bytearray(400 << 20)\nprint('REACHED memory')\n"
FLOOD = "while True:\n    print('x' * 1000)\n"
SLEEP = "import time, signal\nsignal.alarm(0)\nwhile True:\n    time.sleep(100)\n"
LOOP = "while True:\n    pass\n"
DAEMON = """
import ctypes, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"$name", 0, 0, 0)
        time.sleep(100)
    os._exit(0)
time.sleep(0.1)
print("DONE")
"""
FILL = (
    _TRY
    + """
def fill():
    with open("/tmp/big", "wb") as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
            file.flush()
attempt("write 64 MiB", fill)
print("DONE")
"""
)
