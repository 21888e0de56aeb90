"""What a study says in the end, and how it is shown."""

from __future__ import annotations

import dataclasses
import io
import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from scipy import stats
from studies import SMALL, TASK, result_of, study_of

from assay.lab.study import analysis, markdown, page, progress, table
from assay.lab.study.charts import Line, chart
from assay.lab.study.plan import Arm, Expected, StudyRun
from assay.lab.study.results import Exam
from assay.scoring.inference import Effect

EASE = np.arange(40) % 4  # right answers of 8 to each problem


def findings_of(gains: Mapping[str, list[int]], *, ease: np.ndarray = EASE, **changes: Any) -> analysis.Findings:
    """Arms whose seeds have so many right answers more on every problem than `grpo`."""
    seeds = tuple(range(len(next(iter(gains.values())))))
    study = study_of(arms={name: Arm("grpo") for name in gains}, seeds=seeds, **changes)
    results = {
        StudyRun(arm, TASK, seed): result_of(arm, seed, ease + gain)
        for arm, of_seeds in gains.items()
        for seed, gain in enumerate(of_seeds)
    }
    return analysis.analyse(study, results)


def test_a_study_says_in_a_sentence_what_its_numbers_allow() -> None:
    gains = {"grpo": [0] * 5, "better": [2, 2, 3, 2, 2], "same": [0] * 5, "open": [2, 0, 1, 0, 1], "worse": [-1] * 5}
    found = findings_of(gains, ease=np.arange(400) % 4 + 1)
    of = {cell.arm: cell for cell in found.cells}
    better = of["better"].claim
    assert better.word == "BETTER" and better.effect is not None and better.effect.mean == pytest.approx(11 / 5 / 8)
    differences = np.array([2, 2, 3, 2, 2]) / 8
    raw = float(np.asarray(stats.ttest_1samp(differences, 0), dtype=float)[1])
    assert better.p == pytest.approx(4 * raw), "one of a family of four"
    low, high = stats.t.interval(1 - 0.05 / 4, 4, differences.mean(), stats.sem(differences))
    assert better.difference == pytest.approx({"mean": differences.mean(), "low": low, "high": high})
    assert [of[name].claim.word for name in ("same", "open", "worse")] == ["EQUAL", "UNDECIDED", "WORSE"]
    assert "better (+0.275" in found.conclusion and "is BETTER than grpo" in found.conclusion
    assert "worse (-0.125" in found.conclusion and "is WORSE than grpo" in found.conclusion
    assert "same is EQUAL to grpo within 0.02" in found.conclusion
    assert "open is UNDECIDED; " in found.conclusion and found.missing == 0
    assert of["grpo"].passes[1]["mean"] == pytest.approx(2.5 / 8) and list(of["grpo"].passes) == [1, 2, 4, 8]
    assert "One family of 4 hypotheses, 4 differences from grpo." in found.notes[1]


def test_of_three_seeds_nothing_is_said_of_methods() -> None:
    found = findings_of({"grpo": [0] * 3, "other": [2, 2, 3]})
    assert found.cell("other", TASK).claim.word == "NOT ENOUGH SEEDS"
    assert "NOT ENOUGH SEEDS for a word about other: 3, where 5 are the least" in found.conclusion
    assert "BETTER" not in markdown.text(found, "x") and "BETTER" not in page.page(found, "x")


def test_where_seeds_agree_it_is_problems_that_are_lacking() -> None:
    """Every seed gains on one of two problems and loses on the other: more seeds would say nothing new."""
    study = study_of(arms={"grpo": Arm("grpo"), "other": Arm("grpo")}, seeds=tuple(range(5)))
    right = {"grpo": np.array([4, 4, 4]), "other": np.array([6, 3, 4])}
    results = {StudyRun(arm, TASK, s): result_of(arm, s, right[arm]) for arm in right for s in range(5)}
    found = analysis.analyse(study, results)
    told = found.cell("other", TASK).claim.verdict
    assert told.startswith("UNDECIDED; ") and " problems would show 0.02" in told and "seeds" not in told
    assert f"other is {told}" in found.conclusion


