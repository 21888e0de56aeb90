"""Reward functions that print, exit, crash or never end: from files in a process of their own, from Python in ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from answers import answered, data_row
from data_files import jsonl, sums
from processes import gone
from small_runs import ROOT, Shell, came_to, make_model, steps_of, train_line

import assay
from assay.cli.main import main
from assay.errors import ConfigError, DataError, Stopped
from assay.record.folder import RunFolder
from assay.record.signals import StopFlag
from assay.run.configure import from_data, to_data
from assay.run.experiment import Experiment
from assay.verifiers.functions.grading import Grading
from assay.verifiers.functions.loading import Function, load
from assay.verifiers.functions.naming import parse

pytestmark = [pytest.mark.slow, pytest.mark.turns(2)]

EPISODES = [
    answered(data_row(7, answer="2"), "an answer"),
    answered(data_row(9, answer="3"), "another"),
]
HANGS = {
    "Python that goes round": "while True: pass",
    "a call that waits": "import time; time.sleep(1e6)",
    "C that asks for signals": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    "C that holds the interpreter": "sum(range(10 ** 13))",
}


def file_with(folder: Path, body: str, *, name: str = "f", head: str = "") -> Path:
    """A file with one function, which gives 1 to each answer behind `body`."""
    path = folder / "my.py"
    path.write_text(f"{head}\ndef {name}(completions, **kwargs):\n    {body}\n    return [1.0] * len(completions)\n")
    return path


def scorer(path: Path, *names: str, **settings: Any) -> Grading:
    return Grading(load([parse(f"{path}:{name}") for name in names or ("f",)]), **settings)


def refused(judge: Grading) -> str:
    with judge, pytest.raises(DataError) as caught:
        judge(EPISODES)
    assert caught.value.exit_code == 64
    return str(caught.value)


def child_of(judge: Grading) -> int:
    (process,) = judge._processes()
    assert process.child is not None
    return process.child.process.pid


# --- what is printed ----------------------------------------------------------------------------------------

LOUD = """
import os, subprocess, sys
print("on import")

def f(completions, **kwargs):
    print("printed \\x1b[31mred", flush=True)
    os.write(1, b"written\\n")
    subprocess.run(["echo", "from a child"])
    sys.stdout.close()
    return [1.0] * len(completions)
