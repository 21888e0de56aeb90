"""Each level as root, as a login user and as one in groups: no escape, no verdict of ours, and one Python for all."""

from __future__ import annotations

import subprocess
import sys

import pytest
from canaries import Canaries
from hostile import OUTSIDE
from spoilers import ACTS, spoilers
from users import AS, Elsewhere, Who, cannot

from assay.sandbox import Execution, Limits, Sandbox, probed
from assay.sandbox.levels import LEVELS
from assay.sandbox.limits import Level
from assay.verifiers.programs import Call, Calls, Streams, verify

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]
SOON = Limits(seconds=2.0, memory_mb=256, output_kb=64)
OTHERS: tuple[Who, ...] = ("a user", "a user in groups")


def test_no_program_makes_its_verdict_ours(every_sandbox: Sandbox) -> None:
    """A wrong program fails, whatever it does to its descriptors: it is neither right nor unjudged."""
    calls, streams = Calls((Call("f", (1,), 2),), limits=SOON), Streams((("", "2"),), limits=SOON)
    wrong = spoilers()
    found = verify([(program, calls) for program in wrong.values()], every_sandbox)
    assert {name: one for name, one in zip(wrong, found, strict=True) if one.status != "fail"} == {}
    first = {name: program for name, program in wrong.items() if name.endswith("before all")}
    assert len(first) == len(ACTS)
    found = verify([(program, streams) for program in first.values()], every_sandbox)
    assert {name: one for name, one in zip(first, found, strict=True) if one.status != "fail"} == {}


def test_no_stream_can_be_opened_again(every_sandbox: Sandbox) -> None:
    opens = (
        "import os\nfor number in range(6):\n  for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):\n"
        "    for place in ('self', 'thread-self', os.getpid(), os.getppid()):\n"
        "      try: os.open(f'/proc/{place}/fd/{number}', flags | os.O_NONBLOCK)\n"
        "      except OSError: continue\n"
        "      print('REACHED', place, number, flags)\n"
        "for path in ('/dev/stdin', '/dev/stdout', '/dev/fd/0'):\n"
        "  try: print('REACHED', open(path))\n"
        "  except OSError: pass\n"
        "print('END')\n"
    )
    (ran,) = every_sandbox.map([Execution(opens, b"given", SOON)])
    assert (ran.status, ran.output) == ("exit", b"END\n"), ran


def test_no_escape_succeeds_for_any_user(every_sandbox: Sandbox, canaries: Canaries) -> None:
    tried = [one for one in OUTSIDE if one.limits.narrow]
    found = every_sandbox.map([Execution(canaries.program(one.program), one.input, one.limits) for one in tried])
    for one, ran in zip(tried, found, strict=True):
        assert ran.output.endswith(b"END\n") and b"refused" in ran.output, (one.name, ran)
        assert b"REACHED" not in ran.output and canaries.secret.encode() not in ran.output + ran.errors, (one.name, ran)
    assert canaries.harmed() == []


def test_every_level_runs_the_python_of_its_trainer(every_sandbox: Sandbox) -> None:
    """Also the sources of the standard library are the same, of a module that is imported late."""
    looks = "import sys, wave, zlib\nprint(zlib.crc32(open(wave.__file__, 'rb').read()), sys.version)"
    (ran,) = every_sandbox.map([Execution(looks)])
    if isinstance(every_sandbox, Elsewhere):
        line = subprocess.run([*AS[every_sandbox.who], every_sandbox.python, "-c", looks], capture_output=True).stdout
    else:
        line = subprocess.run([sys.executable, "-c", looks], capture_output=True, check=True).stdout
    assert (ran.status, ran.output) == ("exit", line), ran


@pytest.mark.parametrize("who", OTHERS)
def test_the_canary_of_a_group_is_open_to_the_group_alone(who: Who, canaries: Canaries) -> None:
    """Else that no program reads it would say nothing."""
    if said := cannot(who):
        pytest.skip(said)
    command = [*AS[who], "cat", str(canaries.grouped)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (canaries.secret in done.stdout) == (who == "a user in groups"), done


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("who", [OTHERS[1], pytest.param(OTHERS[0], marks=pytest.mark.deep)])
def test_the_probe_holds_for_login_users(level: Level, who: Who) -> None:
    if said := cannot(who):
        pytest.skip(f"{level} of {who}: {said}")
    if not probed(level).holds:
        pytest.skip(f"{level} does not hold here: {'; '.join(probed(level).problems)}")
    elsewhere = Elsewhere(level, who)
    try:
        found = elsewhere.probe()
    finally:
        elsewhere.close()
    assert found.problems == ()
    assert dict(found.facts)["level"] == level
