"""What a study expects: the measures, written out by hand, and the verdicts on a declared smallest effect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from assay.errors import DataError
from assay.lab.study import contrasts
from assay.lab.study.plan import Arm, Expected, Study, tasks_of
from assay.lab.study.results import Exam, Result
from assay.lab.study.table import expectation
from assay.scoring.inference import Effect

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
    return replace(made, **changes)  # type: ignore[arg-type]


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
    runs = [replace(run, after=replace(exam(run), passes={2: 0.0})) for run in runs]
    (seen,) = contrasts.seen(study(Expected("pass@2", "a", "b", "up")), runs, {})
    effect = seen.conclusion.estimate
    assert isinstance(effect, Effect) and effect.mean == pytest.approx((27 / 28 - 13 / 28) / 2)
    assert (effect.seeds, effect.problems, effect.bounds) == (5, 2, (-1.0, 1.0))


def moved(gaps: tuple[float, ...], least: float, moves: str = "up") -> contrasts.Seen:
    """The verdict on a metric that differs by these gaps, one for each seed."""
    runs = [result("a", s, (4, 4), means={"m": 1.0 + gap}) for s, gap in enumerate(gaps)]
    runs += [result("b", s, (4, 4), means={"m": 1.0}) for s in range(len(gaps))]
    expected = Expected("m", "a", "b", moves, least)  # type: ignore[arg-type]
    (seen,) = contrasts.seen(study(expected), runs, {})
    return seen


@pytest.mark.parametrize(
    ("gaps", "least", "moves", "verdict"),
    [
        ((0.5, 0.6, 0.5, 0.4, 0.5), 0.2, "up", "SUPPORTED"),
        ((0.5, 0.6, 0.5, 0.4, 0.5), 0.2, "down", "REFUTED, the opposite"),
        ((-0.5, -0.6, -0.5, -0.4, -0.5), 0.2, "down", "SUPPORTED"),
        ((0.1, 0.11, 0.1, 0.09, 0.1), 0.3, "up", "REFUTED"),  # surely smaller than was said
        ((0.3, 0.5, 0.4, 0.2, 0.3), 0.3, "up", "UNDECIDED"),  # of the size that was said, and not surely larger
        ((0.5, 0.6, 0.5, 0.4, 0.5), 0.0, "up", "SUPPORTED"),
        ((-0.5, -0.6, -0.5, -0.4, -0.5), 0.0, "up", "REFUTED, the opposite"),
        ((0.5, 0.5, 0.5, 0.4), 0.3, "up", "NOT ENOUGH SEEDS: 4 of 5 at least"),
        ((0.5,), 0.3, "up", "NOT ENOUGH SEEDS: 1 of 5 at least"),
    ],
)
def test_a_verdict_needs_the_direction_and_the_size(
    gaps: tuple[float, ...], least: float, moves: str, verdict: str
) -> None:
    assert str(moved(gaps, least, moves).conclusion).partition(";")[0] == verdict


def test_all_that_a_study_is_asked_is_one_family() -> None:
    """One difference between the arms, and three things expected, of which one is said of a task that is not there."""
    runs = [result("a", s, (4, 4), means={"m": 1.5 + s / 10, "n": 1.4 + s / 9}) for s in SEEDS]
    runs += [result("b", s, (4, 4), means={"m": 1.0, "n": 1.0}) for s in SEEDS]
    expected = (Expected("m", "a", "b", "up", 0.1), Expected("n", "a", "b", "up"), Expected("gone", "a", "b", "up"))
    asked = study(*expected)
    assert str(asked.family) == "4 hypotheses, 1 differences from a and 3 expected" and asked.family.size == 4
    one, two = contrasts.seen(asked, runs, {})
    gaps = np.array([0.5 + s / 10 for s in SEEDS])
    raw = float(np.asarray(stats.ttest_1samp(gaps, 0.1), dtype=float)[1])
    assert one.conclusion.p == pytest.approx(4 * raw), "of the size that was said"
    assert "0.1 counts; p" in expectation(one) and "counts" not in expectation(two) and "SUPPORTED" in expectation(two)
    twice = replace(asked, tasks=tasks_of(["countdown:3", "countdown:4"]))
    assert twice.family.size == 2 * 4 and twice.changes.size == 2 * 2 * 2


def test_a_report_says_what_else_differs_between_two_arms() -> None:
    runs = [result(arm, s, (4, 4), means={"m": 1.0 + s / 10}) for arm in "ab" for s in SEEDS]
    arms = {"a": Arm("grpo", {"mechanism.objective.gate.high": "0.3"}), "b": Arm("grpo")}
    asked = replace(study(Expected("m", "a", "b", "up")), arms=arms)
    (seen,) = contrasts.seen(asked, runs, {})
    assert seen.apart == ("mechanism.objective.gate.high 0.3, beside 0.2",)
    assert "The recipe of a differs from that of b in: mechanism.objective.gate.high 0.3" in expectation(seen)
    same = replace(asked, arms={"a": Arm("grpo"), "b": Arm("grpo")})
    (alike,) = contrasts.seen(same, runs, {})
    assert alike.apart == () and "differs" not in expectation(alike)


@pytest.mark.parametrize(
    ("guessed", "word"),
    [
        ({2: 0.3}, "SUPPORTED"),
        ({2: 13 / 28 / 2 + 0.5, 1: 0.9}, "NO EVIDENCE"),  # the lower one is no better
        ({1: 0.9}, "SUPPORTED"),  # nothing is known of a guesser at two samples
        ({2: 0.0}, "SUPPORTED"),
    ],
)
def test_pass_at_k_of_what_is_no_better_than_a_blind_guesser_is_no_evidence(
    guessed: dict[int, float], word: str
) -> None:
    """b has 13/28 on half of the problems and all of the others."""
    runs = [result("a", s, (6, 8) * 30) for s in SEEDS] + [result("b", s, (2, 8) * 30) for s in SEEDS]
    means = {"a": (27 / 28 + 1) / 2, "b": (13 / 28 + 1) / 2}
    runs = [replace(run, after=replace(exam(run), passes={2: means[run.arm], 1: 0.5})) for run in runs]
    (seen,) = contrasts.seen(study(Expected("pass@2", "a", "b", "up")), runs, {"countdown:3": guessed})
    assert seen.conclusion.word == word
    if word == "NO EVIDENCE":
        assert seen.conclusion.p is None
        assert str(seen.conclusion) == f"NO EVIDENCE: a blind guesser has {guessed[2]:.3f} at 2"
    (first,) = contrasts.seen(study(Expected("pass@1", "a", "b", "up")), runs, {"countdown:3": {1: 0.9}})
    assert first.conclusion.word != "NO EVIDENCE", "a model that lost what it could is seen at one sample"


def test_a_task_of_its_own_and_what_is_refused() -> None:
    runs = [result(arm, s, (4, 4)) for arm in "ab" for s in SEEDS]
    assert not contrasts.seen(study(Expected("policy/entropy", "a", "b", "up", task="mod-chain:2")), runs, {})
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
