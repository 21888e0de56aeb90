"""A run that has no memory left: it ends with what would need less, and goes on with that from its last checkpoint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from small_runs import Shell, came_to, make_model, steps_of, train_line
from test_restarts import losing

from assay.run.out_of_memory import ran_out


@pytest.mark.slow
def test_a_run_without_memory_ends_with_what_would_need_less_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, model = Shell(capsys), make_model(tmp_path / "model")
    assert shell(*train_line(model, tmp_path / "calm", saving_every=1)).code == 0
    with monkeypatch.context() as patch:
        full: Exception = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        losing(patch, {3: 1}, full, saved=True)
        ended = shell(*train_line(model, tmp_path / "run", saving_every=1))
    assert ended.code == 75 and "this machine has no memory left, although" in ended.err
    assert re.search(r"machine\.(micro_tokens|cache_mb) \d+ .*GiB", ended.err), ended.err
    assert f"assay resume {tmp_path / 'run'} --machine" in ended.err and "from the last checkpoint" in ended.err
    assert "scale." not in ended.err[ended.err.index("has no memory left") :], "what is learnt cannot change"
    assert shell("resume", tmp_path / "run", "--machine.checkpointing", "on").code == 0
    assert steps_of(tmp_path / "run") == [1, 2, 3, 4] and came_to(tmp_path / "run") == came_to(tmp_path / "calm")


def test_what_is_no_want_of_memory_is_raised_as_it_was() -> None:
    assert ran_out(torch.OutOfMemoryError("CUDA")) and ran_out(MemoryError())
    assert ran_out(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"))
    assert not ran_out(RuntimeError("CUDA error: an illegal memory access")) and not ran_out(ValueError())
