"""Worker processes: answers in order, deadlines that hold against C code, and nothing left behind however it ends."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import alive, gone
from small_runs import ROOT

from assay.errors import ConfigError
from assay.host.worker import Preparation
from assay.host.workers import TRIES, Workers

JOBS = "worker_jobs:answer"


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(JOBS, count=2, deadline=0.5, memory_mb=1024) as pool:
        yield pool


def pids(pool: Workers) -> list[int]:
    return [worker.process.pid for worker in pool._workers]


@pytest.mark.slow
def test_answers_come_in_the_order_of_the_jobs(workers: Workers) -> None:
    jobs = [["sleep", 0.05 * (i % 2)] if i % 3 == 0 else ["echo", i] for i in range(12)]
    found = workers.map(jobs)
    assert [outcome.result for outcome in found] == [None if i % 3 == 0 else i for i in range(12)]
    assert {outcome.status for outcome in found} == {"done"}
    assert workers.map([]) == []


@pytest.mark.slow
def test_signals_for_the_run_end_no_worker(workers: Workers) -> None:
    workers.map([["echo", 1]] * 4)
    before = pids(workers)
    for pid in before:
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGINT):
            os.kill(pid, number)
    time.sleep(0.2)
    assert [outcome.result for outcome in workers.map([["echo", i] for i in range(4)])] == [0, 1, 2, 3]
    assert pids(workers) == before


@pytest.mark.slow
def test_what_hangs_in_c_is_killed_and_the_rest_is_answered(workers: Workers) -> None:
    found = workers.map([["echo", 1], ["spin"], ["echo", 2], ["echo", 3]])
    assert [outcome.status for outcome in found] == ["done", "time", "done", "done"]
    assert [outcome.result for outcome in found] == [1, None, 2, 3]
    assert found[1].reached == "began ['spin']"


@pytest.mark.slow
def test_jobs_run_beside_each_other(workers: Workers, tmp_path: Path) -> None:
    """Each waits for the other: one after the other they would wait for ever."""
    found = workers.map([["meet", str(tmp_path), "one", "two"], ["meet", str(tmp_path), "two", "one"]])
    assert [outcome.result for outcome in found] == ["one met two", "two met one"]


@pytest.mark.slow
def test_the_clock_counts_work_and_not_waiting(workers: Workers) -> None:
    """A machine that is busy with other things makes every job wait: that is no fault of the job's."""
    (found,) = workers.map([["sleep", 1.0]], seconds=0.2)
    assert found.status == "done" and found.seconds < 0.2


