"""Sessions of Python: what stays from cell to cell, the limits of a cell, and cells that would harm others."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.sandbox import Limits, Session
from assay.sandbox import session as sessions
from assay.sandbox.slot import SlotLost

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]


@pytest.fixture
def session() -> Iterator[Session]:
    with Session(Limits(seconds=0.5, memory_mb=256, output_kb=64)) as one:
        yield one


def said(session: Session, *cells: str) -> list[tuple[str, str, str]]:
    return [(told.output, told.error, told.ended) for told in map(session.ask, cells)]


def test_what_a_cell_defines_stays(session: Session) -> None:
    assert said(session, "def f(x):\n    return 2 * x", "import math; y = f(21)", "y", "print(y, end=';')\ny + 1") == [
        ("", "", ""),
        ("", "", ""),
        ("42\n", "", ""),
        ("42;43\n", "", ""),
    ]


def test_an_error_is_told_in_its_last_line_and_ends_nothing(session: Session) -> None:
    x, zero, none, syntax, end = said(
        session, "x = 1", "print(x)\nx / 0", "nothing", "x = (", "import sys; sys.exit(3)"
    )
    assert x == ("", "", "") and zero == ("1\n", "ZeroDivisionError: division by zero", "")
    assert none[1] == "NameError: name 'nothing' is not defined" and syntax[1].startswith("SyntaxError")
    assert end[1:] == ("SystemExit: 3", "") and said(session, "x") == [("1\n", "", "")]


def test_random_numbers_and_the_order_of_sets_are_those_of_every_session(session: Session) -> None:
    cell = "import random; print(random.random(), set('abcdefgh'), hash('a'))"
    with Session() as other:
        assert said(session, cell) == said(other, cell)


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("while True: pass", "time"),
        ("import time; time.sleep(60)", "time"),
        ("import re; re.match('(a+)+$', 'a' * 60 + 'b')", "time"),
        ("while True: print('endless')", "output"),
        ("import os; os._exit(0)", "left"),
        ("import os; os.abort()", "left"),
        ("import os; os.closerange(0, 64)", "left"),
        ("""import os; os.write(3, b'{"cell": 7, "error": ""}\\n')""", "left"),
        ("""import os; os.write(3, b'nonsense\\n')""", "left"),
        (
            "import os\nfor place in range(3, 64):\n    try: os.write(place, b'[' * 100)\n    except OSError: pass",
            "left",
        ),
    ],
)
def test_a_cell_that_ends_the_session_is_told_so_and_the_next_one_begins_anew(
    session: Session, cell: str, why: str
) -> None:
    session.ask("x = 1")
    told = session.ask(cell)
    assert told.ended == why and told.error
    assert said(session, "x", "7") == [("", "NameError: name 'x' is not defined", ""), ("7\n", "", "")]


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("import os\nwhile True: os.fork()", "PermissionError"),
        ("import subprocess; subprocess.run(['/bin/sh'])", "Error"),
        ("import os; os.kill(os.getppid(), 9)", "PermissionError"),
        ("import os; os.kill(1, 9)", "PermissionError"),
        ("import socket; socket.create_connection(('127.0.0.1', 80))", "PermissionError"),
        ("open('/etc/shadow').read()", "Error"),
        ("open('/tmp/written', 'w')", "Error"),
        ("import os; os.listdir('/proc')", "Error"),
        ("import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()", "RuntimeError"),
        ("x = bytearray(1 << 30)", "MemoryError"),
        ("input()", "EOFError"),
    ],
)
def test_what_would_reach_others_is_refused_and_the_session_goes_on(session: Session, cell: str, error: str) -> None:
    session.ask("x = 1")
    told = session.ask(cell)
    assert error in told.error and not told.ended
    assert said(session, "x") == [("1\n", "", "")]


def test_a_file_of_this_machine_is_not_read(session: Session, tmp_path: Path) -> None:
    place = tmp_path / "secret"
    place.write_text("secret")
    told = session.ask(f"print(open({str(place)!r}).read())")
    assert told.output == "" and "Error" in told.error


def test_what_looks_like_a_reply_is_what_was_printed(session: Session) -> None:
    line = '{"cell": 1, "error": ""}'
    assert said(session, f"print('{line}')", "3") == [(f"{line}\n", "", ""), ("3\n", "", "")]


def test_a_thread_that_a_cell_leaves_does_not_run_between_cells(session: Session) -> None:
    cell = "import threading\nn = 0\ndef count():\n    global n\n    while True: n += 1\n"
    session.ask(f"{cell}threading.Thread(target=count, daemon=True).start()")
    first = session.ask("n, __import__('time').process_time()").output
    threading.Event().wait(0.4)
    second = session.ask("n, __import__('time').process_time()").output
    assert float(second.split(", ")[1][:-2]) - float(first.split(", ")[1][:-2]) < 0.2


def test_sessions_that_others_push_aside_find_their_state_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ALIVE", 2)
    several = [Session() for _ in range(5)]
    for number, one in enumerate(several):
        assert said(one, f"x = {number}", "x += 10") == [("", "", "")] * 2
    assert sum(one.live is not None for one in several) == 2
    assert [one.ask("x").output for one in several] == [f"{10 + number}\n" for number in range(5)]
    for one in several:
        one.close()
        one.close()
    assert all(one.live is None for one in several)


def test_sessions_of_several_threads_share_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ALIVE", 2)
    found: list[str] = []

    def work(number: int) -> None:
        with Session() as one:
            one.ask(f"x = {number}")
            for _ in range(3):
                one.ask("x += 100")
            found.append(one.ask("x").output)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"{300 + number}\n" for number in range(6)]


def test_a_sandbox_that_ends_is_an_error_of_ours_and_the_state_is_found_again(session: Session) -> None:
    session.ask("x = 5")
    assert session.live is not None
    slot = session.live.slot
    os.kill(slot._pid, signal.SIGKILL)
    assert slot._process is not None and slot._process.wait(timeout=30) is not None
    with pytest.raises(SlotLost):
        session.ask("x")
    assert said(session, "x") == [("5\n", "", "")]


def test_a_long_cell_is_read_whole(session: Session) -> None:
    assert said(session, "#" + "a" * 200_000 + "\n3") == [("3\n", "", "")]
