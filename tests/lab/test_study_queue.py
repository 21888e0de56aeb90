"""Studies that run: what is missing is run once and never again, also after a kill."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import math
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import SIZES, Shell, make_model, program, train_line
from studies import SMALL, TASK, result_of, study_of

from assay.errors import AssayError, DataError
from assay.lab.study import queue
from assay.lab.study.plan import Arm, Budget, StudyRun
from assay.lab.study.results import Result
from assay.record import RunFolder
from assay.run import session


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("study") / "model")


def core_of(results: Mapping[StudyRun, Result]) -> dict[StudyRun, dict[str, Any]]:
    """What the runs computed, without times."""
    shown: dict[StudyRun, dict[str, Any]] = {}
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
    assert {(run.arm, run.seed) for run in results} == {("grpo", 0), ("grpo", 1), ("rloo", 0), ("rloo", 1)}
    for result in results.values():
        assert result.after is not None and result.before is not None and result.tokens > 0
        pilot = Result.read(folder / "results" / "countdown-3" / result.arm / "pilot.json")
        assert result.planned == math.ceil(queue.ROOM * 60 / (pilot.tokens / queue.PILOT_STEPS))
        run = RunFolder.read_only(folder / "runs" / "countdown-3" / result.arm / f"seed-{result.seed}")
        spent = [record["budget/generated_tokens"] for record in run.read("metrics")]
        assert spent[-1] >= 60 > max(spent[:-1]), "its last step spends the rest"
        assert (result.steps, result.tokens) == (len(spent), spent[-1]) and len(spent) < result.planned
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder / "results", moved / "results")
    monkeypatch.setattr(session, "start", lambda *_, **__: pytest.fail("a finished run was run again"))
    assert core_of(queue.fill(study, moved)) == core_of(results)
    assert queue.outlook(study, moved).document()["done"] == 4
    one = folder / "results" / "countdown-3" / "rloo" / "seed-1.json"
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
def test_results_are_adopted_as_answers_to_a_study_in_other_words(model: Path, tmp_path: Path) -> None:
    """And with them their steps: a budget in tokens needs no pilot where a run of it is done."""
    study, folder = study_of(model, budget=Budget("tokens", 60)), tmp_path / "study"
    before = queue.fill(study, folder)
    for path in (folder / "results").rglob("pilot.json"):
        path.unlink()
    assert queue.outlook(study, folder).others == 0
    other = dataclasses.replace(study, settings={**SMALL, "scale.learning-rate": "1e-5"})
    assert queue.outlook(other, folder).done == 0 and queue.outlook(other, folder).others == 2
    assert queue.adopt(other, folder) == 4
    assert queue.outlook(other, folder).done == 4 and queue.outlook(study, folder).done == 0
    assert [r.spent for r in queue.fill(other, folder).values()] == [r.spent for r in before.values()]
    another = dataclasses.replace(other, budget=Budget("tokens", 120))
    assert queue.outlook(another, folder).done == 0, "runs of another budget answer another question"


@pytest.mark.slow
def test_a_run_ends_with_its_tokens_and_says_so_when_it_is_resumed(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, run = Shell(capsys), tmp_path / "run"
    assert shell(*train_line(model, run), "--scale.num-tokens", 30, "--steps", 50, "--quiet").code == 0
    metrics, evals = RunFolder.read_only(run).read("metrics"), RunFolder.read_only(run).read("evals")
    assert metrics[-1]["budget/generated_tokens"] >= 30 > metrics[-2]["budget/generated_tokens"]
    assert [entry["step"] for entry in evals if entry["set"] == "test"] == [0, len(metrics)]
    reply = shell("resume", run, "--quiet")
    assert reply.code == 0 and f"has spent its 30 tokens (scale.num_tokens), in {len(metrics)} steps" in reply.err
    assert RunFolder.read_only(run).read("metrics") == metrics
    assert shell("train", "grpo", "--dry-run", "--scale.num-tokens", -1).code == 78


@pytest.mark.slow
def test_recipes_that_generate_nothing_train_on_the_tokens_of_their_budget(model: Path, tmp_path: Path) -> None:
    arms = {"grpo": Arm("grpo"), "sft": Arm("sft", budget=Budget("tokens", 400))}
    (result, *_) = [
        r
        for run, r in queue.fill(study_of(model, arms=arms), tmp_path / "study", quiet=True).items()
        if run.arm == "sft"
    ]
    assert result.spent["generated_tokens"] == 0 and result.tokens == result.spent["update_tokens"]
    assert result.tokens >= 400 and result.curve[-1][1] == result.tokens and result.steps < result.planned


def test_an_arm_whose_first_steps_spend_nothing_is_named_and_the_others_run(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def done(self: Any, run: StudyRun, steps: int) -> Result:
        spent = {} if run.arm == "grpo" and run.kind == "pilot" else {"generated_tokens": 60.0}
        return result_of(run.arm, run.seed, np.array([1, 2]), spent=spent)

    monkeypatch.setattr(queue._Queue, "_get", done)
    with pytest.raises(AssayError, match="grpo on countdown:3 generated nothing and trained on nothing") as error:
        queue.fill(study_of(model, budget=Budget("tokens", 60)), tmp_path, quiet=True)
    assert "1 of 2 arms are not done, all others are" in str(error.value)


@pytest.mark.slow
def test_what_other_code_ran_is_trained_anew_if_that_is_asked(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the finished run is still there, which a resume would take for its own."""
    study, folder = study_of(model), tmp_path / "study"
    queue.fill(study, folder, quiet=True)
    monkeypatch.setattr(queue, "code", lambda: "other123")
    assert {result.code for result in queue.fill(study, folder, quiet=True).values()} != {"other123"}
    started: list[Path] = []
    real = session.start

    def start(experiment: Any, path: Any, **how: Any) -> Path:
        started.append(path)
        return real(experiment, path, **how)

    monkeypatch.setattr(session, "start", start)
    assert {result.code for result in queue.fill(study, folder, again=True, quiet=True).values()} == {"other123"}
    assert len(started) == 4
    assert len(queue.fill(study, folder, again=True, quiet=True)) == len(started) == 4


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_kill_in_the_middle_repeats_nothing_and_loses_nothing(model: Path, tmp_path: Path) -> None:
    line = ["-m", "assay", "compare", "grpo", "rloo", "--model", str(model), "--task", TASK, "--seeds", "2"]
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
def test_a_run_that_another_process_has_begun_is_left_to_it_and_done_here_if_it_ends_without_a_result(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, folder = study_of(model), tmp_path / "study"
    lock = folder / "runs" / "countdown-3" / "grpo" / "seed-0.lock"
    real, done = session.start, []

    def start(experiment: Any, path: Path, **how: Any) -> Path:
        done.append(f"{path.parent.name}/{path.name}")
        return real(experiment, path, **how)

    lock.parent.mkdir(parents=True)
    with lock.open("w") as other:  # of the other process, which ends when all else is done
        fcntl.flock(other, fcntl.LOCK_EX)
        monkeypatch.setattr(session, "start", start)
        told: list[str] = []

        def tell(text: str) -> None:
            told.append(text)
            if text.startswith("waiting for a run of another process"):
                fcntl.flock(other, fcntl.LOCK_UN)

        assert len(queue.fill(study, folder, tell=tell)) == 4
    assert f"waiting for a run of another process: {lock.with_suffix('')}" in told
    assert done == ["rloo/seed-0", "grpo/seed-1", "rloo/seed-1", "grpo/seed-0"]


@pytest.mark.turns(3)
@pytest.mark.slow
def test_two_processes_share_a_study_and_each_run_is_done_once(model: Path, tmp_path: Path) -> None:
    line = ["-m", "assay", "compare", "grpo", "rloo", "--model", str(model), "--task", TASK, "--seeds", "3"]
    line += ["--budget", "steps=3", *(part for name, value in SIZES.items() for part in (f"--{name}", str(value)))]
    line += ["--into", str(tmp_path / "shared"), "--json"]
    with ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda _: program(line), range(2)))
    assert [one.returncode for one in both] == [0, 0], [one.stderr for one in both]
    assert len({json.dumps(json.loads(one.stdout)["cells"]) for one in both}) == 1
    ran = [text for one in both for text in one.stderr.splitlines() if " of 6  " in text]
    named = [text.split("  ")[1] for text in ran]
    assert len(named) == len(set(named)) == 6


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
    assert {run.arm for run in queue.stored(study_of(model), tmp_path / "study")} == {"rloo"}