@pytest.mark.slow
def test_a_job_that_is_never_given_a_processor_is_lost_and_not_late(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.host.workers.STARVED", 1)
    monkeypatch.setattr("assay.host.workers.PATIENCE", 0.5)
    assert workers.map([["sleep", 1e6]])[0].status == "lost"


@pytest.mark.slow
def test_a_job_that_eats_memory_is_stopped_by_its_limit(workers: Workers) -> None:
    found = workers.map([["eat"], ["echo", 1]])
    assert [outcome.status for outcome in found] == ["memory", "done"]


@pytest.mark.slow
def test_a_process_that_is_lost_is_tried_once_more(workers: Workers, tmp_path: Path) -> None:
    workers.map([["echo", 1]])
    before = workers.started
    found = workers.map([["die once", str(tmp_path / "mark")], ["die"], ["echo", 1]])
    assert [outcome.status for outcome in found] == ["done", "lost", "done"]
    assert found[0].result == "the second time"
    assert before + 2 <= workers.started <= before + 3  # each loss costs a process, the last one at the next call


@pytest.mark.slow
def test_an_exception_is_told_by_its_name_and_prints_are_no_answers(workers: Workers) -> None:
    workers.warm()
    before = workers.started
    raised, talked = workers.map([["raise"], ["talk"]])
    assert (raised.status, raised.detail) == ("error", "ZeroDivisionError")
    assert (talked.status, talked.result, talked.reached) == ("done", "true answer", "began ['talk']")
    assert workers.started == before


def test_workers_see_few_variables(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    (found,) = workers.map([["environment"]])
    assert "PATH" in found.result and "HF_TOKEN" not in found.result


@pytest.mark.slow
def test_a_job_meets_nothing_that_another_left_behind() -> None:
    """Neither in the process, nor in the seconds that it has."""
    with Workers(JOBS, count=1, deadline=0.5) as pool:
        found = pool.map([["remember", i] for i in range(5)] + [["spin"], ["remember", 5]])
        assert [one.result for one in found] == [[i] for i in range(5)] + [None, [5]]
        assert pool.started == 1, "a job that is out of time costs no process"


@pytest.mark.slow
def test_a_session_is_kept_where_the_record_says_so() -> None:
    with Workers(JOBS, count=1, keeps=True) as pool:
        assert [one.result for one in pool.map([["remember", 1], ["remember", 2]])] == [[1], [1, 2]]


@pytest.mark.slow
def test_a_job_on_which_a_library_gives_up_is_told_from_one_that_was_lost(workers: Workers) -> None:
    """It is tried twice: what the job itself does to its process is no accident of the machine."""
    found = workers.map([["crash"], ["echo", 1], ["die"]])
    assert [one.status for one in found] == ["crash", "done", "lost"]


@pytest.mark.slow
def test_a_clock_is_not_renewed_by_reports() -> None:
    with Workers(JOBS, count=1, deadline=0.3) as pool:
        (found,) = pool.map([["work and tell", 0.2, 4]])
    assert (found.status, found.reached) == ("time", "1")


@pytest.mark.slow
def test_the_preparation_of_a_job_has_seconds_of_its_own() -> None:
    with Workers(JOBS, count=1, deadline=0.3, preparation=Preparation("2", 2.0)) as pool:
        found = pool.map([["work and tell", 0.2, 4], ["work and tell", 0.2, 3], ["spin"]])
    assert [(one.status, one.reached) for one in found] == [("time", "3"), ("done", "2"), ("time", "began ['spin']")]


@pytest.mark.slow
def test_the_seconds_of_a_job_are_also_those_of_its_programs() -> None:
    """Two programs of 0.4 s each are too much for 0.5 s; either alone is not."""
    with Workers(JOBS, count=1, deadline=0.5) as pool:
        one, two = pool.map([["run", 0.4, 1], ["run", 0.4, 3]])
    assert one.result == ["done"] and two.result[0] == "done" and two.result[-1] == "time"


@pytest.mark.slow
def test_closing_leaves_no_process(workers: Workers) -> None:
    workers.map([["echo", 1]])
    left = pids(workers)
    workers.close()
    assert left and not any(alive(pid) for pid in left)
    assert workers.map([["echo", 2]])[0].result == 2  # and it can be asked again


def test_an_interrupt_while_waiting_ends_the_workers(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    workers.map([["echo", 1]])
    left = pids(workers)

    def interrupted(most: float) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "_patience", interrupted)
    with pytest.raises(KeyboardInterrupt):
        workers.map([["sleep", 60]])
    assert not any(alive(pid) for pid in left)


# --- handed in now, fetched later ---------------------------------------------------------------------------


def job_and_outcome(number: int, folder: Path) -> tuple[list[object], tuple[str, object]]:
    """A job by its number, and the status and result that it ends with however the calls are interleaved."""
    if number % 7 == 3:
        return ["raise"], ("error", None)
    if number % 13 == 5:
        return ["die"], ("lost", None)
    if number % 13 == 9:
        return ["die once", str(folder / f"mark {number}")], ("done", "the second time")
    return ["echo", number], ("done", number)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_outcomes_do_not_depend_on_the_order_of_the_calls(workers: Workers, tmp_path: Path, seed: int) -> None:
    """The pool is called at random; every ticket ends as its job does when it is asked alone."""
    draw = random.Random(seed)
    wanted: dict[int, tuple[str, object]] = {}
    numbers = iter(range(30))
    left = True
    while left or wanted:
        deed = draw.choice(["submit", "submit", "poll", "collect", "map"])
        if deed == "submit" and (number := next(numbers, None)) is not None:
            job, outcome = job_and_outcome(number, tmp_path)
            wanted[workers.submit(job)] = outcome
            left = number < 29
        elif deed == "poll":
            assert workers.poll() <= set(wanted)
        elif deed == "map":
            assert [one.result for one in workers.map([["echo", "a"], ["echo", "b"]])] == ["a", "b"]
        elif deed == "collect" and wanted:
            chosen = draw.sample(sorted(wanted), draw.randint(1, len(wanted)))
            found = workers.collect(chosen)
            assert [(one.status, one.result) for one in found] == [wanted.pop(ticket) for ticket in chosen]
    assert workers.poll() == set()


@pytest.mark.slow
def test_jobs_go_on_while_the_caller_does_something_else(workers: Workers, tmp_path: Path) -> None:
    """The caller's own work is what the job waits for: had `submit` waited for the job, both would wait for ever."""
    ticket = workers.submit(["meet", str(tmp_path), "job", "caller"])
    assert ticket not in workers.poll()
    while not (tmp_path / "job").exists():
        assert ticket not in workers.poll()
        time.sleep(0.01)
    (tmp_path / "caller").touch()
    assert workers.collect([ticket])[0].result == "job met caller"


@pytest.mark.slow
def test_polling_alone_brings_everything_to_its_end(workers: Workers) -> None:
    tickets = [workers.submit(["echo", number]) for number in range(9)]
    while not set(tickets) <= workers.poll():
        time.sleep(0.005)
    assert [one.result for one in workers.collect(tickets[::-1])] == list(range(9))[::-1]


@pytest.mark.slow
def test_a_deadline_holds_for_jobs_that_nobody_waits_for(workers: Workers) -> None:
    slow = workers.submit(["spin"], seconds=0.1)
    quick = workers.submit(["echo", 1], seconds=0.1)
    while slow not in workers.poll():
        time.sleep(0.01)
    assert [one.status for one in workers.collect([slow, quick])] == ["time", "done"]


@pytest.mark.slow
def test_a_ticket_is_collected_once(workers: Workers) -> None:
    ticket = workers.submit(["echo", 1])
    for wrong in ([ticket, ticket], [ticket + 1]):
        with pytest.raises(ValueError, match="collected once"):
            workers.collect(wrong)
    assert workers.collect([ticket])[0].result == 1
    with pytest.raises(ValueError, match="collected once"):
        workers.collect([ticket])
    lost = workers.submit(["echo", 2])
    workers.close()
    with pytest.raises(ValueError, match="before the pool is closed"):
        workers.collect([lost])
    assert workers.collect([]) == [] and workers.poll() == set()


@pytest.mark.slow
def test_after_an_interrupt_the_jobs_of_others_are_done(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [workers.submit(["sleep", 0.1]), workers.submit(["echo", 7]), workers.submit(["echo", 8])]

    def interrupted(most: float) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(workers, "_patience", interrupted)
        with pytest.raises(KeyboardInterrupt):
            workers.map([["echo", "never"]])
    assert [one.result for one in workers.collect(others)] == [None, 7, 8]
    assert workers.poll() == set() and not workers._jobs, "the job of the interrupted call is forgotten"


@pytest.mark.slow
def test_a_process_that_is_killed_between_calls_costs_a_try_and_no_outcome(workers: Workers) -> None:
    workers.map([["echo", 1]])
    tickets = [workers.submit(["sleep", 0.3]), workers.submit(["sleep", 0.3])]
    os.kill(pids(workers)[0], signal.SIGKILL)
    assert [one.status for one in workers.collect(tickets)] == ["done", "done"]


@pytest.mark.slow
def test_a_process_that_is_killed_as_it_starts_is_replaced() -> None:
    with Workers(JOBS, count=2) as pool:
        pool.warm()
        os.kill(pids(pool)[0], signal.SIGKILL)
        assert [one.status for one in pool.map([["echo", 1]] * 2)] == ["done", "done"]
        assert pool.started == 3


@pytest.mark.slow
def test_processes_that_are_killed_whenever_they_start_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "doomed_jobs.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with Workers("doomed_jobs:answer", count=1) as pool:
        with pytest.raises(ConfigError, match=r"did not start \(exit code -9\)"):
            pool.map([["echo", 1]])
        assert pool.started == 1 + TRIES


@pytest.mark.slow
def test_a_long_answer_that_was_not_heard_for_long_is_not_lost(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fills the pipe and stays there until the caller comes back, later than the job may take by the clock."""
    workers.map([["echo", 1]])
    monkeypatch.setattr("assay.host.workers.STARVED", 0)
    monkeypatch.setattr("assay.host.workers.PATIENCE", 0.3)
    before = workers.started
    ticket = workers.submit(["echo", "x" * 1_000_000])
    time.sleep(0.5)
    (found,) = workers.collect([ticket])
    assert (found.status, len(found.result or "")) == ("done", 1_000_000)
    assert workers.started == before, "no process was taken for lost"


@pytest.mark.parametrize(
    ("function", "words"),
    [("no_such_module:answer", "No module named 'no_such_module'"), ("worker_jobs:nothing", "has no attribute")],
)
@pytest.mark.slow
def test_workers_that_cannot_start_say_why(function: str, words: str) -> None:
    with Workers(function, count=1) as pool, pytest.raises(ConfigError, match="did not start") as caught:
        pool.map([["echo", 1]])
    assert words in str(caught.value)


PROGRAM = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started all of this with Ctrl-C ignored
from assay.host.workers import TRIES, Workers
pool = Workers("worker_jobs:answer", count=2, deadline={deadline})
pool.map([["echo", 1]] * 4)
print(*[worker.process.pid for worker in pool._workers], flush=True)
{end}
"""


def program(end: str, *, deadline: float = 0.5) -> subprocess.Popen[str]:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    text = PROGRAM.format(end=end, deadline=deadline)
    return subprocess.Popen(
        [sys.executable, "-c", text], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("end", ["sys.exit(3)", "raise RuntimeError('no')"])
def test_a_program_that_ends_takes_its_workers_with_it(end: str) -> None:
    process = program(end)
    out, _ = process.communicate(timeout=60)
    found = [int(pid) for pid in out.split()]
    assert len(found) == 2 and all(gone(pid) for pid in found)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_is_killed_leaves_no_worker_not_even_a_hanging_one(number: signal.Signals) -> None:
    """Idle ones read the end of their input; one that hangs runs into its limit of processor time."""
    process = program('pool.map([["spin"]])', deadline=0.5 if number == signal.SIGKILL else 60)
    assert process.stdout is not None and process.stderr is not None
    found = [int(pid) for pid in process.stdout.readline().split()]
    time.sleep(0.2)  # it hangs by now, or will
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does: to all of them
    else:
        process.kill()
    process.communicate(timeout=60)
    assert len(found) == 2 and all(gone(pid, within=60) for pid in found)