"""


def test_what_a_function_prints_is_heard_and_spoils_no_document(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud.py").write_text(LOUD)
    rows = jsonl(tmp_path / "rows.jsonl", sums(4))
    assert main(["data", "check", str(rows), "--reward", f"{tmp_path}/loud.py:f", "--json"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["reward"]["mean"] == 1.0
    assert err.splitlines() == ["on import", "printed \\x1b[31mred", "written", "from a child"]


def test_what_a_plugin_prints_spoils_no_document_either(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assay.host.offers.installed", lambda: ("an entry point",))
    monkeypatch.setattr("assay.known.others", lambda: [print("hello from a plugin")][:0])
    reply = Shell(capsys)("list", "tasks", "--json")
    assert reply.document and "hello from a plugin" in reply.err


def test_an_exit_in_the_middle_of_a_command_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("assay.host.offers.installed", lambda: ("an entry point",))
    monkeypatch.setattr("assay.known.others", lambda: sys.exit(0))
    reply = Shell(capsys)("list", "tasks", "--json")
    assert reply.code == reply.document["code"] == 70
    assert "SystemExit(0)" in reply.document["message"] and Path(__file__).name in reply.document["message"]


def test_an_exit_through_the_function_of_a_tracker_is_told_where_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = sys.exit

    def exit(code: int = 0) -> None:
        python(code)

    monkeypatch.setattr(sys, "exit", exit)
    monkeypatch.setattr("assay.host.offers.installed", lambda: ("an entry point",))
    monkeypatch.setattr("assay.known.others", lambda: sys.exit(3))
    line = exit.__code__.co_firstlineno + 5
    assert f"line {line} raised SystemExit(3)" in Shell(capsys)("list", "tasks", "--json").document["message"]


# --- exits and crashes --------------------------------------------------------------------------------------

ENDS = {
    "SystemExit": ("sys.exit(0)", "line 6 raised SystemExit: 0"),
    "an exit that Python does not see": ("os._exit(0)", "ended its process with exit code 0"),
    "a crash in C": ("ctypes.string_at(0)", "was ended by SIGSEGV"),
    "a kill, as for memory": ("os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
    "Ctrl-C of its own": ("raise KeyboardInterrupt", "line 6 raised KeyboardInterrupt: "),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_function_that_ends_its_process_is_named_with_the_row(case: str, tmp_path: Path) -> None:
    deed, what = ENDS[case]
    body = f"if 'another' in completions:\n        {deed}"
    message = refused(scorer(file_with(tmp_path, body, head="import ctypes, os, sys\n\n")))
    assert message.startswith(f"the reward function 'f' ({tmp_path}/my.py:f)")
    assert f"{what}, for line 9 of rows.jsonl" in message and "begins 'another'" in message


def test_a_process_that_was_killed_from_outside_is_asked_again_and_whoever_has_replied_is_not(tmp_path: Path) -> None:
    """The first call of `slow` ends as if memory had run out; `quick`, in a process of its own, has replied before."""
    calls, warned = tmp_path / "calls", list[str]()
    note = f"with open({str(calls)!r}, 'a') as file: file.write"
    (tmp_path / "quick.py").write_text(
        f"def quick(completions, **k):\n    {note}('q')\n    return [1.0] * len(completions)\n"
    )
    (tmp_path / "slow.py").write_text(
        "import os, time\n\ndef slow(completions, **k):\n"
        f"    while 'q' not in open({str(calls)!r}).read(): time.sleep(0.01)\n"
        f"    first = 's' not in open({str(calls)!r}).read()\n    {note}('s')\n"
        "    if first: time.sleep(0.2); os.kill(os.getpid(), 9)\n    return [0.5] * len(completions)\n"
    )
    calls.write_text("")
    functions = load([parse(f"{tmp_path}/{name}.py:{name}") for name in ("quick", "slow")])
    with Grading(functions, warn=warned.append) as judge:
        verdicts = judge(EPISODES)
    assert [verdict.scores for verdict in verdicts] == [{"quick": 1.0, "slow": 0.5}] * len(EPISODES)
    assert calls.read_text() == "qss"
    (line,) = warned
    assert "'slow'" in line and "was ended by SIGKILL; started again, it gave rewards for the same answers" in line


def test_a_crash_in_c_is_told_with_its_line(tmp_path: Path) -> None:
    assert "), line 4 was ended by SIGSEGV" in refused(
        scorer(file_with(tmp_path, "ctypes.string_at(0)", head="import ctypes\n"))
    )


def test_an_exit_of_a_function_of_python_is_named_and_ctrl_c_passes() -> None:
    def leaves(completions: list[str]) -> list[float]:
        raise SystemExit(0)

    def interrupted(completions: list[str]) -> list[float]:
        raise KeyboardInterrupt

    async def late(completions: list[str]) -> list[float]:
        raise SystemExit(0)

    for call in (leaves, late):
        message = refused(Grading((Function(call.__name__, call),)))
        assert "raised SystemExit: 0, for line 7 of rows.jsonl" in message
    with Grading((Function("interrupted", interrupted),)) as judge, pytest.raises(KeyboardInterrupt):
        judge(EPISODES)


@pytest.mark.parametrize("end", ["import os; os._exit(0)", "while True: pass"])
def test_a_file_that_does_not_come_to_an_end_when_imported_is_refused(end: str, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text(f"\n{end}\ndef f(completions): ...\n")
    with pytest.raises(ConfigError) as caught:
        load([parse(f"{tmp_path}/my.py:f")], seconds=3.0)
    assert str(caught.value).startswith(f"{tmp_path}/my.py")
    assert "while it was imported" in str(caught.value) or ", line 2: importing it took more" in str(caught.value)


@pytest.mark.parametrize("by", ["SIGKILL", "SIGSTOP"])
def test_a_process_that_is_hurt_while_it_imports_the_file_is_started_once_more(by: str, tmp_path: Path) -> None:
    path, mark = tmp_path / "my.py", tmp_path / "hurt"
    once = f"if not mark.exists():\n    mark.touch()\n    os.kill(os.getpid(), signal.{by})\n"
    head = f"import os, signal\nfrom pathlib import Path\nmark = Path({str(mark)!r})\n"
    path.write_text(f"{head}{once}\ndef f(completions):\n    return [1.0] * len(completions)\n")
    assert len(load([parse(f"{path}:f")], still=0.5)) == 1 and mark.exists()
    path.write_text("import os\nos.kill(os.getpid(), 9)\n\ndef f(completions): ...\n")
    with pytest.raises(ConfigError, match="was ended by SIGKILL while it was imported"):
        load([parse(f"{path}:f")])


# --- hanging ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", HANGS)
def test_a_function_that_never_ends_is_killed_and_named_with_row_and_line(case: str, tmp_path: Path) -> None:
    path = file_with(tmp_path, f"if 'another' in completions:\n        {HANGS[case]}")
    judge = scorer(path, limit=0.5)
    before = child_of(judge)
    message = refused(judge)
    assert message.startswith(f"the reward function 'f' ({path}:f), line ")
    assert " did not return within 0.5 s; asked of one answer alone it did not return within 1 s" in message
    assert "for line 9 of rows.jsonl" in message and "--reward-timeout" in message
    assert gone(before)


def test_a_process_that_somebody_stops_is_given_up_and_asked_again(tmp_path: Path) -> None:
    """It ends long before the time limit of a call, which is that of functions that work."""
    path, mark = file_with(tmp_path, "wait()"), tmp_path / "mark"
    path.write_text(
        f"import os, signal, pathlib\ndef wait():\n    if not os.path.exists({str(mark)!r}):\n"
        f"        pathlib.Path({str(mark)!r}).touch()\n        os.kill(os.getpid(), signal.SIGSTOP)\n{path.read_text()}"
    )
    said: list[str] = []
    judge = Grading(load([parse(f"{path}:f")], still=1.0), limit=300.0, warn=said.append)
    before, began = child_of(judge), time.monotonic()
    with judge:
        assert [verdict.kind for verdict in judge(EPISODES)] == ["", ""]
    assert time.monotonic() - began < 60 and gone(before)
    assert "stood still, stopped by a signal, for 1 s (machine.deadline); started again" in said[0]


def test_a_process_that_stops_itself_each_time_ends_the_run(tmp_path: Path) -> None:
    path = file_with(tmp_path, "os.kill(os.getpid(), signal.SIGSTOP)", head="import os, signal")
    began = time.monotonic()
    message = refused(Grading(load([parse(f"{path}:f")], still=0.5), limit=300.0))
    assert "'f'" in message and "stood still, stopped by a signal, for 0.5 s (machine.deadline)" in message
    head = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
    with pytest.raises(ConfigError, match=r"stood still, stopped by a signal, for 0\.5 s .* while it was imported"):
        load([parse(f"{file_with(tmp_path, 'pass', head=head)}:f")], still=0.5)
    assert time.monotonic() - began < 60


def test_among_functions_that_wait_together_the_one_that_hangs_is_named(tmp_path: Path) -> None:
    path = tmp_path / "my.py"
    path.write_text(
        "import asyncio\n\nasync def good(completions):\n    return [1.0] * len(completions)\n\n"
        "async def bad(completions):\n    await asyncio.sleep(1e6 * ('another' in completions))\n"
        "    return [1.0] * len(completions)\n"
    )
    message = refused(scorer(path, "good", "bad", limit=0.5))
    assert message.startswith("the reward function 'bad'") and "line 9 of rows.jsonl" in message


@pytest.mark.parametrize("case", ["Python that goes round", "a call that waits", "C that asks for signals"])
def test_a_function_of_python_that_never_ends_is_interrupted_and_named(case: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def f(completions):\n    if 'another' in completions:\n        {HANGS[case]}\n    return [1.0]\n", space)
    message = refused(Grading((Function("f", space["f"]),), limit=0.5))
    assert "'f' (<python>)" in message and "did not return within 1 s, for line 9 of rows.jsonl" in message


def test_a_function_of_python_that_waits_for_ever_is_named() -> None:
    async def f(completions: list[str]) -> list[float]:
        import asyncio

        await asyncio.Event().wait()
        return []

    assert "did not return within 1 s, for line 7 of rows.jsonl" in refused(Grading((Function("f", f),), limit=0.5))


def test_a_function_of_python_is_interrupted_in_any_thread() -> None:
    import threading

    def f(completions: list[str]) -> list[float]:
        while True:
            pass

    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(refused(Grading((Function("f", f),), limit=0.3))))
    thread.start()
    thread.join()
    assert "did not return within" in found[0]


IN_PYTHON = """
import sys
sys.path.insert(0, {tests!r})
from test_reward_processes import EPISODES
from assay.host.interrupt import asking
from assay.verifiers.functions.grading import Grading
from assay.verifiers.functions.loading import Function
from assay.record.signals import StopFlag

