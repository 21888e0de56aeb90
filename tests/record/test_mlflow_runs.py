"""MLflow: a real store holds the numbers of a run, each step once; what cannot hold it is refused or told of."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from functools import partialmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_runs import Shell, came_to, make_model, train_line

from assay.errors import ConfigError, Stopped
from assay.host.reach import reached
from assay.record import mlflow_runs, sinks
from assay.record.folder import RunFolder
from assay.record.mlflow_runs import require_store, written
from assay.record.sinks import Series, Tracker, tracking
from assay.run.experiment import Tracking

pytestmark = pytest.mark.filterwarnings("ignore")  # those of MLflow and its database are not ours


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model")


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs, whose tables MLflow takes seconds to make."""
    folder = tmp_path_factory.mktemp("store")
    client_of(folder).search_experiments()
    return folder / "runs.db"


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_store: Path) -> None:
    """A store is there, and no clock decides whether it has everything; artifacts lie in the folder of the test."""
    shutil.copyfile(empty_store, tmp_path / "runs.db")
    monkeypatch.setattr(Tracker, "close", partialmethod(Tracker.close, patience=300.0))
    monkeypatch.delenv(mlflow_runs.URI, raising=False)
    monkeypatch.chdir(tmp_path)


def store(folder: Path) -> str:
    return f"sqlite:///{folder / 'runs.db'}"


def client_of(folder: Path) -> Any:
    from mlflow.tracking import MlflowClient  # type: ignore[import-not-found]

    return MlflowClient(tracking_uri=store(folder))


def only_run(client: Any, project: str = "assay") -> Any:
    (run,) = client.search_runs([client.get_experiment_by_name(project).experiment_id])
    return run


def history(client: Any, run: Any, name: str) -> list[tuple[int, float]]:
    return [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name)]


def series(folder: Path, **more: Any) -> Series:
    return Series(id="ab" * 16, name="mine", project="p", folder=folder, mlflow_uri=store(folder), **more)


def tell(folder: Path, steps: range, value: float = 1.0, **more: Any) -> list[str]:
    """Passes these steps to the store, and returns the warnings."""
    told: list[str] = []
    with tracking(["mlflow"], series(folder, **more), told.append) as tracker:
        for step in steps:
            tracker.log(step, {"x": value})
    return told


@pytest.mark.slow
def test_the_store_holds_the_numbers_of_metrics_jsonl_once_after_a_resume(
    shell: Shell, model: Path, tmp_path: Path, patient: None
) -> None:
    run = tmp_path / "run"
    line = train_line(model, run, "--track", "mlflow", "--tracking.mlflow-uri", store(tmp_path))
    reply = shell(*line, "--tracking.project", "maths")
    assert reply.code == 0 and "metrics.jsonl holds all" not in reply.err
    first = (run / "run.json").read_text()
    reply = shell("resume", run, "--steps", 6)
    assert reply.code == 0 and "metrics.jsonl holds all" not in reply.err
    folder, client = RunFolder.read_only(run), client_of(tmp_path)
    there = only_run(client, "maths")
    expected: dict[str, list[tuple[int, float]]] = {}
    for record in folder.read("metrics"):
        for name, value in record.items():
            expected.setdefault(written(name), []).append((record["step"], value))
    del expected["step"]
    assert [step for step, _ in expected["reward/mean"]] == [1, 2, 3, 4, 5, 6]
    assert {name: history(client, there, name) for name in expected} == expected
    exams = [entry for entry in folder.read("evals") if entry["set"] == "test"]
    assert history(client, there, "eval/test/pass_at_1") == [(e["step"], e["pass"]["1"]["mean"]) for e in exams]
    settings, steps = there.data.params, "recipe.scale.num_steps"
    assert (
        settings.items() >= {"seed": "0", "pool.shares": str(json.loads(first)["experiment"]["pool"]["shares"])}.items()
    )
    assert (settings[steps], there.data.tags[f"resumed.{steps}"]) == ("4", "6")
    assert (there.info.status, there.info.run_name) == ("FINISHED", "run")
    assert there.data.tags["assay.run"] == folder.document["run"]
    kept = {entry.path for entry in client.list_artifacts(there.info.run_id)}
    assert kept == {"report.html", "run.json", "README.md"}
    card = client.download_artifacts(there.info.run_id, "README.md", str(tmp_path))
    assert Path(card).read_text() == (run / "README.md").read_text()