def test_the_curve_of_the_base_stands_beside_those_of_the_arms() -> None:
    """The base solves 1, 2 and 3 of 8; trained, the likely problems are surer, and the rarest is lost."""
    study = study_of(arms={"grpo": Arm("grpo"), "other": Arm("grpo")}, seeds=tuple(range(5)))
    before, after = np.tile([1, 2, 3], 40), np.tile([0, 6, 8], 40)
    base = result_of("grpo", 0, before).after
    results = {StudyRun(arm, TASK, s): result_of(arm, s, after, before=base) for arm in study.arms for s in range(5)}
    found = analysis.analyse(study, results)
    assert found.bases[TASK][1]["mean"] == pytest.approx(2 / 8) and found.bases[TASK][8]["mean"] == 1.0
    change = found.cell("grpo", TASK).changes
    assert {k: one.found.mean for k, one in change.items()} == pytest.approx({1: 14 / 24 - 2 / 8, 8: -1 / 3})
    assert {k: one.word for k, one in change.items()} == {1: "BETTER", 8: "WORSE"}
    made = markdown.text(found, "x")
    assert "| k | base | grpo | other |" in made and "| 8 | 1.000 [" in made
    assert "pass@1 from the base | word at 1 | pass@8 from the base | word at 8 |" in made
    assert "a family of its own: 4 differences from the base" in made
    shown = page.page(found, "x")
    assert "base: 0.25 to 1" in shown and "pass@k beside the base" in shown
    assert analysis.as_json(found)["cells"][0]["changes"]["8"]["word"] == "WORSE"
    guessing = analysis.analyse(study, results, {TASK: {1: 0.02, 8: 0.7}})
    assert guessing.cell("grpo", TASK).changes[8].word == "NO EVIDENCE", "the arm has 2 / 3 at eight samples"
    told = markdown.text(guessing, "x")
    assert "| k | guesser | base | grpo | other |" in told and "| 8 | 0.700 | 1.000 [" in told
    assert "| 2 | - | " in told and "NO EVIDENCE: a blind guesser has 0.700 at 8" in told and "A blind guesser" in told
    assert "guesser: 0.02 to 0.7" in page.page(guessing, "x")
    alone = analysis.analyse(study, {run: dataclasses.replace(one, before=None) for run, one in results.items()})
    assert "base" not in table.passes(alone, TASK)[0] and not table.changes(alone, TASK)


def test_the_base_with_examples_stands_beside_the_arms_and_what_an_arm_has_beyond_it_gets_a_word() -> None:
    """With examples the base solves 4 of 8; one arm has 6 of 8 everywhere, the other 4 as well."""
    study = study_of(arms={"grpo": Arm("grpo"), "other": Arm("grpo")}, seeds=tuple(range(5)))
    base, shown = (result_of("grpo", 0, np.full(60, right)).after for right in (1, 4))
    right = {"grpo": np.full(60, 6), "other": np.full(60, 4)}
    results = {
        StudyRun(arm, TASK, s): result_of(arm, s, right[arm], before=base, examples=shown)
        for arm in right
        for s in range(5)
    }
    found = analysis.analyse(study, results)
    assert found.examples[TASK][1]["mean"] == 4 / 8 and found.bases[TASK][1]["mean"] == 1 / 8
    assert {k: one.found.mean for k, one in found.cell("grpo", TASK).beyond.items()} == {1: 2 / 8, 8: 0.0}
    assert [found.cell(arm, TASK).beyond[1].word for arm in right] == ["BETTER", "UNDECIDED"]
    assert [found.cell(arm, TASK).changes[1].word for arm in right] == ["BETTER", "BETTER"]
    told = markdown.text(found, "x")
    assert "| k | base | base with examples | grpo | other |" in told
    assert "| pass@1 from the base with examples | word at 1 |" in told
    assert "has brought out what the model knew" in told
    assert "base with examples: 0.5 to 1" in page.page(found, "x")
    assert analysis.as_json(found)["cells"][0]["beyond"]["1"]["word"] == "BETTER"
    without = findings_of({"grpo": [0] * 5, "other": [1] * 5})
    assert not any("with examples" in text for text in (markdown.text(without, "x"), page.page(without, "x")))


