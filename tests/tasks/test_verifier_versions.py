"""The version of a verifier: of every task, changed by a change of any file that judges, and said by runs and banks."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from altered import altered
from banked import FIRST, OTHER, made
from small_runs import ROOT, Shell, copy_of, make_model, program, train_line

from assay.lab.compare import as_json, compare_runs, show
from assay.scoring.bank_reports import compared
from assay.scoring.samples import Asked
from assay.tasks import TASKS, task
from assay.tasks.versions import verifier_versions, version_of
from assay.view.bank_tables import compared_table

OTHERS = ("data:/tmp/rows.jsonl", "judge:constraints", "pose:dsl-deduction", "harder:mod-chain-7")


@pytest.mark.parametrize("name", [*TASKS, *OTHERS])
def test_every_task_has_a_version(name: str) -> None:
    assert len(version_of(task(name))) == 16


CHANGED = {  # a file -> tasks that it judges, and one that it does not
    "tasks/countdown.py": (("countdown", "judge:countdown"), "mod-chain"),
    "verifiers/answers.py": (("countdown", "sql", "coq"), None),
    "verifiers/sql/compare.py": (("sql",), "countdown"),
    "verifiers/mathematics/symbolic.py": (("data:/tmp/rows.jsonl",), "sql"),  # imported by name, in another process
    "verifiers/proofs/kernel.py": (("metamath",), "coq"),
    "tasks/constraints.py": (("judge:constraints", "compare:constraints"), "countdown"),
}
PROBE = """
import json, sys
from assay.tasks.versions import verifier_versions, version_of
from assay.tasks import task
print(json.dumps({name: version_of(task(name)) for name in sys.argv[1:]}))
"""


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_change_of_a_file_that_judges_is_another_version(tmp_path: Path) -> None:
    """And a change elsewhere is not. The package is copied, and a line is added to one file after the other."""
    copy = tmp_path / "assay"
    shutil.copytree(ROOT / "assay", copy, ignore=shutil.ignore_patterns("core", "built"))
    names = sorted({name for judged, other in CHANGED.values() for name in (*judged, other) if name is not None})

    def versions() -> dict[str, str]:
        done = program(["-P", "-c", PROBE, *names], PYTHONPATH=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
        assert done.returncode == 0, done.stderr
        found: dict[str, str] = json.loads(done.stdout)
        return found

    before = versions()
    assert before == {name: version_of(task(name)) for name in names}, "the place of the package is no part of it"
    for file, (judged, other) in CHANGED.items():
        whole = (copy / file).read_text()
        (copy / file).write_text(f"{whole}\n# changed\n")
        after = versions()
        assert all(after[name] != before[name] for name in judged), file
        assert other is None or after[other] == before[other], file
        (copy / file).write_text(whole)


def test_functions_that_are_wrapped_or_closed_over_are_found() -> None:
    """`judge:NAME` compares with what the verifier of NAME says, and holds that task in a closure or a partial."""
    for name in ("judge:constraints", "compare:constraints"):
        assert version_of(task(name)) != version_of(task(name.replace("constraints", "countdown")))
    assert verifier_versions(["countdown"]) == {"verifier of countdown": version_of(task("countdown"))}


def test_whatever_verifies_is_of_the_version_and_wordings_are_not() -> None:
    own, sql, chained, ruled = map(task, ("countdown", "sql", "trace", "constraints"))
    others = {
        "instance": sql.generator.instance,
        "check": sql.checker.check,
        "verify_many": sql.checker.verify_many,
        "second": sql.checker.second,
        "externals": sql.checker.externals,
        "steps": chained.checker.steps,
        "rules": ruled.checker.rules,
    }
    assert all(version_of(altered(own, **{name: other})) != version_of(own) for name, other in others.items())
    assert version_of(altered(own, natural=sql.wordings.natural)) == version_of(own)


@pytest.mark.slow
def test_a_run_says_which_verifier_judged_and_a_resume_and_a_comparison_say_when_it_is_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, run = Shell(capsys), tmp_path / "run"
    model = make_model(tmp_path / "model")
    assert shell(*train_line(model, run, evaluation_every=0), "--quiet").code == 0
    name, own = "verifier of countdown", version_of(task("countdown"))

    def recorded() -> object:
        return json.loads((run / "run.json").read_text())["verifiers"]

    assert recorded() == {name: [own]}
    other = copy_of(run, tmp_path / "other")
    assert "verified this run" not in shell("resume", run, "--steps", 5, "--quiet").err
    training = sys.modules["assay.run.training"]
    monkeypatch.setattr(training, "verifier_versions", lambda names: dict.fromkeys([name], "later"))
    reply = shell("resume", run, "--steps", 6, "--quiet")
    assert reply.code == 0 and f"{name} verified this run in version {own} and is now later" in reply.err
    assert recorded() == {name: [own, "later"]}
    assert "verified this run" not in shell("resume", run, "--steps", 7, "--quiet").err
    compared_runs = compare_runs([other, run])
    assert as_json(compared_runs)["judged_otherwise"] == [name]
    show(compared_runs)
    assert f"verified in more than one version: {name}" in capsys.readouterr().out
    assert as_json(compare_runs([other]))["judged_otherwise"] == []


def test_a_comparison_of_banks_says_which_verifiers_differ() -> None:
    mine, theirs = {"verifier of toy": "1", "z3": "4.8", "Python": "3.11"}, {"verifier of toy": "2", "z3": "4.8"}
    found = compared(made(FIRST, verifiers=mine), made(OTHER, verifiers=theirs))
    assert found["judged_otherwise"] == ["verifier of toy"] and found["first"]["verifiers"] == mine
    assert "verified by two versions of: verifier of toy" in compared_table(found)
    older = compared(made(FIRST), made(OTHER, verifiers=theirs))
    assert older["judged_otherwise"] == [] and "verified by two" not in compared_table(older), "it is not known"


def test_a_bank_keeps_the_versions_and_an_older_one_is_read() -> None:
    asked = made(FIRST, verifiers={"verifier of toy": "1"}).asked
    assert Asked.from_json(json.loads(json.dumps(asked.to_json()))) == asked
    older = {name: value for name, value in asked.to_json().items() if name != "verifiers"}
    assert Asked.from_json(older).verifiers == {} and asked.digest != Asked.from_json(older).digest


@pytest.mark.slow
def test_a_bank_is_sampled_with_its_verifiers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shell, bank = Shell(capsys), tmp_path / "bank.parquet"
    line = ["bank", "sample", make_model(tmp_path / "model"), "--task", "countdown:3", "--problems", 2, "--n", 2]
    reply = shell(*line, "--max-new", 4, "--into", bank, "--quiet", "--json")
    assert reply.code == 0
    version = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    expected = {"verifier of countdown": version_of(task("countdown")), "Python": version}
    assert reply.document["verifiers"] == expected
    assert shell("bank", "show", bank, "--json").document["verifiers"] == expected
