"""Exams of tasks whose levels have few problems: what there is, said aloud; too few are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_runs import Shell, make_model, train_line

from assay.errors import DataError
from assay.record.folder import RunFolder
from assay.rng import Key
from assay.run.recorder import READ
from assay.source import FEWEST, Pool, Share


@pytest.mark.slow
def test_an_exam_has_what_the_levels_have() -> None:
    """Level 1 of `mod-chain-7` has eleven different problems in this split, whatever is asked for."""
    pool = Pool((Share("mod-chain-7", (1,)),))
    asked = pool.held_out(Key(0), 64, "test", least=FEWEST)
    assert FEWEST <= len(asked) < 64 and len({problem.id for problem in asked}) == len(asked)
    with pytest.raises(DataError, match=r"'mod-chain-7' has levels 1 to \d"):
        pool.held_out(Key(0), 64, "test")
    with pytest.raises(DataError, match="Ask for fewer, or add levels"):
        pool.held_out(Key(0), 64, "test", least=40)


def test_enough_are_never_cut_short() -> None:
    pool = Pool((Share("countdown", (3,)),))
    assert pool.held_out(Key(0), 20, "test", least=FEWEST) == pool.held_out(Key(0), 20, "test")


@pytest.mark.slow
def test_a_run_with_few_problems_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, run = make_model(tmp_path / "small"), tmp_path / "run"
    line = train_line(model, run, evaluation_final_problems=40)
    line[line.index("countdown:3")] = "mod-chain-7:1"
    line[line.index("--steps") + 1] = "1"
    reply = Shell(capsys)(*line)
    assert reply.code == 0, reply.err
    assert "different problems for 'test', of 40 that were asked for" in reply.err


@pytest.mark.slow
def test_exams_may_ask_for_other_levels_than_training(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model, run = make_model(tmp_path / "small"), tmp_path / "run"
    line = train_line(model, run, evaluation_levels=4, evaluation_final_problems=12)
    line[line.index("--steps") + 1] = "1"
    reply = Shell(capsys)(*line)
    assert reply.code == 0, reply.err
    folder = RunFolder.read_only(run)
    levels = {level for entry in folder.read("evals") for level in entry["tasks"]["countdown"]["levels"]}
    assert levels == {"4"} and "countdown:3" in line
    for entry in (entry for entry in folder.read("evals") if entry["set"] == "test"):
        assert len({one["problem"] for one in entry["read"]}) == READ < 12, "of the first problems, one answer each"
    line = train_line(model, tmp_path / "other", evaluation_levels=9)
    reply = Shell(capsys)(*line)
    assert reply.code == 64 and "'countdown' has levels 3 to 6, not 9" in reply.err
