"""Studies: what is refused before anything runs, what is run once and never again, and what is said in the end."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from small_runs import SIZES, Shell, make_model, program

from assay.errors import AssayError, DataError, UsageError
from assay.lab.study import analysis, page, queue
from assay.lab.study.charts import Line, chart
from assay.lab.study.declared import check
from assay.lab.study.files import read
from assay.lab.study.plan import TRIAL_SEED, Arm, Budget, Run, Study, tasks_of
from assay.lab.study.results import Exam, Result
from assay.run import session
from assay.scoring.bank import Bank
from assay.scoring.inference import seeds_needed

TASK = "countdown:3"
SMALL = {name: str(value) for name, value in SIZES.items()}


def study_of(model: Path | str = "countdown", **changes: Any) -> Study:
    """Two methods on one task, two seeds of two steps."""
    values: dict[str, Any] = {
        "arms": {"grpo": Arm("grpo"), "nsr": Arm("nsr")},
        "tasks": tasks_of([TASK]),
        "seeds": (0, 1),
        "budget": Budget("steps", 2),
        "model": str(model),
        "settings": SMALL,
    }
    return Study(**{**values, **changes})


# Plans


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("scale.max-new", "9", "scale.max_new"),
        ("scale.temperature", "0.7", "scale.temperature"),
        ("scale.top-p", "0.9", "scale.top_p"),
        ("model", "mod-chain-7", "model"),
        ("pool.wording", "natural", "pool.wording"),
        ("evaluation.temperature", "0.5", "evaluation.temperature"),
        ("evaluation.final-samples", "4", "evaluation.final_samples"),
        ("profile", "paper", "profile"),
        ("lora.rank", "4", "lora.rank"),
        ("machine.precision", "fp32", "machine.precision"),
        ("chat.system", "Think.", "chat.system"),
        ("right-from", "0.5", "right_from"),
    ],
)
def test_a_difference_beside_the_methods_is_refused_by_its_name_unless_it_is_declared(
    setting: str, value: str, named: str
) -> None:
    arms = {"grpo": Arm("grpo"), "other": Arm("grpo", {setting: value})}
    with pytest.raises(UsageError, match=rf"the arms differ in {named}: grpo .*, other ") as error:
        check(study_of(arms=arms))
    assert f"--differ {named}" in str(error.value) and value.rstrip(".") in str(error.value)
    check(study_of(arms=arms, differ=(named,)))


def test_what_belongs_to_a_method_may_differ() -> None:
    arms = {"grpo": Arm("grpo"), "dapo": Arm("dapo"), "wide": Arm("grpo", {"scale.group-size": "4"})}
    check(study_of(arms=arms))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arms": {"grpo": Arm("grpo")}}, "at least two arms"),
        ({"arms": {"grpo": Arm("grpo"), "x": Arm("gropo")}}, "gropo"),
        ({"tasks": {}}, "needs a task"),
        ({"seeds": (0,)}, "nothing can be said of methods by 1 seeds"),
        ({"seeds": (0, 0, 1)}, "different ones"),
        ({"seeds": (0, TRIAL_SEED)}, "that of the trials"),
        ({"trials": (1.0, 0.0)}, "positive factors"),
    ],
)
def test_plans_that_can_say_nothing_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AssayError, match=message):
        check(study_of(**changes))


@pytest.mark.parametrize("text", ["2e6", "tokens", "tokens=", "tokens=none", "tokens=0", "tokens=inf", "hours=3"])
def test_a_budget_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="budget"):
        Budget.parse(text)


def test_budgets_are_read() -> None:
    assert Budget.parse("tokens=2e6") == Budget("tokens", 2e6) and str(Budget.parse("steps=1_00")) == "steps=100"


def test_an_outlook_turns_the_rule_for_seeds_around() -> None:
    """Differences whose standard deviation is 0.02 need as many seeds as show the smallest effect of these seeds."""
    for seeds in (3, 5, 9, 20):
        spread = np.array([-0.02, 0.02, 0.0]) * math.sqrt(3 / 2) * math.sqrt(2 / 3)
        assert spread.std(ddof=1) == pytest.approx(0.02)
        assert seeds_needed(spread.tolist(), queue.smallest_effect(seeds) * (1 + 1e-9)) == seeds
    assert queue.smallest_effect(2) == math.inf


def test_a_study_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "first.toml"
    path.write_text(
        'tasks = ["countdown:3,4"]\nseeds = 4\nbudget = "tokens=5e5"\ntrials = [0.5, 1]\nexpects = "more entropy"\n'
        '[settings]\n"evaluation.every" = 5\n[arms.grpo]\n'
        '[arms.gentle]\nrecipe = "grpo"\nsettings = {"scale.learning-rate" = 1e-5}\n'
    )
    study = read(path)
    assert list(study.arms) == ["grpo", "gentle"] and study.arms["gentle"].settings == {"scale.learning-rate": "1e-05"}
    assert study.seeds == (0, 1, 2, 3) and study.trials == (0.5, 1.0) and study.expects == "more entropy"
    made = study.experiment(Run("gentle", "countdown:3,4", 2), steps=7)
    assert (made.seed, made.recipe.scale.num_steps, made.recipe.scale.learning_rate) == (2, 7, 1e-5)
    assert made.evaluation.every == 5
    path.write_text(path.read_text().replace("seeds = 4", "seed = 4"))
    with pytest.raises(AssayError, match="seed"):
        read(path)
    path.write_text("arms = 3\n")
    with pytest.raises(DataError, match=r"needs a table \[arms\], or a list recipes"):
        read(path)
    with pytest.raises(DataError, match="cannot be read as a study"):
        read(tmp_path / "none.toml")


# Queues


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("study") / "model")


def core_of(results: Mapping[Run, Result]) -> dict[Run, dict[str, Any]]:
    """What the runs computed, without times."""
    shown: dict[Run, dict[str, Any]] = {}
    for run, result in results.items():
        shown[run] = {k: v for k, v in dataclasses.asdict(result).items() if k not in ("seconds", "measured")}
    return json.loads(json.dumps({f"{run}": value for run, value in shown.items()}))


@pytest.mark.slow
def test_a_study_runs_what_is_missing_and_goes_on_from_its_results_alone(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, folder = study_of(model, budget=Budget("tokens", 60), trials=(1.0, 2.0)), tmp_path / "study"
    assert queue.outlook(study, folder).document()["done"] == 0
    results = queue.fill(study, folder)
    told = capsys.readouterr().err
    assert "1 of 10  grpo on countdown:3, pilot" in told and "10 of 10  " in told
    assert {(run.arm, run.seed) for run in results} == {("grpo", 0), ("grpo", 1), ("nsr", 0), ("nsr", 1)}
    for result in results.values():
        assert result.after is not None and result.before is not None and result.tokens > 0
        pilot = Result.read(folder / "results" / "countdown-3" / result.arm / "pilot.json")
        assert result.steps == max(1, round(60 / (pilot.tokens / queue.PILOT_STEPS)))
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder / "results", moved / "results")
    monkeypatch.setattr(session, "start", lambda *_, **__: pytest.fail("a finished run was run again"))
    assert core_of(queue.fill(study, moved)) == core_of(results)
    assert queue.outlook(study, moved).document()["done"] == 4
    one = folder / "results" / "countdown-3" / "nsr" / "seed-1.json"
    one.write_text("{}")
    with pytest.raises(DataError, match="remove the file"):
        Result.read(one)


@pytest.mark.slow
def test_another_question_is_another_run(model: Path, tmp_path: Path) -> None:
    study, folder = study_of(model), tmp_path / "study"
    queue.fill(study, folder)
    longer = dataclasses.replace(study, budget=Budget("steps", 3))
    assert queue.outlook(longer, folder).done == 0 and queue.outlook(study, folder).done == 4
    with pytest.raises(AssayError, match="was begun with other settings"):
        queue.fill(longer, folder)
    more = dataclasses.replace(study, seeds=(0, 1, 2))
    assert queue.outlook(more, folder).done == 4
    assert len(queue.fill(more, folder)) == 6


@pytest.mark.slow
def test_a_kill_in_the_middle_repeats_nothing_and_loses_nothing(model: Path, tmp_path: Path) -> None:
    line = ["-m", "assay", "compare", "grpo", "nsr", "--model", str(model), "--task", TASK, "--seeds", "2"]
    line += ["--budget", "steps=4", *(part for name, value in SIZES.items() for part in (f"--{name}", str(value)))]
    whole = program([*line, "--into", str(tmp_path / "whole"), "--json"])
    assert whole.returncode == 0, whole.stderr
    killed = program([*line, "--into", str(tmp_path / "killed")], ASSAY_FAILPOINT="loop.record:kill:7")
    assert killed.returncode == -9
    done = sorted(path.name for path in (tmp_path / "killed" / "results").rglob("*.json"))
    assert done == ["seed-0.json"], "four steps of the first run, and three of the second"
    first = next((tmp_path / "killed" / "results").rglob("*.json")).read_bytes()
    again = program([*line, "--into", str(tmp_path / "killed"), "--json"])
    assert again.returncode == 0, again.stderr
    assert "seed 0  pass@1" in again.stderr and "grpo on countdown:3, seed 0" not in again.stderr
    assert next(path for path in (tmp_path / "killed").rglob("*/grpo/seed-0.json")).read_bytes() == first
    one, other = json.loads(whole.stdout), json.loads(again.stdout)
    for cell in (*one["cells"], *other["cells"]):
        cell.pop("seconds")
    assert one["cells"] == other["cells"] and one["conclusion"] == other["conclusion"]


@pytest.mark.slow
def test_an_arm_that_cannot_run_keeps_no_other_from_running(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = session.start

    def start(experiment: Any, path: Any, **how: Any) -> Path:
        if experiment.recipe.name == "grpo":
            raise DataError("no such problem.")
        return real(experiment, path, **how)

    monkeypatch.setattr(session, "start", start)
    with pytest.raises(
        AssayError, match=r"grpo on countdown:3: no such problem\. So 1 of 2 arms are not done"
    ) as error:
        queue.fill(study_of(model), tmp_path / "study")
    assert error.value.exit_code == DataError.exit_code
    assert {run.arm for run in queue.stored(study_of(model), tmp_path / "study")} == {"nsr"}


# Findings


def result_of(arm: str, seed: int, right: np.ndarray, *, samples: int = 8, **changes: Any) -> Result:
    zero = np.zeros(len(right), np.int64)
    ids = tuple(f"p{i}" for i in range(len(right)))
    bank = Exam.of(
        Bank(ids, ("toy",) * len(right), zero, zero + samples, right.astype(np.int64), zero, zero, zero, max_new=22)
    )
    values: dict[str, Any] = {
        "key": "k",
        "arm": arm,
        "task": TASK,
        "seed": seed,
        "rate": 1.0,
        "steps": 2,
        "budget": "steps=2",
        "code": "c",
        "seconds": 60.0,
        "measured": "2026-01-01",
        "spent": {"generated_tokens": 1000.0, "optimiser_steps": 2.0},
        "curve": ((0, 0.0, 0.1), (2, 1000.0, 0.1 + seed / 100)),
        "series": {"entropy": [(0.0, 1.0), (1000.0, 0.5)], "reward": [], "length": [(0.0, 9.0)]},
        "before": bank,
        "after": bank,
        "asked": ("test", 22, 1.0),
    }
    return Result(**{**values, **changes})


def findings_of(gains: Mapping[str, list[int]], **changes: Any) -> analysis.Findings:
    """Arms whose seeds have so many right answers more on every problem than `grpo`."""
    ease = np.arange(40) % 4
    seeds = tuple(range(len(next(iter(gains.values())))))
    study = study_of(arms={name: Arm("grpo") for name in gains}, seeds=seeds, **changes)
    results = {
        Run(arm, TASK, seed): result_of(arm, seed, ease + gain)
        for arm, of_seeds in gains.items()
        for seed, gain in enumerate(of_seeds)
    }
    return analysis.analyse(study, results)


def test_a_study_says_in_a_sentence_what_its_numbers_allow() -> None:
    found = findings_of({"grpo": [0, 0, 0, 0], "better": [2, 2, 3, 2], "same": [0, 0, 0, 0], "open": [2, -0, 1, 0]})
    of = {cell.arm: cell for cell in found.cells}
    assert of["better"].claim.verdict == "higher" and of["better"].claim.effect is not None
    assert of["better"].claim.effect.mean == pytest.approx(9 / 4 / 8)
    raw = np.asarray(stats.ttest_1samp(np.array([2, 2, 3, 2]) / 8, 0), dtype=float)[1]
    assert of["better"].claim.p == pytest.approx(3 * raw), "Holm's factor for the least of three"
    assert of["open"].claim.verdict.startswith("undecided")
    assert "better (+0.281" in found.conclusion and "is better than grpo" in found.conclusion
    assert "same is as good as grpo within 0.02" in found.conclusion
    assert "nothing can be said of open" in found.conclusion and found.missing == 0
    assert of["grpo"].passes[1]["mean"] == pytest.approx(1.5 / 8) and list(of["grpo"].passes) == [1, 2, 4, 8]
    assert "verdicts corrected for all 3 of them" in found.notes[0]


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
    assert made.count("<svg") == 4 and "no reward in training was recorded" in made
    assert "prefers-color-scheme: dark" in made and found.conclusion.split(" (")[0].split("<")[0] in made


# The command


def test_a_plan_is_shown_before_anything_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shell = Shell(capsys)
    reply = shell("compare", "grpo", "dapo", "--task", TASK, "--seeds", 5, "--into", tmp_path / "s", "--plan", "--json")
    assert reply.code == 0 and reply.document["runs"] == 10 and not (tmp_path / "s").exists()
    reply = shell("compare", "grpo", "dapo", "--seeds", 9, "--budget", "tokens=2e6", "--plan", "--trials", "0.5,1")
    assert "2 methods x 1 tasks x 9 seeds = 18 runs of 2,000,000 tokens each, and 6 more" in reply.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("runs/none", "--seeds", 3), "--seeds is for comparing recipes"),
        (("runs/none", "--scale.temperature", 0.5), "--scale.temperature is for comparing recipes"),
        (("grpo", "grpo"), "grpo is named twice"),
        (("grpo", "dapo", "--trials", "a"), "write factors"),
        (("grpo", "dapo", "--seeds", 1), "nothing can be said of methods"),
        (("grpo", "runs/none"), "runs/none"),
        (("--study", "none.toml", "--seeds", 3), "says the whole study"),
    ],
)
def test_lines_that_cannot_be_meant_are_refused(
    line: tuple[object, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = Shell(capsys)("compare", *line)
    assert reply.code == UsageError.exit_code and message in reply.err


def test_recipes_and_runs_share_a_verb(capsys: pytest.CaptureFixture[str]) -> None:
    reply = Shell(capsys)("compare")
    assert reply.code == UsageError.exit_code and "name" in reply.err
