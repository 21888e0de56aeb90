"""Programs that look for each other, for the grader or for the solution: rows that need more than one program."""

from __future__ import annotations

import dataclasses

import pytest
from canaries import Canaries

from assay.sandbox import Execution, Limits, Sandbox
from assay.verifiers.programs import Call, Calls, Streams, verify

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]
WIDE = Limits(seconds=3.0, memory_mb=256, processes=4, files_mb=16)


def limits_of(sandbox: Sandbox) -> Limits:
    """The widest that the level gives a program."""
    return WIDE if sandbox.level == "L2" else Limits(seconds=3.0, memory_mb=256)


ARCHIVES = """
import io, os, tarfile, zipfile, zlib
def tried(name, action):
    try:
        action()
        print(name, 'done')
    except BaseException as error:
        print(name, 'refused', type(error).__name__)
def tar(path, kind=tarfile.REGTYPE, link=''):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode='w') as archive:
        one = tarfile.TarInfo(path)
        one.type, one.linkname, one.size = kind, link, 4 if kind == tarfile.REGTYPE else 0
        archive.addfile(one, io.BytesIO(b'evil'))
    held.seek(0)
    with tarfile.open(fileobj=held) as archive:
        archive.extractall('/tmp', filter='fully_trusted')
tried('absolute', lambda: tar('$folder/planted'))
tried('above', lambda: tar('../../../../../../../..$folder/planted'))
def through():
    tar('out', tarfile.SYMTYPE, '$folder')
    tar('out/planted')
tried('link', through)
def bomb():
    held = io.BytesIO()
    with zipfile.ZipFile(held, 'w', zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open('x', 'w', force_zip64=True) as file:
            for _ in range(64): file.write(bytes(1 << 20))
    with zipfile.ZipFile(held) as archive:
        archive.extract('x', '/tmp')
tried('bomb', bomb)
print('END')
"""


def test_p16_archives_unpack_nowhere_but_within_the_limits(sandbox: Sandbox, canaries: Canaries) -> None:
    program = canaries.program(ARCHIVES)
    (ran,) = sandbox.map([Execution(program, limits=dataclasses.replace(limits_of(sandbox), seconds=20.0))])
    said = dict(line.split()[:2] for line in ran.output.decode().splitlines()[:-1])
    assert list(said) == ["absolute", "above", "link", "bomb"] and said["bomb"] == "refused", ran
    assert canaries.harmed() == []  # a program with a /tmp of its own may unpack there, under the canaries' names too
    assert sandbox.level == "L2" or set(said.values()) == {"refused"}


def test_p25_what_was_learnt_by_heart_of_shown_tests_fails_on_the_others(sandbox: Sandbox) -> None:
    shown, hidden = [("1\n", "1"), ("2\n", "4")], [("3\n", "9"), ("4\n", "16")]
    by_heart = "print({'1': 1, '2': 4}.get(input(), 0))"
    function = "def square(x):\n    return {1: 1, 2: 4}.get(x)"
    calls = tuple(Call("square", (x,), x * x) for x in (1, 2, 3))
    first, second, third = verify(
        [(by_heart, Streams((*shown, *hidden))), (function, Calls(calls)), (by_heart, Streams(tuple(shown)))], sandbox
    )
    assert (first.kind, second.kind) == ("wrong", "wrong") and third.status == "ok"
    assert first.detail.startswith("test 3 of 4") and second.detail.startswith("test 3 of 3")


MARKS = """
import os, random, socket, sys, time
def tried(action):
    try:
        return bool(action())
    except BaseException:
        return False
def met(path):
    seen = os.path.exists(path)
    open(path, 'a').write('x')
    return seen
seen = [tried(lambda path=path: met(path)) for path in
        ('/tmp/mark', '/dev/shm/mark', '/var/tmp/mark', '/run/mark', '$folder/mark', 'mark', os.__file__ + '.mark')]
def knocks():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect('\\0mark')
    return True
seen.append(tried(knocks))
seen.append(hasattr(sys, 'mark') or 'MARK' in os.environ or hasattr(os, 'mark') or 'mark' in sys.modules)
sys.mark = os.mark = sys.modules['mark'] = 1
os.environ['MARK'] = '1'
print(seen, random.random(), hash('a'), os.getcwd())
"""


def test_p26_no_run_knows_whether_it_is_the_first(sandbox: Sandbox, canaries: Canaries) -> None:
    """Every run finds the same: no mark of another one, the same draw, the same order of a set."""
    for limits in (Limits(), limits_of(sandbox)):
        found = sandbox.map([Execution(canaries.program(MARKS), limits=limits)] * 6)
        assert {ran.status for ran in found} == {"exit"} and len({ran.output for ran in found}) == 1, found
        own = "mark" if limits.files_mb else ""  # beside the folder of its own, twice: /tmp is where it works
        assert found[0].output.count(b"True") == bool(own) and canaries.harmed() == []


def test_p26_a_program_that_behaves_well_in_its_first_call_alone_fails(sandbox: Sandbox) -> None:
    first_only = "seen = []\ndef f(x):\n    seen.append(x)\n    return x + 1 if len(seen) == 1 else x"
    (verdict,) = verify([(first_only, Calls(tuple(Call("f", (x,), x + 1) for x in range(3))))], sandbox)
    assert verdict.kind == "wrong" and verdict.detail.startswith("test 2 of 3")