def test_a_report_says_whose_learning_rates_the_arms_have() -> None:
    def told(arms: dict[str, Arm], **settings: str) -> str:
        seeds = {StudyRun(name, TASK, s): result_of(name, s, np.arange(4)) for name in arms for s in (0, 1)}
        found = analysis.analyse(study_of(arms=arms, settings={**SMALL, **settings}), seeds)
        return next(note for note in found.notes if "earning rates" in note)

    own = {"grpo": Arm("grpo"), "other": Arm("grpo")}
    assert told(own) == "Learning rates are those that the profile laptop gives the recipes. Nobody tuned them."
    assert told(own, **{"scale.learning_rate": "1e-4"}) == (
        "The study sets the learning rates: 1e-4 for grpo and other. Nobody tuned them."
    )
    one = {"grpo": Arm("grpo"), "other": Arm("grpo", {"scale.learning-rate": "2e-4"})}
    assert (
        told(one)
        == "The study sets the learning rates: 2e-4 for other; grpo as the profile laptop has it. Nobody tuned them."
    )


@pytest.mark.parametrize(
    ("scores", "step"),
    [
        ([0.2, 0.4, 0.3, 0.1, 0.05], 30),  # below half of 0.4 from here on
        ([0.2, 0.4, 0.1, 0.3, 0.25], None),  # it came back
        ([0.2, 0.4, 0.1, 0.3, 0.19], 40),  # the first fall does not count
        ([0.2, 0.4, 0.2], None),  # half is not below half
        ([0.2, 0.0], None),  # examined before and after alone: nobody saw when
        ([0.2, 0.15, 0.12, 0.11], None),  # a loss, no collapse
        ([0.0, 0.0, 0.0], None),  # never good
        ([0.2, 0.02, 0.0, 0.0], 10),
    ],
)
def test_a_run_collapses_where_it_stays_below_half_of_its_best(scores: list[float], step: int | None) -> None:
    curve = tuple((10 * i, 100.0 * i, score) for i, score in enumerate(scores))
    assert result_of("rloo", 0, np.array([1]), curve=curve).collapsed == step


def test_a_report_says_which_arms_collapsed_and_when() -> None:
    found = findings_of({"grpo": [0, 0], "rloo": [1, 1]})
    assert "ollapsed" not in markdown.text(found, "x"), "no run was examined while it trained"
    steady, falls = ((0, 0.0, 0.2), (5, 1.0, 0.3), (9, 2.0, 0.4)), ((0, 0.0, 0.2), (5, 1.0, 0.05), (9, 2.0, 0.0))
    results = {run: dataclasses.replace(result, curve=steady) for run, result in found.results.items()}
    calm = analysis.analyse(found.study, results)
    assert "No run collapsed (held-out pass@1 stays below half of its best)." in markdown.text(calm, "x")
    results[StudyRun("rloo", TASK, 1)] = dataclasses.replace(results[StudyRun("rloo", TASK, 1)], curve=falls)
    told = analysis.analyse(found.study, results)
    sentence = "Collapsed (held-out pass@1 stays below half of its best): rloo in 1 of 2 seeds, by step 5."
    assert sentence in markdown.text(told, "x") and sentence in page.page(told, "x")
    assert analysis.as_json(told)["cells"][1]["collapsed"] == {0: None, 1: 5}


