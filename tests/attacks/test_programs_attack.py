"""Hostile programs in the sandbox: every row of the catalogue of programs, at every level that this machine holds."""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from pathlib import Path

import pytest
from canaries import Canaries, Left
from hostile import EVERYTHING, Hostile
from users import Elsewhere, beside

from assay.sandbox import Execution, Limits, Ran, Sandbox

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]
LATE = 2.0  # seconds after a limit: half a one on an idle machine


def run_of(hostile: Hostile, canaries: Canaries) -> Execution:
    return Execution(canaries.program(hostile.program), hostile.input, hostile.limits)


@pytest.mark.parametrize("hostile", EVERYTHING, ids=lambda one: f"{one.row} {one.name}")
def test_a_hostile_program_reaches_nothing(hostile: Hostile, sandbox: Sandbox, canaries: Canaries) -> None:
    if sandbox.level == "L1" and not hostile.limits.narrow:
        pytest.skip("L1 gives no program processes or files of its own")
    (ran,) = sandbox.map([run_of(hostile, canaries)])
    assert ran.status in hostile.wanted, ran
    assert b"REACHED" not in ran.output + ran.errors + ran.reply
    if "attempt(" in hostile.program:
        assert ran.output.endswith(b"END\n"), ran
        assert b"refused" in ran.output
    assert canaries.secret.encode() not in ran.output + ran.errors + ran.reply
    assert canaries.harmed() == []


def test_a_daemon_is_gone_before_its_outcome_is_told(sandbox: Sandbox, canaries: Canaries) -> None:
    if sandbox.level == "L1":
        pytest.skip("L1 gives no program processes of its own")
    before = Left.now().processes
    daemon = next(one for one in EVERYTHING if one.name == "a daemon")
    sandbox.map([run_of(daemon, canaries)])
    assert Left.now().processes <= before
    time.sleep(1.5)  # it would write its file one second after its start
    assert canaries.harmed() == []


@pytest.mark.parametrize("row", ["P03", "P04", "P07"])
def test_no_run_lasts_much_longer_than_its_limit(row: str, sandbox: Sandbox, canaries: Canaries) -> None:
    sandbox.map([Execution("pass")])
    crowd = max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))  # who waits for a processor has not used it
    for hostile in EVERYTHING:
        if hostile.row == row and hostile.wanted == ("time",):
            began = time.monotonic()
            (ran,) = sandbox.map([run_of(hostile, canaries)])
            passed = time.monotonic() - began
            assert hostile.limits.seconds - 0.01 <= passed < crowd * (hostile.limits.seconds + LATE)
            assert ran.processor < hostile.limits.seconds + 0.5


def test_large_output_of_a_program_that_ends_is_whole(sandbox: Sandbox) -> None:
    (ran,) = sandbox.map([Execution("import sys\nsys.stdout.write('0123456789' * 92_160)")])  # 900 KiB
    assert (ran.status, ran.code) == ("exit", 0)
    assert ran.output == b"0123456789" * 92_160


def test_output_is_cut_at_its_limit(sandbox: Sandbox) -> None:
    limits = Limits(output_kb=8)
    exactly, more = sandbox.map(
        [Execution(f"import os\nos.write(1, bytes({size}))", limits=limits) for size in (8192, 8193)]
    )
    assert (exactly.status, len(exactly.output)) == ("exit", 8192)
    assert (more.status, len(more.output)) == ("output", 8192)


def test_the_whole_standard_library_can_be_imported(sandbox: Sandbox) -> None:
    late = "glob, sqlite3, hashlib, asyncio, xml.etree.ElementTree, zoneinfo, unittest, concurrent.futures, csv, ctypes"
    (ran,) = sandbox.map(
        [Execution(f"import {late}\nprint(zoneinfo.ZoneInfo('UTC'), hashlib.sha256(b'').hexdigest()[:8])")]
    )
    assert ran.output == b"UTC e3b0c442\n", ran


def test_bytes_of_any_kind_come_back_as_they_are(sandbox: Sandbox) -> None:
    every = bytes(range(256))
    (ran,) = sandbox.map([Execution("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read() * 2)", every)])
    assert ran.output == every + every


def test_a_large_input_arrives_whole(sandbox: Sandbox) -> None:
    given = b"line\n" * 2_000_000
    long, empty = sandbox.map([Execution("import sys\nprint(len(sys.stdin.read()))", data) for data in (given, b"")])
    assert (long.output, empty.output) == (b"10000000\n", b"0\n")
    (refused,) = sandbox.map([Execution("pass", bytes((64 << 20) + 1))])
    assert refused.status == "size" and "input" in refused.detail


