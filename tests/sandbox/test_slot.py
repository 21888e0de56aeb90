"""A run from its fork to its first instruction: what is ours until the program begins, and its own from there on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from assay.sandbox import Execution, Limits, Ran, probed
from assay.sandbox.inside import zygote
from assay.sandbox.levels import LEVELS
from assay.sandbox.limits import Level
from assay.sandbox.pool import listen
from assay.sandbox.slot import Slot, SlotLost

pytestmark = pytest.mark.external("sandbox")


@pytest.fixture(params=LEVELS)
def slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    level: Level = request.param
    if not probed(level).holds:
        pytest.skip(f"{level} does not hold here: {'; '.join(probed(level).problems)}")
    one = Slot(level, number=0)
    yield one
    one.close()


def ended(slot: Slot) -> Ran | SlotLost:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for _, ran in listen([slot]):
            return ran
    raise AssertionError("the run goes on")


@pytest.mark.slow
def test_a_layer_that_cannot_be_put_on_is_an_error_of_ours_and_runs_nothing(slot: Slot) -> None:
    slot.user = -1  # no user, as which the process would stay what it is
    slot.begin(Execution("print('began')"))
    ran = ended(slot)
    assert isinstance(ran, SlotLost) and "could not be put on" in str(ran) and "began" not in str(ran)


@pytest.mark.slow
def test_no_time_counts_before_the_program_begins(slot: Slot) -> None:
    """A trainer that looks after a run late lets it begin late, and takes none of its seconds."""
    slot.begin(Execution("import time\ntime.sleep(0.3)\nprint('done')", limits=Limits(seconds=0.6)))
    assert slot.worked() == 0.0
    time.sleep(0.7)
    assert slot.worked() == 0.0 and slot.running is not None and slot.running.began is None
    ran = ended(slot)
    assert isinstance(ran, Ran) and (ran.status, ran.output) == ("exit", b"done\n")


@pytest.mark.slow
def test_a_program_cannot_begin_before_it_is_known_that_all_layers_are_on(slot: Slot) -> None:
    slot.begin(Execution("import os\nos.write(1, b'began')"))
    assert slot.running is not None
    (output,) = [number for number, place in slot.running.read.items() if place == 0]
    time.sleep(0.3)
    with pytest.raises(BlockingIOError):
        os.read(output, 9)
    ran = ended(slot)
    assert isinstance(ran, Ran) and ran.output == b"began"


@pytest.mark.slow
def test_a_sandbox_that_ends_before_the_program_begins_is_lost(slot: Slot) -> None:
    slot.begin(Execution("print(1)"))
    os.kill(slot._pid, 9)
    assert isinstance(ended(slot), SlotLost)


@pytest.mark.slow
def test_a_fork_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the threads of another program fill what the user may have, for some seconds."""
    answers = iter([BlockingIOError(11, "x"), BlockingIOError(11, "x"), 7])

    def fork() -> int:
        if isinstance(answer := next(answers), int):
            return answer
        raise answer

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(zygote.time, "sleep", lambda seconds: None)
    assert zygote._forked() == 7
    monkeypatch.setattr(zygote, "FORK_SECONDS", -1.0)
    answers = iter([BlockingIOError(11, "x")])
    with pytest.raises(BlockingIOError):
        zygote._forked()
