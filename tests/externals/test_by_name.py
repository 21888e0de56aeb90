"""Externals: the self-test of each, what is said of one that is missing or broken, and what runs do about it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from altered import altered
from missing_externals import listed
from small_runs import Shell, make_model, train_line

from assay.errors import ConfigError, UnknownName
from assay.externals import EXTERNALS, External, by_name, examine, look, require, workers_of
from assay.externals.versions import UNTOLD, of_package, of_program
from assay.record import RunFolder
from assay.run.external_needs import changes, versions
from assay.tasks import TASKS, posing_of
from assay.tasks.countdown import COUNTDOWN
from assay.tasks.dsl import DEDUCTION
from assay.tasks.pose import pose

TESTED = [pytest.param(name, marks=pytest.mark.external(name)) for name in EXTERNALS]
OK = External(
    "oracle",
    "says yes to what is right",
    install="apt-get install oracle",
    version=lambda: "1.0",
    answer="external_jobs:answer",
    passes="right",
    fails="wrong",
    accepts=lambda result: result["yes"],
    processes=1,
)


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def oracle(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, External]]:
    """The table of externals with one more, which tests may replace."""
    more, shared = {**EXTERNALS, "oracle": OK}, {}
    monkeypatch.setattr(by_name, "EXTERNALS", more)
    monkeypatch.setattr(by_name, "_shared", shared)
    yield more
    for workers in shared.values():
        workers.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", TESTED)
def test_each_external_passes_its_self_test(name: str) -> None:
    found = look(name)
    assert found.state == "ok", found.problem
    assert found.version


@pytest.mark.external("sandbox")
@pytest.mark.slow
def test_the_record_of_the_sandbox_says_its_level_and_what_the_probe_found() -> None:
    version = look("sandbox").version
    python, probed = r"Python 3\.\d+\.\d+\S*", r"level L[12], landlock \d+, filter \w+, kernel \S+, group (yes|no)"
    assert re.search(f"{python}, {probed}(, L2 does not hold: .+)?$", version)


def test_what_a_case_tells_stands_behind_the_version() -> None:
    assert examine(dataclasses.replace(OK, tells=lambda result: f"yes {result['yes']}")).version == "1.0, yes True"


def test_a_record_says_its_name_and_how_it_is_installed() -> None:
    for name, external in EXTERNALS.items():
        assert external.name == name and external.purpose
        assert external.install.split()[0] in {"apt-get", "pip", "make", "it"}, external.install


def test_what_ci_must_have_is_known() -> None:
    assert set(listed()) <= set(EXTERNALS)


def test_a_version_is_that_of_the_package_or_what_the_program_says(tmp_path: Path) -> None:
    assert of_package("numpy") and of_package("no-such-package-here") is None
    assert of_program(["sh", "-c", "echo tool 4.2; echo more"], r"tool (\S+)") == "4.2"
    assert of_program(["sh", "-c", "echo nothing"], r"tool (\S+)") == UNTOLD
    assert of_program(["no-such-program-here"], "(.*)") is None


@pytest.mark.slow
def test_one_that_judges_wrongly_is_broken() -> None:
    assert examine(OK).state == "ok"
    deaf = dataclasses.replace(OK, accepts=lambda result: False)
    credulous = dataclasses.replace(OK, accepts=lambda result: True)
    assert "must pass was refused" in examine(deaf).problem
    assert "must fail was accepted" in examine(credulous).problem
    assert "(error: ValueError)" in examine(dataclasses.replace(OK, fails="raise")).problem


@pytest.mark.slow
def test_one_that_does_not_start_is_broken_and_not_a_crash() -> None:
    found = examine(dataclasses.replace(OK, answer="no_such_module:answer"))
    assert found.state == "broken" and "no_such_module" in found.problem


@pytest.mark.slow
def test_a_broken_or_missing_one_is_refused_with_the_line_that_installs_it(oracle: dict[str, External]) -> None:
    assert require(["oracle", "oracle"], "task 'riddles'") == {"oracle": "1.0"}
    oracle["oracle"] = dataclasses.replace(OK, version=lambda: None)
    with pytest.raises(
        ConfigError, match=r"task 'riddles' needs .*not installed: run `apt-get install oracle`"
    ) as told:
        require(["oracle"], "task 'riddles'")
    assert told.value.exit_code == 78
    oracle["oracle"] = dataclasses.replace(OK, accepts=lambda result: False)
    with pytest.raises(ConfigError, match=r"oracle 1\.0 fails its self-test: .* was refused"):
        require(["oracle"], "task 'riddles'")


@pytest.mark.slow
def test_verifiers_share_the_processes_of_an_external(oracle: dict[str, External]) -> None:
    first = workers_of("oracle")
    assert first.map(["right"])[0].result == {"yes": True}
    assert workers_of("oracle") is first and first.started == 1
    look("oracle")
    assert first.started == 1, "the examination uses them too"


def test_workers_of_a_missing_external_are_refused_at_once(oracle: dict[str, External]) -> None:
    oracle["oracle"] = dataclasses.replace(OK, version=lambda: None)
    with pytest.raises(ConfigError, match="apt-get install oracle"):
        workers_of("oracle")
    with pytest.raises(UnknownName, match="Did you mean 'oracle'"):
        workers_of("orakle")


def test_a_posed_task_needs_what_its_task_needs() -> None:
    posed = altered(DEDUCTION, externals=("oracle",))
    assert pose(posed, posing_of(posed)).checker.externals == ("oracle",)


@pytest.mark.slow
def test_a_run_whose_task_needs_an_external_asks_for_it_before_training(
    shell: Shell, oracle: dict[str, External], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(TASKS, "countdown", altered(COUNTDOWN, externals=("oracle",)))
    model, run = make_model(tmp_path / "small"), tmp_path / "run"
    oracle["oracle"] = dataclasses.replace(OK, version=lambda: None)
    for line in (train_line(model, run), ["eval", str(model), "--task", "countdown:3"]):
        reply = shell(*line, "--json")
        assert reply.code == 78 and "task 'countdown' needs other programs" in reply.document["message"]
        assert "apt-get install oracle" in reply.err and "assay doctor --externals" in reply.err
    assert not run.exists()

    oracle["oracle"] = OK
    assert shell(*train_line(model, run), "--steps", "1", "--quiet").code == 0
    assert RunFolder.read_only(run).document["externals"] == {"oracle": ["1.0"]}
    oracle["oracle"] = dataclasses.replace(OK, version=lambda: "1.1")
    assert "verified this run in version 1.0 and is now 1.1" in shell("resume", run, "--steps", "2").err
    assert RunFolder.read_only(run).document["externals"] == {"oracle": ["1.0", "1.1"]}


def test_a_resume_with_another_version_warns_and_both_are_on_record() -> None:
    before = versions({"oracle": "1.0", "judge": "7"}, {})
    assert before == {"oracle": ["1.0"], "judge": ["7"]}
    now = {"oracle": "1.1", "judge": "7", "new": "3"}
    (warning,) = changes(now, before)
    assert warning.startswith("oracle verified this run in version 1.0 and is now 1.1")
    assert versions(now, before) == {"oracle": ["1.0", "1.1"], "judge": ["7"], "new": ["3"]}
    assert changes(now, versions(now, before)) == []


@pytest.mark.slow
def test_the_doctor_lists_externals(shell: Shell, oracle: dict[str, External], monkeypatch: pytest.MonkeyPatch) -> None:
    only = {"oracle": OK, "lost": dataclasses.replace(OK, name="lost", version=lambda: None)}
    monkeypatch.setattr("assay.externals.EXTERNALS", only)
    found = shell("doctor", "--externals", "--json").document
    assert found["oracle"]["state"] == "ok" and found["oracle"]["version"] == "1.0"
    assert found["lost"] == {
        "state": "missing",
        "found": "not installed (says yes to what is right)",
        "advice": "apt-get install oracle",
        "version": None,
    }
    out = shell("doctor", "--externals").out
    assert "missing lost" in " ".join(out.split()) and "apt-get install oracle" in out