def test_each_run_sees_a_fresh_world(sandbox: Sandbox) -> None:
    word = "".join(map(chr, range(98, 122)))
    leaves = (
        f"import builtins, json, sys, random\nkept = ['{word}' + str(i) for i in range(1000)]\n"
        "json.dumps = builtins.print = builtins.len = None\nsys.modules['math'] = kept\nsys.path.insert(0, '/tmp')\n"
        "random.random()\nsys.setrecursionlimit(50)\n"
    )
    looks = (
        "import gc, json, math, random, sys\nword = ''.join(map(chr, range(98, 122)))\n"
        "found = [one for one in gc.get_objects() if type(one) is list and any(type(x) is str and x.startswith(word) "
        "for x in one)]\nprint(len(found), json.dumps([1]), math.sqrt(4), sys.getrecursionlimit(), '/tmp' in sys.path, "
        "random.random())\n"
    )
    with beside(sandbox, count=1) as alone:  # so that all runs share a slot
        first, *_, last = alone.map([Execution(looks), Execution(leaves), Execution(leaves), Execution(looks)])
    assert first.output == last.output  # also the random number: a verdict does not change from run to run
    assert first.output.startswith(b"0 [1] 2.0 1000 False ")


def test_memory_of_an_earlier_program_is_not_inherited(sandbox: Sandbox) -> None:
    """The second program searches all of its memory for a word that stood in the first one, and in its input."""
    searches = (
        "import ctypes, io\nword = bytes(range(65, 91))[::-1]\n"
        "place = id(word)\nfound = 0\n"
        "for start in range(place - (1 << 19), place + (1 << 19), 4096):\n"
        "    libc = ctypes.CDLL(None)\n"
        "    vector = ctypes.create_string_buffer(1)\n"
        "    page = start & ~4095\n"
        "    if libc.mincore(ctypes.c_void_p(page), ctypes.c_size_t(4096), vector) == 0:\n"
        "        found += ctypes.string_at(page, 4096).count(word)\n"
        "print(found)\n"
    )
    word = bytes(range(65, 91))[::-1]
    writes = f"held = [{word!r} * 10] * 1000\nprint(len(input()))\n"
    with beside(sandbox, count=1) as alone:
        first, *_, last = alone.map([Execution(searches), *[Execution(writes, word * 1000)] * 3, Execution(searches)])
    assert first.status == "exit" and int(first.output) >= 1  # its own copy
    assert first.output == last.output


def test_the_environment_is_built_and_not_inherited(sandbox: Sandbox) -> None:
    (ran,) = sandbox.map(
        [
            Execution(
                "import os, sys\nprint(sorted(os.environ))\n"
                "print(sys.argv, sys.flags.safe_path, sys.flags.no_user_site)"
            )
        ]
    )
    names, rest = ran.output.decode().splitlines()
    assert set(eval(names)) == {
        "PATH", "HOME", "TMPDIR", "LANG", "PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "MALLOC_ARENA_MAX",
    }  # fmt: skip
    assert rest == "['program.py'] True 1"


def test_a_program_has_three_streams_and_a_reply_and_no_other_descriptor(sandbox: Sandbox) -> None:
    looks = (
        "import os\nfor number in range(200):\n    try: os.fstat(number)\n    except OSError: continue\n"
        "    print(number)\n"
    )
    (ran,) = sandbox.map([Execution(looks)])
    assert ran.output.split() == [b"0", b"1", b"2", b"3"]


def test_a_program_cannot_make_its_failure_ours(sandbox: Sandbox) -> None:
    """Exit codes and words that the sandbox uses itself are taken for the program's own."""
    codes = [
        Execution(f"import os\nos.write(2, b'OSError: x')\nos._exit({code})") for code in (0, 1, 120, 121, 125, 137)
    ]
    found = [(ran.status, ran.code) for ran in sandbox.map(codes)]
    assert found == [("exit", 0), ("exit", 1), ("compile", 0), ("memory", 0), ("exit", 125), ("exit", 137)]


def test_two_hundred_at_once_end_as_they_end_one_by_one(sandbox: Sandbox, canaries: Canaries) -> None:
    kinds = [
        Execution("print(int(input()) * 2)", b"21"),
        Execution("1 / 0"),
        Execution("(("),
        Execution("import os\nos._exit(3)"),
    ]
    alone = [sandbox.map([run])[0] for run in kinds]
    together = sandbox.map(kinds * 50)
    assert [outcome(ran) for ran in together] == [outcome(ran) for ran in alone] * 50


def outcome(ran: Ran) -> tuple[str, int, bytes, bytes]:
    return ran.status, ran.code, ran.output, ran.errors


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.deep)])
def test_nothing_is_left_behind(
    count: int, sandbox: Sandbox, canaries: Canaries, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(sandbox, Elsewhere):
        pytest.skip("what is counted is what this process leaves")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = Left.now()
    slow = ("P02", "P28", "P29")
    fast = [one for one in EVERYTHING if one.limits.narrow and one.wanted[0] != "time" and one.row not in slow]
    fast += [
        one for one in EVERYTHING if one.name in ("a null pointer", "one large object", "a NUL", "sleep", "a loop")
    ]
    wide = [one for one in EVERYTHING if one.row in ("P09", "P14")] if sandbox.level == "L2" else []
    with Sandbox(sandbox.level, count=2) as one:
        hostile = itertools.islice(itertools.cycle([*fast, *wide]), count)
        for ran in one.map([run_of(each, canaries) for each in hostile]):
            assert ran.status != "lost", ran
    assert Left.now() == before
    assert canaries.harmed() == []
