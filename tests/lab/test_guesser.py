"""The blind guesser: its chances by hand, on tasks with few answers, many answers, and rows of a file."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from studies import study_of

from assay.lab import guesser
from assay.lab.guesser import Guesser, blind, frequencies
from assay.lab.study import guesses
from assay.lab.study.plan import Arm, tasks_of
from assay.rng import Key
from assay.source import Pool, Share
from assay.tasks import task


def test_passes_are_those_of_guesses_with_replacement() -> None:
    found = Guesser((0.5, 0.0, 0.25), 1.0)
    assert found.passes([1, 2]) == pytest.approx({1: 0.25, 2: (0.75 + 0.0 + 1 - 0.75**2) / 3})


@pytest.mark.slow
def test_where_the_answers_are_residues_a_guess_is_their_frequency() -> None:
    """The answer of mod-chain is one of 7: a guess is right as often as the answer of the problem comes in training."""
    share = Share("mod-chain-7", (2,))
    pool, known = Pool((share,)), task("mod-chain-7")
    exam = pool.held_out(Key("exam", "test"), 24, "test")
    found, counts = blind(pool, exam), frequencies(known, share, 2, pool)
    assert set(counts) <= set("0123456") and counts.total() == guesser.DRAWS and found.tried == 1.0
    by_hand = [counts[known.wordings.solve(problem.spec).answer] / guesser.DRAWS for problem in exam]
    assert found.chances == pytest.approx(by_hand)
    assert found.passes([1])[1] == pytest.approx(1 / 7, abs=0.02)


@pytest.mark.slow
def test_an_answer_that_solves_other_problems_counts_for_them_and_rare_ones_for_none() -> None:
    """countdown: expressions of one training problem hardly solve another, and nearly all come once."""
    pool = Pool((Share("countdown", (3, 4)),))
    found = blind(pool, pool.held_out(Key("exam", "test"), 16, "test"))
    assert len(found.chances) == 16 and found.tried < 0.3 and max(found.chances) < 0.01


def test_what_was_made_is_kept_beside_the_results_and_made_anew_for_another_exam(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(tasks=tasks_of(["mod-chain-7:2"]), arms={"grpo": Arm("grpo"), "b": Arm("grpo")})
    assert guesses.known(study, tmp_path) == {}
    first = guesses.made(study, tmp_path)
    (file,) = tmp_path.rglob("guesser.json")
    assert (
        file == tmp_path / "results" / "mod-chain-7-2" / "guesser.json" and json.loads(file.read_text())["tried"] == 1
    )
    assert first["mod-chain-7:2"][1] == pytest.approx(1 / 7, abs=0.05)
    monkeypatch.setattr(guesser, "blind", lambda *_: pytest.fail("what is there was made again"))
    assert guesses.made(study, tmp_path) == guesses.known(study, tmp_path) == first
    other = dataclasses.replace(study, settings={**study.settings, "evaluation.final_problems": "9"})
    assert guesses.known(other, tmp_path) == {}
