"""What a study expects: the measures, written out by hand, and the verdicts on a declared smallest effect."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from assay.errors import DataError
from assay.lab.study import contrasts
from assay.lab.study.plan import Arm, Expected, Study, tasks_of
from assay.lab.study.results import Exam, Result
from assay.lab.study.table import expectation

CURVE = ((0, 0.0, 0.1), (10, 1000.0, 0.3), (20, 2000.0, 0.5))
SEEDS = range(5)


def result(arm: str, seed: int, right: tuple[int, ...], **changes: object) -> Result:
    """A run whose exam had 8 answers to each of some problems, of which so many were right."""
    names = tuple(f"problem {i}" for i in range(len(right)))
    exam = Exam({1: sum(right) / 8 / len(right)}, names, (8,) * len(right), right, length=20.0 + seed)
    made = Result(
        key="",
        arm=arm,
        task="countdown:3",
        seed=seed,
        rate=1.0,
        steps=20,
        planned=20,
        code="",
        seconds=1.0,
        measured="2026-01-01",
        spent={"generated_tokens": 2000.0},
        curve=CURVE,
        series={},
        before=None,
        after=exam,
        means={"policy/entropy": 0.5},
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def exam(run: Result) -> Exam:
    assert run.after is not None
    return run.after


def study(*expected: Expected) -> Study:
    return Study({"a": Arm("grpo"), "b": Arm("dapo")}, tasks_of(["countdown:3"]), expected=expected)


@pytest.mark.parametrize(
    ("score", "tokens"),
    [
        (0.1, 0.0),  # as high before training
        (0.2, 500.0),  # half of the way from 0.1 to 0.3
        (0.3, 1000.0),
        (0.4, 1500.0),
        (0.9, 2000.0),  # never: all that the run generated
    ],
)
def test_tokens_to_a_score_lie_on_the_line_between_two_exams(score: float, tokens: float) -> None:
    assert contrasts.tokens_to(result("a", 0, (4, 4)), score) == pytest.approx(tokens)


def test_measures_read_exams_curves_and_means() -> None:
    run = result("a", 3, (4, 8))
    found = {name: contrasts.measure_of(name)(run) for name in ("pass@1", "length", "tokens to .3", "policy/entropy")}
    assert found == pytest.approx({"pass@1": 0.75, "length": 23.0, "tokens to .3": 1000.0, "policy/entropy": 0.5})
    assert contrasts.measure_of("pass@64")(run) is None and contrasts.measure_of("unheard")(run) is None


def test_pass_at_k_is_paired_by_problem_and_by_seed() -> None:
    """Of 8 answers, 2 and 6 right: pass@2 is 1 - C(6,2)/C(8,2) = 13/28 and 1 - C(2,2)/C(8,2) = 27/28."""
    runs = [result("a", s, (6, 6)) for s in SEEDS] + [result("b", s, (2, 6)) for s in SEEDS]
    runs = [dataclasses.replace(run, after=dataclasses.replace(exam(run), passes={2: 0.0})) for run in runs]
    (seen,) = contrasts.seen(study(Expected("pass@2", "a", "b", "up")), runs)
    assert seen.difference is not None and seen.difference.mean == pytest.approx((27 / 28 - 13 / 28) / 2)
    assert (seen.difference.seeds, seen.difference.problems) == (5, 2)


def moved(gaps: tuple[float, ...], least: float, moves: str = "up") -> contrasts.Seen:
    """The verdict on a metric that differs by these gaps, one for each seed."""
    runs = [result("a", s, (4, 4), means={"m": 1.0 + gap}) for s, gap in enumerate(gaps)]
    runs += [result("b", s, (4, 4), means={"m": 1.0}) for s in range(len(gaps))]
    expected = Expected("m", "a", "b", moves, least)  # type: ignore[arg-type]
    (seen,) = contrasts.judged(contrasts.seen(study(expected), runs))
    return seen


@pytest.mark.parametrize(
    ("gaps", "least", "moves", "verdict"),
    [
        ((0.5, 0.6, 0.5, 0.4, 0.5), 0.3, "up", "as expected"),
        ((0.5, 0.6, 0.5, 0.4, 0.5), 0.3, "down", "the opposite"),
        ((-0.5, -0.6, -0.5, -0.4, -0.5), 0.3, "down", "as expected"),
        ((0.1, 0.11, 0.1, 0.09, 0.1), 0.3, "up", "smaller than expected"),
        ((0.5, -0.6, 0.5, -0.4, 0.9), 0.3, "up", "undecided"),
        ((0.5,), 0.3, "up", "undecided"),
    ],
)
def test_a_verdict_needs_the_direction_and_the_size(
    gaps: tuple[float, ...], least: float, moves: str, verdict: str
) -> None:
    assert moved(gaps, least, moves).verdict == verdict


def test_holm_corrects_all_that_is_judged_together_and_nothing_else() -> None:
    runs = [result("a", s, (4, 4), means={"m": 1.5 + s / 10, "n": 1.4 + s / 9}) for s in SEEDS]
    runs += [result("b", s, (4, 4), means={"m": 1.0, "n": 1.0}) for s in SEEDS]
    expected = (Expected("m", "a", "b", "up", 0.1), Expected("n", "a", "b", "up", 0.1), Expected("m", "a", "b", "up"))
    one, two, said = contrasts.judged(contrasts.seen(study(*expected), runs))
    raw = [seen.difference.p for seen in (one, two) if seen.difference]
    assert one.p == pytest.approx(2 * min(raw)) and two.p == pytest.approx(max(2 * min(raw), max(raw)))
    assert said.p is None and "undecided" not in expectation(said) and "counts; p" in expectation(one)


def test_a_task_of_its_own_and_what_is_refused() -> None:
    runs = [result(arm, s, (4, 4)) for arm in "ab" for s in SEEDS]
    assert not contrasts.seen(study(Expected("policy/entropy", "a", "b", "up", task="mod-chain:2")), runs)
    for metric, least, task, words in (
        ("pass@x", 0.1, "", "no measure"),
        ("tokens to 40", 0.1, "", "no measure"),
        ("pass@1", -1.0, "", "smallest effect"),
        ("pass@1", 0.1, "bool:5", "no task of the study"),
    ):
        with pytest.raises(DataError, match=words):
            contrasts.check(Expected(metric, "a", "b", "up", least, task), ["countdown:3"])


def test_a_file_may_say_the_smallest_effect(tmp_path: Path) -> None:
    from assay.lab.study import read

    path = tmp_path / "one.toml"
    path.write_text(
        'tasks = ["countdown:3"]\nseeds = 2\nrecipes = ["grpo", "dapo"]\n[[expected]]\nmetric = "pass@64"\n'
        'arm = "dapo"\nagainst = "grpo"\nmoves = "up"\nleast = 0.05\ntask = "countdown:3"\n'
        'claim = "wider clips keep more ways"\n'
    )
    (one,) = read(path).expected
    assert one == Expected("pass@64", "dapo", "grpo", "up", 0.05, "countdown:3", "wider clips keep more ways")
    path.write_text(path.read_text().replace("least", "leest"))
    with pytest.raises(DataError, match="least = NUMBER"):
        read(path)
