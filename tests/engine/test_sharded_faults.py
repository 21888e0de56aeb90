"""A rank that dies, hangs or fails is named within its deadline, and no process of a group outlives its driver."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engine_cases import batch_of, model_of, rows_of
from listening import doors

from assay.engine.interface import Want
from assay.engine.sharded.engine import ShardedLearner
from assay.engine.sharded.rank import interface_towards
from assay.engine.sharded.ranks import RankFailed, RankLayout, RankLost, Ranks

pytestmark = pytest.mark.slow
BATCH = batch_of(*rows_of([5, 1, 9, 3, 7]))
PATIENCE = 10.0


def pids(group: Ranks) -> list[int]:
    return [facts["pid"] for facts in group.facts]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.turns(3)
def test_a_rank_that_dies_is_named_and_takes_the_group_with_it() -> None:
    with Ranks(RankLayout(size=2, deadline=60)) as group:
        learner = ShardedLearner(group, "policy", model_of("qwen2"), precision="fp32")
        os.kill(pids(group)[1], signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(RankLost, match="rank 1 of 2 was ended by SIGKILL"):
            for wave in learner.chunks(BATCH, tokens=20):
                learner.forward(wave, Want())
        assert time.monotonic() - began < PATIENCE
        with pytest.raises(RankLost, match="rank 1 of 2 was ended by SIGKILL"):
            learner.step(lr=1e-3, clip=None)
        assert all(map(gone, pids(group)))


@pytest.mark.turns(3)
def test_a_rank_that_is_stopped_is_named_within_its_deadline() -> None:
    with Ranks(RankLayout(size=2, deadline=4)) as group:
        learner = ShardedLearner(group, "policy", model_of("qwen2"), precision="fp32")
        os.kill(pids(group)[0], signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(RankLost, match=r"rank 0 of 2 has not answered for 4 s \(machine.deadline\)"):
            list(learner.tensors())
        assert time.monotonic() - began < 4 + PATIENCE
        assert all(map(gone, pids(group)))


@pytest.mark.turns(3)
def test_a_rank_that_fails_is_told_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Ranks(RankLayout(size=2, deadline=60)) as group:
        ShardedLearner(group, "policy", model_of("qwen2"), precision="fp32")
        with pytest.raises(RankFailed, match=r"rank 0 of 2 failed: AttributeError.*'fly'"):
            group.call("do", "policy", "fly")
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["", "lo"])
def test_ranks_listen_to_each_other_alone_and_leave_nothing(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They find each other by a file that only this user opens, and have no port but gloo's."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", named)
    if not named:
        monkeypatch.delenv("GLOO_SOCKET_IFNAME")
    with Ranks(RankLayout(size=2, deadline=60)) as group:
        found = doors(pids(group))
        assert len(found) == 2 and all(door.on_loopback for door in found), found
        assert stat.S_IMODE(group.meeting.stat().st_mode) == 0o700
    assert not group.meeting.exists()


def test_the_interface_towards_a_host_is_that_of_the_way_to_it() -> None:
    assert interface_towards("127.0.0.1") == interface_towards("127.0.0.9") == "lo"


def test_ranks_end_with_a_driver_that_is_killed() -> None:
    program = (
        "import time; from assay.engine.sharded.ranks import RankLayout, Ranks; "
        "group = Ranks(RankLayout(size=2, deadline=60)); "
        "print(*[facts['pid'] for facts in group.facts], flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        found = [int(pid) for pid in driver.stdout.readline().split()]
        assert len(found) == 2 and not any(map(gone, found))
        driver.kill()
        end = time.monotonic() + 15
        while not all(map(gone, found)) and time.monotonic() < end:
            time.sleep(0.05)
        assert all(map(gone, found))