@pytest.mark.slow
def test_what_a_resumed_run_does_again_is_not_written_twice(tmp_path: Path, patient: None) -> None:
    assert tell(tmp_path, range(1, 6), config={"seed": 0, "steps": 4, "text": ""}) == []
    assert tell(tmp_path, range(4, 8), config={"seed": 0, "steps": 40, "text": "", "new": None}) == []
    there = only_run(client_of(tmp_path), "p")
    assert history(client_of(tmp_path), there, "x") == [(step, 1.0) for step in range(1, 8)]
    assert there.data.params == {"seed": "0", "steps": "4", "text": "", "new": "None"}
    assert {name: there.data.tags[name] for name in there.data.tags if name.startswith("resumed.")} == {
        "resumed.steps": "40"
    }


@pytest.mark.slow
def test_two_runs_of_a_project_are_two_runs_of_one_experiment(tmp_path: Path, patient: None) -> None:
    tell(tmp_path, range(1, 3))
    with tracking(["mlflow"], Series("other", "second", "p", tmp_path, mlflow_uri=store(tmp_path)), pytest.fail) as to:
        to.log(1, {"x": 2.0})
    client = client_of(tmp_path)
    runs = client.search_runs([client.get_experiment_by_name("p").experiment_id])
    assert {run.info.run_name: history(client, run, "x") for run in runs} == {
        "mine": [(1, 1.0), (2, 1.0)],
        "second": [(1, 2.0)],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "status"), [(None, "FINISHED"), (Stopped("by a signal"), "KILLED"), (ValueError("bad"), "FAILED")]
)
def test_the_status_says_how_the_run_ended(
    error: Exception | None, status: str, tmp_path: Path, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards: list[str] = []

    def card() -> str:
        cards.append("made")
        return "# The card"

    try:
        with tracking(["mlflow"], series(tmp_path, card=card), lambda text: pytest.fail(text)) as tracker:
            tracker.log(1, {"x": 1.0})
            if error is not None:
                raise error
    except type(error or OSError()):
        pass
    assert only_run(client_of(tmp_path), "p").info.status == status
    assert cards == (["made"] if error is None else []), "a run that did not finish has no results for a card"


@pytest.mark.slow
def test_more_settings_and_metrics_than_one_request_carries(tmp_path: Path, patient: None) -> None:
    config = {f"setting{i}": i for i in range(250)} | {"long": "x" * 9000}
    told: list[str] = []
    with tracking(["mlflow"], series(tmp_path, config=config), told.append) as tracker:
        tracker.log(1, {f"metric/{i}": i / 7 for i in range(1100)})
    there = only_run(client_of(tmp_path), "p")
    assert told == []
    assert there.data.metrics == {f"metric/{i}": i / 7 for i in range(1100)}
    assert there.data.params == {f"setting{i}": str(i) for i in range(250)} | {"long": "x" * 6000}


@given(name=st.text(min_size=1))
def test_names_are_written_in_the_characters_that_mlflow_allows(name: str) -> None:
    assert re.fullmatch(r"[\w./: -]*", written(name))
    if re.fullmatch(r"[a-z0-9/_.]+", name):
        assert written(name) == name


def test_the_name_of_an_exam_stays_readable() -> None:
    assert written("eval/test/pass@16") == "eval/test/pass_at_16"
    assert written("a,b") == "a_2c_b" != written("a;b")


class Broken(BaseHTTPRequestHandler):
    """A server that is there, and can do nothing."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path.endswith("/health") else 500)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def broken() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize("state", ["away", "broken"])
def test_a_server_that_fails_changes_no_bit_of_a_run_and_is_told_of_once(
    state: str,
    shell: Shell,
    model: Path,
    tmp_path: Path,
    broken: str,
    patient: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    address = broken if state == "broken" else "http://127.0.0.1:9"  # nobody listens at the port of `discard`
    assert shell(*train_line(model, tmp_path / "plain")).code == 0
    line = train_line(model, tmp_path / "tracked", "--track", "mlflow", "--tracking.mlflow-uri", address)
    reply = shell(*line)
    assert reply.code == 0
    assert reply.err.count("mlflow could not be opened") == 1 and "metrics.jsonl holds all records" in reply.err
    assert (f"no answer from the MLflow server {address}" in reply.err) == (state == "away")
    assert came_to(tmp_path / "plain") == came_to(tmp_path / "tracked")


REFUSED = {
    "a word": ({"mlflow_uri": "localhost:5000"}, "is no address"),
    "a folder": ({"mlflow_uri": "file:///runs"}, "is a folder"),
    "offline, to a server": ({"mlflow_uri": "http://a:5000", "offline": True}, "leave one out"),
    "without the sink": ({"mlflow_uri": "http://a:5000", "sinks": ()}, "add --track mlflow"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_place_that_cannot_keep_a_run_is_refused_before_the_run(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    settings, sentence = REFUSED[case]
    with pytest.raises(ConfigError, match=sentence):
        require_store(Tracking(**{"sinks": ("mlflow",), **settings}))


def test_the_variable_of_mlflow_is_judged_as_the_setting_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mlflow_runs.URI, "https://user:secret@server")
    require_store(Tracking(sinks=("mlflow",)))
    with pytest.raises(ConfigError, match=mlflow_runs.URI) as refused:
        require_store(Tracking(sinks=("mlflow",), offline=True))
    assert "secret" not in str(refused.value)


@pytest.mark.slow
def test_a_password_of_the_environment_is_not_told(
    tmp_path: Path, patient: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(mlflow_runs.URI, "http://me:secret@127.0.0.1:9")
    told: list[str] = []
    with tracking(["mlflow"], Series("a", "a", "a", tmp_path), told.append) as tracker:
        tracker.log(1, {})
    assert "no answer from the MLflow server http://127.0.0.1:9" in told[0] and "secret" not in " ".join(told)


def test_a_database_needs_its_packages_and_a_server_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(mlflow_runs.URI, raising=False)
    monkeypatch.setattr(mlflow_runs.importlib.util, "find_spec", lambda name: None)
    require_store(Tracking(sinks=("mlflow",), mlflow_uri="http://a:5000"))
    for uri in ("", "sqlite:///a.db", "postgresql+psycopg2://a/b"):
        with pytest.raises(ConfigError, match=r"sqlalchemy and alembic .* pip install 'assay-rl\[track\]'"):
            require_store(Tracking(sinks=("mlflow",), mlflow_uri=uri))


@pytest.mark.parametrize("uri", ["http://me:secret@a:5000", "postgresql+psycopg2://me:secret@a/b", "https://secret@a"])
def test_an_address_with_a_password_is_not_taken_and_not_repeated(uri: str) -> None:
    with pytest.raises(ConfigError, match="MLFLOW_TRACKING_PASSWORD") as refused:
        Tracking(sinks=("mlflow",), mlflow_uri=uri)
    assert "secret" not in str(refused.value)


def test_mlflow_reaches_out_where_an_address_or_your_environment_names_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(mlflow_runs.URI, raising=False)
    assert reached(Tracking(sinks=("mlflow", "trackio"))) == []
    (reach,) = reached(Tracking(sinks=("mlflow",), mlflow_uri="http://a:5000"))
    assert (reach.field, reach.place, reach.mark.consent) == ("mlflow_uri", "http://a:5000", "addresses")
    monkeypatch.setenv(mlflow_runs.URI, "http://a:5000")
    (reach,) = reached(Tracking(sinks=("mlflow",)))
    assert (reach.field, reach.place) == ("sinks", "mlflow")
    assert "mlflow" in sinks.SINKS