def test_an_arm_of_fewer_seeds_lacks_nothing_and_is_compared_where_it_has_some() -> None:
    study = study_of(arms={"grpo": Arm("grpo"), "coin": Arm("grpo", seeds=2)}, seeds=(0, 1, 2, 3))
    runs = [(run.arm, run.seed) for run in study.runs()]
    assert runs == [("grpo", 0), ("coin", 0), ("grpo", 1), ("coin", 1), ("grpo", 2), ("grpo", 3)]
    found = analysis.analyse(study, {run: result_of(run.arm, run.seed, np.arange(4)) for run in study.runs()})
    assert found.missing == 0 and found.cell("coin", TASK).seeds == (0, 1) and found.cell("grpo", TASK).seeds[-1] == 3


def test_missing_runs_are_said() -> None:
    found = findings_of({"grpo": [0, 0, 0], "other": [1, 1, 1]})
    partly = dict(list(found.results.items())[:-1])
    assert analysis.analyse(found.study, partly).missing == 1
    assert "1 runs are not done yet" in analysis.analyse(found.study, partly).conclusion


def test_uneven_budgets_and_other_code_are_said() -> None:
    found = findings_of({"grpo": [0, 0], "other": [1, 1]})
    changed = {
        run: dataclasses.replace(result, spent={"generated_tokens": 2000.0}, code="d") if run.arm == "other" else result
        for run, result in found.results.items()
    }
    notes = " ".join(analysis.analyse(found.study, changed).notes)
    assert "other generated 2,000 tokens a run and grpo 1,000" in notes and "different code" in notes


def test_scores_at_equal_tokens_are_read_on_the_lines_between_exams() -> None:
    """The other arm ends at 1,000 tokens; there the first stands at 0.25 + 0.05 and 0.3, half way to its next exam."""
    study = study_of(arms={"grpo": Arm("grpo"), "other": Arm("grpo")}, scores="equal-tokens")
    none = np.zeros(4)
    curves = {
        ("grpo", 0): ((0, 0.0, 0.1), (1, 500.0, 0.25), (2, 1500.0, 0.35)),
        ("grpo", 1): ((0, 0.0, 0.1), (1, 500.0, 0.2), (2, 1500.0, 0.4)),
        ("other", 0): ((0, 0.0, 0.1), (1, 1000.0, 0.25)),
        ("other", 1): ((0, 0.0, 0.1), (1, 1000.0, 0.15)),
    }
    results = {
        StudyRun(arm, TASK, seed): result_of(arm, seed, none, curve=curve, after=None)
        for (arm, seed), curve in curves.items()
    }
    found = analysis.analyse(study, results)
    gap = np.array([0.25 - 0.3, 0.15 - 0.3])
    low, high = stats.t.interval(0.95, 1, gap.mean(), stats.sem(gap))
    effect = found.cell("other", TASK).claim.effect
    assert isinstance(effect, Effect)
    assert (effect.mean, effect.low, effect.high) == pytest.approx((gap.mean(), max(low, -1.0), min(high, 1.0)))
    unseen = 1 - 0.05 ** (1 / 2)  # of two seeds that are alike
    after = found.cell("grpo", TASK).after
    assert after == pytest.approx({"mean": 0.3, "low": 0.3 * (1 - unseen), "high": 0.3 + 0.7 * unseen})
    assert "as many tokens as the one that ends first" in " ".join(found.notes)