THREADS = """
import os, threading, time
names = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
print([os.environ.get(name) for name in names], flush=True)
def work():
    while True: pass
started = 0
for _ in range(64):
    try:
        threading.Thread(target=work, daemon=True).start()
        started += 1
    except RuntimeError:
        break
print(started, flush=True)
time.sleep(99)
"""


def test_p33_sixty_four_threads_have_the_time_of_one(sandbox: Sandbox) -> None:
    limits = Limits(seconds=1.0, memory_mb=256)
    (ran,) = sandbox.map([Execution(THREADS, limits=limits)])
    lines = ran.output.decode().splitlines()
    assert lines[0] == "['1', '1', '1']" and ran.status == "time", ran
    assert ran.processor < 2 * limits.seconds + 0.5, "a machine of two processors gives it at most both for its time"


TALK = """
import fcntl, os, socket, sys, time
word = sys.stdin.read().strip()
paths = ('/tmp/talk', '/dev/shm/talk', '/var/tmp/talk', '$folder/talk', os.__file__, '/dev/null', '/proc/self/exe')
heard = []
def tried(action):
    try:
        action()
    except BaseException:
        pass
held = []
def told(path):
    with open(path, 'a') as file:
        file.write(word)
def read(path):
    text = open(path).read()
    if ('ping' in text or 'pong' in text) and path != os.__file__: heard.append(path)
def locked(path):
    one = os.open(path, os.O_RDONLY)
    held.append(one)
    try:
        fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        heard.append('lock ' + path)
def serves(family, place):
    one = socket.socket(family)
    held.append(one)
    one.bind(place)
    one.listen()
def knocks(family, place):
    with socket.socket(family) as one:
        one.connect(place)
        heard.append(str(place))
until = time.monotonic() + 1.0
while time.monotonic() < until:
    for path in paths[:4]:
        tried(lambda: told(path))
    if word == 'ping':
        tried(lambda: serves(socket.AF_UNIX, '\\0talk'))
        tried(lambda: serves(socket.AF_INET, ('127.0.0.1', 45991)))
    else:
        tried(lambda: knocks(socket.AF_UNIX, '\\0talk'))
        tried(lambda: knocks(socket.AF_INET, ('127.0.0.1', 45991)))
    for path in paths:
        if word == 'pong' and path in paths[:4]: tried(lambda: read(path))
    time.sleep(0.05)
print('heard', sorted(set(heard)))
"""


def test_p37_two_programs_beside_each_other_hear_nothing(sandbox: Sandbox, canaries: Canaries) -> None:
    """What each writes for itself in a folder of its own is no talk, so each word is another one."""
    quiet = TALK.replace("'ping' in text or 'pong' in text", "'ping' in text")
    program = canaries.program(quiet)
    for limits in (Limits(seconds=3.0), limits_of(sandbox)):
        found = sandbox.map([Execution(program, word, limits) for word in (b"ping", b"pong")])
        assert [(ran.status, ran.output) for ran in found] == [("exit", b"heard []\n")] * 2, found
    assert canaries.harmed() == []


LOOKS = """
import os, sys
import sysconfig
word = '$first' + '$last'
found, seen = [], 0
roots = {'/', '/work', '/home', '/root', '/tmp', '/opt', '/srv', '/var', '/etc', '/usr', '/mnt', '/proc/1/root'}
roots |= {sysconfig.get_path('stdlib'), os.getcwd(), '$folder', *sys.path}
for root in roots:
    for here, folders, files in os.walk(root):
        for name in [*folders, *files]:
            seen += 1
            if name in ('.git', 'assay', 'propositional.mm', 'site-packages', 'pip'): found.append(here + '/' + name)
            if seen > 60000: break
for module in list(sys.modules.values()):
    for name, value in list(vars(module).items()):
        if isinstance(value, str) and word in value and name != 'word': found.append(name)
for path in ('/proc/self/environ', '/proc/self/cmdline', '/proc/self/maps', '/proc/1/cmdline', '/proc/1/environ'):
    try:
        if word in open(path, errors='replace').read(): found.append(path)
    except OSError: pass
for number in range(3, 64):
    try:
        if word in os.read(number, 1 << 20).decode(errors='replace'): found.append(f'descriptor {number}')
    except OSError: pass
print(found)
"""


def test_p38_no_solution_lies_where_a_program_can_look(sandbox: Sandbox, canaries: Canaries) -> None:
    """Neither a repository nor installed packages nor the expected output, which also stands in a canary's file."""
    answer = canaries.secret
    program = canaries.program(LOOKS.replace("$first", answer[:9]).replace("$last", answer[9:]))
    (ran,) = sandbox.map([Execution(program, limits=Limits(seconds=20.0, memory_mb=256))])
    assert (ran.status, ran.output) == ("exit", b"[]\n"), ran
    (verdict,) = verify([(program, Streams((("", answer),)))], sandbox)
    assert verdict.kind == "wrong"