def f(completions):
    print("began", flush=True)
    {body}

with StopFlag() as stop, asking(stop.check):
    Grading((Function("f", f),), limit={limit})(EPISODES)
"""


def in_python(body: str, limit: float) -> subprocess.Popen[str]:
    text = IN_PYTHON.format(tests=str(Path(__file__).parent), body=body, limit=limit)
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    return subprocess.Popen(
        [sys.executable, "-c", text], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_function_of_python_that_nothing_interrupts_ends_the_program_with_64_by_name() -> None:
    process = in_python(HANGS["C that holds the interpreter"], limit=0.5)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 64
    assert "DataError: the reward function 'f' (<python>) did not return within 0.5 s" in err


# --- stopping -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", HANGS)
def test_a_stop_is_heard_while_a_function_of_a_file_hangs(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.host.interrupt import asking

    monkeypatch.setattr("assay.verifiers.functions.process.STOP_GRACE", 0.0)
    judge = scorer(file_with(tmp_path, HANGS[case]))
    before = child_of(judge)
    with StopFlag() as stop, asking(stop.check), judge:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped):
            judge(EPISODES)
    assert gone(before)


@pytest.mark.parametrize("case", HANGS)
def test_a_stop_ends_a_program_whose_own_function_hangs(case: str) -> None:
    process = in_python(HANGS[case], limit=1e5)
    assert process.stdout is not None and process.stdout.readline() == "began\n"
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    politely = case != "C that holds the interpreter"
    assert process.returncode == (1 if politely else -signal.SIGKILL)  # a traceback, or nothing but its last words
    assert ("Stopped by SIGTERM" if politely else "did not return when a stop was asked for") in err


def test_a_program_that_is_killed_leaves_no_function_behind(tmp_path: Path) -> None:
    path = file_with(tmp_path, "import os; print(os.getpid(), flush=True)\n    while True: pass")
    text = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_reward_processes import EPISODES, scorer\n"
        f"scorer(__import__('pathlib').Path({str(path)!r}))(EPISODES)"
    )
    env = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
    process = subprocess.Popen([sys.executable, "-c", text], env=env, text=True, stderr=subprocess.PIPE)
    assert process.stderr is not None
    child = int(process.stderr.readline())
    process.kill()
    process.communicate(timeout=60)
    assert gone(child)


# --- life in a process --------------------------------------------------------------------------------------


def test_functions_of_a_file_share_what_it_keeps_from_call_to_call(tmp_path: Path) -> None:
    path = tmp_path / "my.py"
    path.write_text(
        "import sys\n\nseen = []\n\ndef f(completions):\n    seen.extend(completions)\n"
        "    return [float(len(seen))] * len(completions)\n\ndef g(completions, prompts):\n"
        "    return [float('torch' in sys.modules)] * len(completions)\n"
    )
    with scorer(path, "f", "g") as judge:
        first, again = judge(EPISODES)[0].scores, judge(EPISODES)[0].scores
    assert (first, again) == ({"f": 2.0, "g": 0.0}, {"f": 4.0, "g": 0.0})


def test_what_one_function_of_a_file_changes_no_other_sees(tmp_path: Path) -> None:
    path = tmp_path / "my.py"
    path.write_text(
        "def f(prompts, answer):\n    prompts.clear()\n    answer[0] = 'x'\n    return [0.0, 0.0]\n\n"
        "def g(prompts, answer):\n    return [float(len(prompts)), float(answer[0])]\n"
    )
    with scorer(path, "f", "g") as judge:
        assert [verdict.scores["g"] for verdict in judge(EPISODES)] == [2.0, 2.0]


def test_functions_of_two_files_wait_together(tmp_path: Path) -> None:
    """Each waits for a file that the other writes: one after the other they would wait for ever."""
    text = (
        "import asyncio, pathlib\n\nasync def {me}(completions):\n    (pathlib.Path({folder!r}) / '{me}').touch()\n"
        "    while not (pathlib.Path({folder!r}) / '{other}').exists():\n        await asyncio.sleep(0.01)\n"
        "    return [1.0] * len(completions)\n"
    )
    for me, other in (("one", "two"), ("two", "one")):
        (tmp_path / f"{me}.py").write_text(text.format(me=me, other=other, folder=str(tmp_path / "marks")))
    (tmp_path / "marks").mkdir()
    with Grading(load([parse(f"{tmp_path}/{name}.py:{name}") for name in ("one", "two")])) as judge:
        assert judge(EPISODES)[0].scores == {"one": 1.0, "two": 1.0}


def test_what_is_logged_in_a_process_is_measured(tmp_path: Path) -> None:
    said: list[str] = []
    path = file_with(tmp_path, "kwargs['log_metric']('share', 0.5); kwargs['log_extra']('notes', ['a'])")
    with scorer(path, warn=said.append) as judge:
        judge(EPISODES)
        stats = judge.taken()
    assert stats["reward/logged/share"] == 0.5 and stats["time/reward/f"] >= 0
    assert len(said) == 1 and "log_extra('notes'" in said[0]


def test_closing_leaves_no_process(tmp_path: Path) -> None:
    path = file_with(tmp_path, "import subprocess; print(subprocess.Popen(['sleep', '1000']).pid)")
    with scorer(path) as judge:
        judge(EPISODES)
        child = child_of(judge)
    assert gone(child)


# --- what is no reward --------------------------------------------------------------------------------------

HOSTILE = {
    "the largest number": ("return [1e308, 1e308]", "gave 1e+308 for line 7 of rows.jsonl"),
    "one whose repr raises": (
        "return [1.0, type('Odd', (), {'__repr__': lambda self: 1 / 0})()]",
        "gave an object whose repr raises ZeroDivisionError, of type Odd for line 9 of rows.jsonl",
    ),
    "a list whose length raises": (
        "return type('Odd', (list,), {'__len__': lambda self: 1 / 0})()",
        "gave a result that cannot be read (ZeroDivisionError: division by zero)",
    ),
    "an exception whose text raises": (
        "raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()",
        "raised Odd: (its text raises ZeroDivisionError), for a call with 2 answers",
    ),
    "an exception with a book in it": ("raise ValueError('x' * 10 ** 7)", "raised ValueError: xxx"),
    "a number that raises": (
        "import fractions; return [type('Odd', (fractions.Fraction,), {'__float__': lambda self: 1 / 0})(1), 1]",
        "gave a result that cannot be read (ZeroDivisionError: division by zero)",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("apart", [True, False])
def test_values_that_no_computation_survives_are_the_functions_fault(apart: bool, case: str, tmp_path: Path) -> None:
    body, what = HOSTILE[case]
    if apart:
        message = refused(scorer(file_with(tmp_path, body)))
    else:
        space: dict[str, Any] = {}
        exec(f"def f(completions):\n    {body}\n", space)
        message = refused(Grading((Function("f", space["f"]),)))
    assert what.replace("for a call with 2 answers", "for line 7") in message and len(message) < 4000


def test_a_weight_that_makes_a_reward_endless_is_told() -> None:
    def f(completions: list[str]) -> list[float]:
        return [1e10] * len(completions)

    message = refused(Grading((Function("f", f, 1e300),)))
    assert "gave 1e+10 with a weight of 1e+300 for line 7 of rows.jsonl" in message


# --- in a run -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


LATER = """
import os