def test_what_was_expected_is_held_against_the_means_of_the_runs() -> None:
    """Entropy 0.6, 0.5, 0.7 against 0.4, 0.55, 0.4: up in two of three seeds, by 0.15 on average."""
    expected = (Expected("policy/entropy", "other", "grpo", "up"), Expected("absent", "other", "grpo", "down"))
    found = findings_of({"grpo": [0, 0, 0], "other": [1, 1, 1]}, expected=expected)
    means = {"grpo": (0.4, 0.55, 0.4), "other": (0.6, 0.5, 0.7)}
    results = {
        run: dataclasses.replace(result, means={"policy/entropy": means[run.arm][run.seed]})
        for run, result in found.results.items()
    }
    found = analysis.analyse(found.study, results)
    (seen,) = found.seen
    assert (seen.agreeing, seen.seeds) == (2, 3) and seen.means == pytest.approx((0.6, 0.45))
    # one of three hypotheses: what is expected of the absent measure is counted too
    low, high = stats.t.interval(1 - 0.05 / 3, 2, 0.15, stats.sem([0.2, -0.05, 0.3]))
    assert seen.conclusion.word == "NOT ENOUGH SEEDS"
    assert (seen.conclusion.found.low, seen.conclusion.found.high) == pytest.approx((low, high))
    assert "policy/entropy goes up in other against grpo in 2 of 3 seeds" in table.expectation(seen)
    assert "policy/entropy goes up" in markdown.text(found, "first") and "policy/entropy goes up" in page.page(
        found, "x"
    )


def test_where_only_means_were_kept_intervals_are_over_seeds_alone() -> None:
    found = findings_of({"grpo": [0, 0, 0], "other": [1, 1, 1]})
    kept = {"grpo": (0.10, 0.12, 0.14), "other": (0.20, 0.25, 0.21)}
    results = {
        run: dataclasses.replace(result, before=None, after=Exam({1: kept[run.arm][run.seed], 16: 0.5 + run.seed / 10}))
        for run, result in found.results.items()
    }
    found = analysis.analyse(found.study, results)
    effect = found.cell("other", TASK).claim.effect
    assert isinstance(effect, Effect)
    assert (effect.mean, effect.problems) == (pytest.approx(0.1), 1)
    assert effect.chance(0.0) == pytest.approx(
        float(np.asarray(stats.ttest_1samp([0.10, 0.13, 0.07], 0), dtype=float)[1])
    )
    low, high = stats.t.interval(0.95, 2, 0.6, stats.sem([0.5, 0.6, 0.7]))
    assert found.cell("other", TASK).passes[16] == pytest.approx({"mean": 0.6, "low": low, "high": high})
    assert "only the mean is known" in " ".join(found.notes)


def test_a_report_in_markdown_ends_no_cell_and_begins_no_tag() -> None:
    found = findings_of({"grpo": [0, 0, 0], "a|b<i>": [2, 2, 2]}, expects="more", notes=("two\nlines",))
    made = markdown.text(found, "first")
    assert made.startswith("# first\n\nOn countdown:3, ") and "Expected: more." in made and "- two lines\n" in made
    row = next(line for line in made.splitlines() if line.startswith("| a"))
    assert row.startswith("| a\\|b&lt;i> | 3 | verifier | 0.438 | 0.438 [")
    heading = next(line for line in made.splitlines() if line.startswith("| method"))
    assert row.replace("\\|", "").count("|") == heading.count("|")


def test_every_table_names_the_judge_and_what_a_second_judge_says() -> None:
    """The verifier finds 0 to 3 of 8 answers right, 1.5 on average, and the reward of the user four more, 5.5."""
    own, study = "your reward graded", study_of(arms={"grpo": Arm("grpo"), "rloo": Arm("grpo")}, seeds=(0, 1, 2))
    graded = {"judge": "verifier", "others": {own: result_of("", 0, EASE + 4).after}}
    results = {run: result_of(run.arm, run.seed, EASE, **graded) for run in study.runs()}
    found = analysis.analyse(study, results)
    assert [cell.judge for cell in found.cells] == ["verifier"] * 2
    told = analysis.as_json(found)["cells"][0]
    assert told["after"]["mean"] == pytest.approx(1.5 / 8) and told["others"][own]["mean"] == pytest.approx(5.5 / 8)
    shown = table.table(found).splitlines()
    assert "judge" in shown[0] and all("verifier" in line for line in shown[1:3])
    assert f"pass@1 after training by {own} is grpo 0.688" in shown[-1] and ", rloo 0.688" in shown[-1]
    for text in (markdown.text(found, "first"), page.page(found, "first")):
        assert f"by {own} is grpo 0.688" in text and "verifier" in text


