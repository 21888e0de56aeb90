"""Who judged an exam: the verifier wherever there is a reference answer, and beside it the user's own reward."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from answers import answered, data_row
from small_runs import SIZES, Shell, came_to, make_model

import assay.api
from assay.errors import ConfigError
from assay.lab.compare import as_json, compare_runs, show
from assay.record import RunFolder
from assay.run import session
from assay.run.configure import to_data
from assay.run.grader import Grader
from assay.run.judged_exams import Exam, judged
from assay.run.recorder import first_answers
from assay.run.setup import Setup
from assay.types import Episode, Problem
from assay.verifiers.functions.grading import Grading
from assay.verifiers.functions.loading import Function
from assay.view.card import model_card
from assay.view.findings import curves, results
from assay.view.judged import judge_of, name_of_rewards, name_of_verifiers
from assay.view.report import page
from assay.view.results import eval_table, outcome, table

SAMPLES = 4
GOLD, BOXED_GOLD, BOXED_WRONG = "7", r"\boxed{7}", r"\boxed{8}"
BEFORE = (GOLD, BOXED_WRONG, BOXED_WRONG, BOXED_WRONG)  # one of four is right, three are boxed
AFTER = (BOXED_GOLD, BOXED_WRONG, BOXED_WRONG, BOXED_WRONG)  # one of four is right, all are boxed


def boxed(completions: Sequence[str], **_: Any) -> list[float]:
    """A reward that pays for a box, whatever stands in it."""
    return [float("boxed" in text) for text in completions]


def paying(*calls: Any, **settings: Any) -> Grader:
    functions = tuple(Function(call.__name__, call, 1.0) for call in calls or (boxed,))
    return Grader(Grading(functions, **settings))


def rows(count: int, *, golds: Sequence[str | None] = ("7",)) -> list[Problem]:
    return [data_row(i, f"How many are {i}?", answer=golds[i % len(golds)]) for i in range(count)]


def sat(problems: Sequence[Problem], texts: Sequence[str], grader: Grader) -> Exam:
    """The exam in which each problem got these answers."""
    verify = grader.grading or grader.verified
    episodes = [answered(problem, text, sample=i) for problem in problems for i, text in enumerate(texts)]
    return judged(verdicts(episodes, verify(episodes)), grader)


def verdicts(episodes: Sequence[Episode], found: Sequence[Any]) -> list[Episode]:
    import dataclasses

    return [dataclasses.replace(e, verdict=verdict) for e, verdict in zip(episodes, found, strict=True)]


def means(scores: dict[str, Any]) -> dict[str, float]:
    return {k: one["mean"] for k, one in scores.items()}


def test_the_verifier_stands_first_and_the_reward_beside_it() -> None:
    made = sat(rows(6), BEFORE, paying()).entry(step=0, set="test")
    assert made["judge"] == "verifier" and means(made["pass"]) == {"1": 0.25, "2": 0.5, "4": 1.0}
    first, own = made["judges"]
    assert (first["judge"], first["pass"]) == ("verifier", made["pass"])
    assert (own["judge"], means(own["pass"])) == ("your reward boxed", {"1": 0.75, "2": 1.0, "4": 1.0})
    assert made["scores"]["boxed"]["mean"] == 0.75 and own["counts"]["correct"] == [3] * 6


def test_without_a_reward_the_verifier_judges_alone() -> None:
    made = sat(rows(6), BEFORE, Grader()).entry(step=0, set="test")
    assert [one["judge"] for one in made["judges"]] == ["verifier"] and made["pass"]["1"]["mean"] == 0.25
    assert "scores" not in made


def test_without_a_reference_answer_the_reward_judges_alone() -> None:
    made = sat(rows(6, golds=[None]), BEFORE, paying()).entry(step=0, set="test")
    assert [one["judge"] for one in made["judges"]] == ["your reward boxed"] == [made["judge"]]
    assert made["pass"]["1"]["mean"] == 0.75 and "open" not in made
    assert "judge" not in sat(rows(6, golds=[None]), BEFORE, Grader()).entry(step=0, set="test"), "nobody can judge"


def test_of_mixed_rows_each_judge_has_those_that_it_can_judge() -> None:
    exam = sat(rows(6, golds=["7", None]), BEFORE, paying())
    made = exam.entry(step=0, set="test")
    first, own = made["judges"]
    assert (first["judge"], first["problems"], first["pass"]["1"]["mean"]) == ("verifier", 3, 0.25)
    assert (own["judge"], own["problems"], own["pass"]["1"]["mean"]) == ("your reward boxed", 6, 0.75)
    assert made["scores"]["boxed"]["mean"] == 0.75, "the mean of the reward is over all rows"
    assert [one["right"] for one in first_answers(exam.episodes)] == [True, None] * 3
    told = eval_table(exam.examined([1]))
    assert "no verifier checks 3 of 6 problems; all are judged by your reward boxed" in told
    for name, score in (("verifier", "0.250"), ("your reward boxed", "0.750")):
        assert any(line.split("  ")[0] == "pass@1" and name in line and score in line for line in told.splitlines())


def test_a_reference_that_cannot_be_read_is_told_and_is_no_zero() -> None:
    some = sat(rows(4, golds=["7", r"\frac{1}{2"]), BEFORE, paying())
    made = some.entry(step=0, set="test")
    assert (made["judge"], made["invalid"], made["unjudged"]) == ("verifier", 8, 2)
    assert made["pass"]["1"]["mean"] == 0.25 and made["judges"][1]["problems"] == 4
    none = sat(rows(4, golds=[r"\frac{1}{2"]), BEFORE, paying())
    made = none.entry(step=0, set="test")
    assert made["judge"] == "your reward boxed" and made["pass"]["1"]["mean"] == 0.75
    assert "the verifier failed on all 16 answers with a reference answer" in made["silent"]
    assert "braces do not close" in made["silent"] and made["silent"] in eval_table(none.examined([1]))


def test_a_verifier_that_cannot_be_asked_here_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(self: Grader, episodes: Sequence[Episode]) -> list[Any]:
        raise ConfigError("verifying mathematics answers needs math-verify")

    monkeypatch.setattr(Grader, "verified", missing)
    made = sat(rows(4), BEFORE, paying()).entry(step=0, set="test")
    assert made["judge"] == "your reward boxed" and "needs math-verify" in made["silent"]


def test_a_judge_with_too_few_verdicts_has_no_score() -> None:
    """The function says nothing of one answer of four, and pass@4 needs four."""
    exam = sat(
        rows(4), BEFORE, paying(lambda completions, **_: [None if text == GOLD else 1.0 for text in completions])
    )
    own = exam.examined([1, 4])["judges"][1]
    assert (own["problems"], own["invalid"], own["pass"]) == (0, 4, {})
    assert "failed on 4 answers, which count for nothing, and judged 0 problems" in eval_table(exam.examined([1, 4]))


def test_a_reward_that_says_nothing_is_no_judge() -> None:
    exam = sat(rows(4), BEFORE, paying(lambda completions, **_: [None] * len(completions)))
    assert exam.ungraded and exam.others == () and exam.judge == "verifier"
    assert not sat(rows(4), BEFORE, paying()).ungraded


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (name_of_rewards(["good"]), "your reward good"),
        (name_of_rewards(["good", "short"]), "your rewards good + short"),
        (name_of_verifiers(["countdown", "data:/a.jsonl"]), "verifier"),
        (name_of_verifiers(["countdown", "programs"]), "verifier and second oracle"),
        (name_of_verifiers(["a-task-that-is-not-here"]), "verifier"),
    ],
)
def test_judges_are_named(name: str, told: str) -> None:
    assert name == told


def test_earlier_records_are_judged_as_they_were() -> None:
    """They name no judge: reward functions graded the rows of files then, and verifiers everything else."""
    own, none = {"experiment": {"rewards": ["/a/my.py:good=0.5"]}}, {"experiment": {"rewards": []}}
    data, made, both = (
        {"bank": {"tasks": tasks}} for tasks in (["data:/a.jsonl"], ["countdown"], ["countdown", "data:/a.jsonl"])
    )
    assert [judge_of(one, none) for one in (data, made, both, {})] == ["verifier"] * 4
    assert [judge_of(one, own) for one in (data, made)] == ["your reward good", "verifier"]
    assert judge_of(both, own) == "verifier, of rows your reward good"


# --- what a reader sees of it ------------------------------------------------------------------------------------


def run(folder: Path, name: str, exams: Sequence[tuple[int, Exam]], *, data: str, reward: bool = True) -> Path:
    """The folder of a run on rows of a file, with these exams."""
    (folder / "my.py").write_text(
        "def boxed(completions, **_):\n    return [float('boxed' in c) for c in completions]\n"
    )
    (folder / data).write_text(
        "".join(json.dumps({"question": f"How many {i}?", "answer": "7"}) + "\n" for i in range(40))
    )
    own = (str(folder / "my.py:boxed"),) if reward else ()
    experiment, _ = session.planned(
        Setup("grpo", data=(str(folder / data),), reward=own, model="x/y", profile="laptop")
    )
    document = {"recipe": "grpo", "experiment": to_data(experiment), "versions": {}}
    with RunFolder.create(folder / name, identity={}, document=document) as made:
        made.append("metrics", {"step": 1, "reward/mean": 0.5, "reward/accuracy": 0.75, "time/step": 1.0})
        for step, exam in exams:
            made.append("evals", exam.entry(step=step, set="test") | {"read": first_answers(exam.episodes)})
    return folder / name


def exams(grader: Grader, **golds: Any) -> list[tuple[int, Exam]]:
    return [(step, sat(rows(6, **golds), texts, grader)) for step, texts in ((0, BEFORE), (1, AFTER))]


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return run(tmp_path, "run", exams(paying()), data="rows.jsonl")


def test_the_results_of_a_run_have_both(finished: Path) -> None:
    found = assay.Run(finished).scores()
    assert found == outcome(finished)
    assert [found[when]["judge"] for when in ("before", "after")] == ["verifier"] * 2
    assert found["before"]["pass"]["1"]["mean"] == 0.25 and found["difference"]["pass"]["1"]["mean"] == 0.0
    verifier, own = found["judges"]
    assert (verifier["judge"], own["judge"]) == ("verifier", "your reward boxed")
    assert [own[name]["1"]["mean"] for name in ("before", "after", "difference")] == [0.75, 1.0, 0.25]
    assert [verifier[name]["1"]["mean"] for name in ("before", "after", "difference")] == [0.25, 0.25, 0.0]
    assert json.loads(json.dumps(found)) == found
    lines = [line for line in table(found).splitlines() if line.startswith("pass@1")]
    assert ["verifier" in lines[0], "your reward boxed" in lines[1], len(lines)] == [True, True, 2]
    assert "0.250" in lines[0] and "+0.000" in lines[0] and "0.750" in lines[1] and "+0.250" in lines[1]


def test_the_card_has_both(finished: Path) -> None:
    card = model_card(finished)
    assert "| pass@1 | verifier | 0.250" in card and "| pass@1 | your reward boxed | 0.750" in card
    assert "your reward boxed also trained the model." in card


def test_the_report_has_both(finished: Path) -> None:
    html = page(RunFolder.read_only(finished))
    assert "by the verifier</th>" in html and "by your reward boxed</th>" in html
    assert "pass@1 by <b>the verifier</b>" in html and "pass@1 by <b>your reward boxed</b>" in html
    data = json.loads(html.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    (result,) = data["results"]
    assert [(one["judge"], [p["mean"] for p in one["points"]]) for one in result["history"]] == [
        ("verifier", [0.25, 0.25]),
        ("your reward boxed", [0.75, 1.0]),
    ]
    (chart,) = [one for one in data["curves"]["charts"] if one["title"] == "Reward"]
    assert ["reward/accuracy", "share right by your reward boxed"] in chart["lines"]


def test_the_curve_of_training_names_the_verifier_without_a_reward() -> None:
    (chart,) = curves([{"step": 1, "reward/accuracy": 0.5}], {})["charts"]
    assert chart["lines"] == [["reward/accuracy", "share right by the verifier"]]


def test_exact_curves_are_marked() -> None:
    record = {"step": 1, "policy/learning_rate": 0.1, "length/truncated": 0.5, "policy/entropy": 1.0}
    exact = {one["title"]: one["exact"] for one in curves([record], {})["charts"]}
    assert exact == {"Learning rate": True, "Truncated": True, "Entropy": False}


def test_a_comparison_has_both_and_names_them(finished: Path, tmp_path: Path) -> None:
    plain = run(tmp_path, "plain", exams(Grader()), data="rows.jsonl", reward=False)
    found = compare_runs([finished, plain])
    first, second = found.arms
    assert [arm.judge for arm in found.arms] == ["verifier"] * 2
    beside = first.others["your reward boxed"]
    assert first.final and first.final["mean"] == 0.25 and beside and beside["mean"] == 1.0
    assert second.difference and second.difference["mean"] == 0.0 and second.others == {}
    shown = io.StringIO()
    show(found, stream=shown)
    text = " ".join(shown.getvalue().split())
    assert "by verifier" in text and "by your" in text
    told = as_json(found)["runs"][0]
    assert (told["judge"], told["others"]["your reward boxed"]["mean"]) == ("verifier", 1.0)


def test_scores_of_different_judges_are_not_compared(tmp_path: Path) -> None:
    open_rows: dict[str, Any] = {"golds": [None]}
    one = run(tmp_path, "one", exams(paying(), **open_rows), data="rows.jsonl")
    other = run(tmp_path, "other", exams(paying(right_from=0.5), **open_rows), data="rows.jsonl")
    checked = run(tmp_path, "checked", exams(paying()), data="rows.jsonl")
    arms = compare_runs([one, other, checked]).arms
    assert [arm.difference for arm in arms] == [None] * 3
    assert arms[1].verdict == "your reward boxed is another function there"
    assert arms[2].verdict == "judged by the verifier, the first by your reward boxed"


def test_the_same_rows_under_two_names_are_one_task(tmp_path: Path) -> None:
    one = run(tmp_path, "one", exams(paying()), data="problems.jsonl")
    other = run(tmp_path, "other", exams(paying()), data="halves.jsonl")
    strange = run(
        tmp_path, "strange", [(1, sat([data_row(99, "Other?", answer="7")], AFTER, paying()))], data="c.jsonl"
    )
    found = compare_runs([one, other, strange])
    assert [arm.task for arm in found.arms] == ["problems:1", "problems:1", "c:1"]
    assert found.arms[1].difference is not None and found.arms[2].verdict == "first"
    assert found.one_task == (
        "halves:1 holds the rows of problems:1 under another name: they are compared as one task",
    )


def test_a_run_that_an_earlier_version_began_mixes_no_judges(finished: Path) -> None:
    """Its first exam was graded by the reward function, the last one, after a resume, by both judges."""
    path = finished / "evals.jsonl"
    before, after = map(json.loads, path.read_text().splitlines())
    graded = before["judges"][1]
    old = {name: value for name, value in before.items() if name not in ("judge", "judges")}
    old |= {"pass": graded["pass"], "bank": before["bank"] | graded["counts"]}
    path.write_text(json.dumps(old) + "\n" + json.dumps(after) + "\n")
    found = outcome(finished)
    assert (found["before"]["judge"], found["after"]["judge"]) == ("your reward boxed", "verifier")
    assert found["difference"] is None and "no difference: the first exam was judged by your reward boxed" in table(
        found
    )
    beside = {one["judge"]: one for one in found["judges"]}
    assert beside["verifier"]["before"] is None and beside["verifier"]["difference"] is None
    assert beside["your reward boxed"]["difference"]["1"]["mean"] == 0.25
    (shown,) = results([old, after], RunFolder.read_only(finished).document)
    assert shown["difference"] is None and shown["no_difference"].startswith("No difference: the first exam")
    assert "no difference" in model_card(finished).lower() and "by the verifier</th>" in page(
        RunFolder.read_only(finished)
    )


# --- whole runs --------------------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    sums = [{"question": f"What is {a}+{b}?", "answer": str(a + b)} for a in range(1, 7) for b in range(1, 7)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in sums))
    (tmp_path / "my.py").write_text("def good(completions, **_):\n    return [1.0 for text in completions]\n")
    monkeypatch.chdir(tmp_path)
    return Shell(capsys)


def test_a_run_and_its_evaluation_ask_the_verifier_too(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is asked changes no bit of the training."""
    sizes = [word for name, value in SIZES.items() for word in (f"--{name}", str(value))]
    line = [
        "train",
        "grpo",
        "--data",
        "rows.jsonl",
        "--model",
        str(make_model(tmp_path / "M")),
        "--reward",
        "my.py:good",
    ]
    line += ["--cut", "scored", "--steps", "2", "--quiet", *sizes]
    reply = shell(*line, "--run", "run", "--json")
    assert reply.code == 0, reply.err
    assert [one["judge"] for one in reply.document["judges"]] == ["verifier", "your reward good"]
    assert reply.document["judges"][1]["after"]["1"]["mean"] == 1.0, "the reward pays for whatever is said"
    assert reply.document["after"]["pass"]["1"]["mean"] < 1.0
    told = shell("eval", "run", "--data", "rows.jsonl", "--n", "2", "--reward", "my.py:good", "--json")
    assert [one["judge"] for one in told.document["judges"]] == ["verifier", "your reward good"]
    told = shell("eval", "run", "--data", "rows.jsonl", "--n", "2", "--json")
    assert [one["judge"] for one in told.document["judges"]] == ["verifier"] and "scores" not in told.document
    monkeypatch.setattr("assay.run.judged_exams.verified", lambda episodes, grader: list(episodes))
    assert shell(*line, "--run", "unasked").code == 0
    asked, unasked = came_to(tmp_path / "run"), came_to(tmp_path / "unasked")
    assert asked[:3] == unasked[:3]
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    as_an_earlier_version(tmp_path / "run" / "evals.jsonl")
    assert outcome(tmp_path / "run")["best"] == {"step": 2, "score": 0.0}, "the verifier chose it"
    assert shell("resume", "run", "--steps", "4", "--quiet").code == 0
    best = outcome(tmp_path / "run")["best"]
    assert best is not None and best["score"] == 1.0, "the judge of the first exams chooses the best checkpoint"


def as_an_earlier_version(path: Path) -> None:
    """Rewrites the exams as they were when the reward functions graded the rows of files."""
    written = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        del record["judge"]
        graded = record.pop("judges")[1]
        record |= {"pass": graded["pass"], "bank": record["bank"] | graded["counts"]}
        written.append(json.dumps(record).ljust(len(line)))  # a shorter file would lack records
    path.write_text("".join(f"{line}\n" for line in written))