def f(completions, trainer_state):
    if trainer_state.global_step == 2 and os.path.exists({mark!r}):
        {deed}
    return [float(len(c) % 3) for c in completions]
"""


@pytest.mark.parametrize("deed", ["os._exit(0)", "while True: pass", "raise SystemExit(0)"])
def test_a_run_goes_on_at_the_step_that_failed_when_its_function_is_mended(
    deed: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bit for bit as if nothing had happened, from the last step that was done, though no checkpoint was due."""
    mark, path, shell = tmp_path / "broken", tmp_path / "my.py", Shell(capsys)
    path.write_text(LATER.format(mark=str(mark), deed=deed))
    more = ["--reward", f"{path}:f", "--reward-timeout", "2", "--quiet", "--json"]
    assert shell(*train_line(model, tmp_path / "whole", *more, saving_every=100)).code == 0
    mark.touch()
    reply = shell(*train_line(model, tmp_path / "parts", *more, saving_every=100))
    assert reply.code == reply.document["code"] == 64
    assert "the reward function 'f'" in reply.document["message"] and "answer" in reply.document["message"]
    assert steps_of(tmp_path / "parts") == [1, 2]
    saved = RunFolder.read_only(tmp_path / "parts").load()
    assert saved is not None and saved.step == 2
    mark.unlink()
    assert shell("resume", tmp_path / "parts", "--reward-timeout", 20, "--quiet").code == 0
    whole, parts = came_to(tmp_path / "whole"), came_to(tmp_path / "parts")
    assert whole[0] == parts[0] and whole[1] == parts[1] and whole[2] == parts[2]
    document = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert document["experiment"]["reward_timeout"] == 20