def test_results_of_different_judges_are_not_compared() -> None:
    study = study_of(arms={"grpo": Arm("grpo"), "rloo": Arm("grpo")}, seeds=(0, 1, 2))
    judges = {"grpo": "verifier", "rloo": "your reward graded"}
    found = analysis.analyse(
        study, {run: result_of(run.arm, run.seed, EASE, judge=judges[run.arm]) for run in study.runs()}
    )
    assert found.cell("rloo", TASK).claim.verdict == "evaluated with other sets, lengths, temperatures or judges"
    judges["rloo"] = ""  # a result of an earlier version, by the verifier
    found = analysis.analyse(
        study, {run: result_of(run.arm, run.seed, EASE, judge=judges[run.arm]) for run in study.runs()}
    )
    assert found.cell("rloo", TASK).claim.difference == pytest.approx({"mean": 0.0, "low": 0.0, "high": 0.0}, abs=0.1)


def test_progress_on_a_terminal_is_one_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    run = StudyRun("grpo", TASK, 1)
    with progress.progress(4) as told:
        panel = told.panel(run, 10)
        panel.phase("collect")
        told.drawn = -math.inf  # type: ignore[attr-defined]
        panel.update(5, {"reward/mean": 0.25})
        panel.note("warning: slow")
        told.panel(StudyRun("grpo", TASK, 2), 10).note("warning: slow")
        told.finished(run, result_of("grpo", 1, np.zeros(2)), seen=1)
    text = shown.getvalue()
    assert "0 of 4 runs" in text and "step 5 of 10" in text and "reward 0.25" in text
    assert text.count("warning: slow") == 1, "what several seeds have to say is said once"
    assert "1 of 4  grpo on countdown:3, seed 1  pass@1 0.110" in text


def test_a_band_is_student_s_interval_over_seeds_where_all_have_values() -> None:
    curves = [[(0.0, 1.0), (10.0, 2.0)], [(0.0, 1.5), (8.0, 3.0)], [(2.0, 0.0), (10.0, 1.0)]]
    made = page.band(curves)
    assert (made[0][0], made[-1][0]) == (2.0, 8.0)
    values = [1.2, 1.875, 0.0]  # at 2, on the lines between the points
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert made[0] == pytest.approx((2.0, np.mean(values), low, high))
    assert page.band([]) == () and page.band([curves[0]])[0] == pytest.approx((0.0, 1.0, 1.0, 1.0))


def test_a_chart_draws_every_line_and_says_what_is_absent() -> None:
    line = Line("a<b", ((1, 0.1, 0.0, 0.2), (2, 0.3, 0.2, 0.4)))
    drawn = chart([line, Line("none", ())], x="k", y="pass@k", log=True)
    assert drawn.count("<polyline") == 1 and "a&lt;b: 0.1 to 0.3" in drawn and "<script" not in drawn
    assert "no pass@k was recorded" in chart([Line("none", ())], x="k", y="pass@k")
    nan = Line("a", ((0.0, 1.0, math.nan, math.nan), (1.0, 2.0, 1.5, 2.5)))
    assert "nan" not in chart([nan], x="x", y="y").lower().replace("nan</title>", "")


def test_a_report_is_one_page_without_scripts_that_shows_names_as_text() -> None:
    found = findings_of({"grpo": [0, 0, 0], "<script>alert(1)</script>": [2, 2, 2]}, expects="<b>more</b>")
    made = page.page(found, "first")
    assert "<script" not in made and "&lt;script&gt;alert(1)" in made and "&lt;b&gt;more" in made
    assert "http://" not in made.replace("http://www.w3.org", "") and "https://" not in made
    assert made.count("<svg") == 5 and "no reward in training was recorded" in made
    assert "prefers-color-scheme: dark" in made and found.conclusion.split(" (")[0].split("<")[0] in made
    assert "Differences from grpo" in made and "Declared contrasts" not in made