def test_the_same_function_from_a_file_and_from_python_trains_the_same_weights(model: Path, tmp_path: Path) -> None:
    from small_runs import SIZES

    def f(completions: list[str], **_: Any) -> list[float]:
        return [float(len(c) % 3) for c in completions]

    path = tmp_path / "my.py"
    path.write_text("def f(completions, **_):\n    return [float(len(c) % 3) for c in completions]\n")
    settings = {name.replace("-", "_"): value for name, value in SIZES.items()}
    common = {"task": "countdown", "levels": (3,), "model": str(model), "quiet": True, "settings": settings}
    assay.train("grpo", run=tmp_path / "here", steps=3, reward=f, **common)
    assay.train("grpo", run=tmp_path / "apart", steps=3, reward=f"{path}:f", **common)
    here, apart = came_to(tmp_path / "here"), came_to(tmp_path / "apart")
    assert here[1] == apart[1] and here[2] == apart[2]


def test_a_run_from_before_there_was_a_limit_opens_with_the_usual_one() -> None:
    from assay.known import RECIPES
    from assay.source import Pool, Share

    old = to_data(Experiment(RECIPES["grpo"], "nowhere", Pool((Share("countdown", (3,)),))))
    assert old.pop("reward_timeout") == 300
    assert from_data(Experiment, old).reward_timeout == 300


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e9"])
def test_a_limit_that_is_none_is_refused(seconds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--reward", f"{file_with(tmp_path, 'pass')}:f", "--reward-timeout", seconds]
    reply = Shell(capsys)("train", "grpo", "--model", "nowhere", *arguments, "--run", tmp_path / "run", "--json")
    assert reply.code == 78 and "--reward-timeout" in reply.document["message"]


def test_one_watchdog_serves_all_calls() -> None:
    def f(completions: list[str]) -> list[float]:
        return [1.0] * len(completions)

    with Grading((Function("f", f),)) as judge:
        pids = []
        for _ in range(3):
            judge(EPISODES)
            assert judge._here is not None and judge._here.watchdog._process is not None
            pids.append(judge._here.watchdog._process.pid)
    assert len(set(pids)) == 1 and gone(pids[0])


def test_the_answer_that_is_named_has_the_fault_of_the_call(tmp_path: Path) -> None:
    """On the first answer alone the function raises, which is another fault than that of both together."""
    body = "if completions == ['an answer']: raise ValueError('alone')\n    os._exit(3)"
    message = refused(scorer(file_with(tmp_path, body, head="import os")))
    assert "'another'" in message and "exit" in message and "ValueError" not in message
