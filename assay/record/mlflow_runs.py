"""The sink for MLflow: a run on an MLflow server, or in a database of this machine, which a resumed run continues."""

from __future__ import annotations

import importlib.util
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import ConfigError
from assay.record.series import Ended, Series, leaves

if TYPE_CHECKING:
    from assay.run.experiment import Tracking

TAG = "assay.run"  # of an MLflow run: the id in run.json, by which a resumed run is found again
URI = "MLFLOW_TRACKING_URI"  # MLflow's own variable, for a run without `tracking.mlflow_uri`
STATUS: dict[Ended, str] = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}
FILES = ("report.html", "run.json")  # of the run folder, kept with the MLflow run
CARD = "README.md"
DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
FORBIDDEN = re.compile(r"[^\w./: -]")  # in the name of a metric or parameter
METRICS, PARAMS = 1000, 100  # that one request may carry
LONGEST = 6000  # characters of a parameter
ANSWER = 10.0  # seconds within which a server must answer at the start

T = TypeVar("T")


def require_store(tracking: Tracking) -> None:
    """Refuses a place that cannot keep an MLflow run; called before the run starts. Asks no server."""
    if "mlflow" not in tracking.sinks:
        if tracking.mlflow_uri:
            raise ConfigError("--tracking.mlflow-uri says where MLflow keeps the run: add --track mlflow.")
        return
    uri = tracking.mlflow_uri or os.environ.get(URI, "")
    named = f"--tracking.mlflow-uri {uri}" if tracking.mlflow_uri else f"the environment variable {URI}"
    if is_server(uri) and tracking.offline:
        raise ConfigError(f"--tracking.offline true keeps the run here, and {named} names a server: leave one out.")
    _require_kind(uri, named)


def is_server(uri: str) -> bool:
    """Whether metrics leave this machine: all places but a file of SQLite or a folder do that."""
    return bool(uri) and not uri.startswith(("sqlite:", "file:"))


def _require_kind(uri: str, named: str) -> None:
    kind = uri.partition(":")[0].partition("+")[0]
    if uri and "://" not in uri and kind != "databricks":
        raise ConfigError(f"{named} is no address: write http://SERVER:PORT, or sqlite:///FILE.db for a file.")
    if kind == "file" and os.environ.get("MLFLOW_ALLOW_FILE_STORE", "").lower() not in ("true", "1"):
        raise ConfigError(f"{named} is a folder, in which MLflow 3 keeps runs no more: write sqlite:///FILE.db.")
    missing = [name for name in ("sqlalchemy", "alembic") if importlib.util.find_spec(name) is None]
    if missing and (not uri or kind in DATABASES):
        raise ConfigError(
            f"--track mlflow keeps the run in a database, for which {' and '.join(missing)} must be installed: "
            f"pip install 'assay-rl[track]', or name a server with --tracking.mlflow-uri http://SERVER:PORT."
        )


class MLflow:
    """A run of an MLflow experiment: the settings are its parameters, the report and the model card its artifacts.

    MLflow keeps all values that a metric ever had at a step. So that a resumed run writes no step twice, it leaves out
    the steps that are there; they are equal bit for bit.
    """

    def open(self, series: Series) -> None:
        for name, value in {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_LOGGING_LEVEL": "WARNING"}.items():
            os.environ.setdefault(name, value)  # read when `mlflow` is imported; a person's own choice stands
        from mlflow.tracking import MlflowClient  # type: ignore[import-not-found]

        self.series = series
        self.client: Any = MlflowClient(tracking_uri=series.mlflow_uri or None)
        _require_answer(self.client.tracking_uri)
        experiment = self._experiment(series.project)
        before = self.client.search_runs([experiment], f"tags.`{TAG}` = '{series.id}'", max_results=1)
        self.resumed = bool(before)
        self.run: str = before[0].info.run_id if before else self._new_run(experiment)
        self.there: dict[str, set[int]] = {}
        if before:
            self.client.update_run(self.run, status="RUNNING")
        self._write_settings(before[0].data.params if before else {})

    def log(self, step: int, values: Mapping[str, float]) -> None:
        from mlflow.entities import Metric  # type: ignore[import-not-found]

        now = int(time.time() * 1000)
        named = {written(name): value for name, value in values.items()}
        fresh = [Metric(name, value, now, step) for name, value in named.items() if step not in self._steps(name)]
        for part in _parts(fresh, METRICS):
            self.client.log_batch(self.run, metrics=part)

    def close(self, ended: Ended) -> None:
        self.client.set_terminated(self.run, status=STATUS[ended])
        for name in FILES:
            if (path := Path(self.series.folder) / name).is_file():
                self.client.log_artifact(self.run, str(path))
        if ended == "finished" and self.series.card is not None:
            self.client.log_text(self.run, self.series.card(), CARD)

    def _experiment(self, project: str) -> str:
        """The id of the experiment of this name, which is made if it is not there."""
        from mlflow.exceptions import MlflowException  # type: ignore[import-not-found]

        if (there := self.client.get_experiment_by_name(project)) is not None:
            return there.experiment_id
        try:
            return self.client.create_experiment(project)
        except MlflowException:  # another run that started at the same time has made it
            if (there := self.client.get_experiment_by_name(project)) is None:
                raise
            return there.experiment_id

    def _new_run(self, experiment: str) -> str:
        tags = {TAG: self.series.id, "assay.folder": str(self.series.folder.resolve())}
        return self.client.create_run(experiment, run_name=self.series.name, tags=tags).info.run_id

    def _write_settings(self, before: Mapping[str, str]) -> None:
        """A parameter keeps its first value, as MLflow wants it; what a resume has changed becomes a tag."""
        from mlflow.entities import Param, RunTag  # type: ignore[import-not-found]

        settings = {written(name): str(value)[:LONGEST] for name, value in leaves(self.series.config)}
        fresh = [Param(name, value) for name, value in settings.items() if name not in before]
        moved = [name for name in settings.keys() & before.keys() if settings[name] != before[name]]
        for part in _parts(fresh, PARAMS):
            self.client.log_batch(self.run, params=part)
        for part in _parts(sorted(moved), PARAMS):
            self.client.log_batch(self.run, tags=[RunTag(f"resumed.{name}", settings[name]) for name in part])

    def _steps(self, name: str) -> set[int]:
        """The steps at which a metric has a value from before the resume."""
        if not self.resumed:
            return set()
        if name not in self.there:
            self.there[name] = {metric.step for metric in self.client.get_metric_history(self.run, name)}
        return self.there[name]


def written(name: str) -> str:
    """A name in the characters that MLflow allows: `eval/test/pass@1` is `eval/test/pass_at_1`."""
    return FORBIDDEN.sub(lambda match: f"_{ord(match[0]):x}_", name.replace("@", "_at_"))


def _parts(items: Sequence[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _require_answer(uri: str) -> None:
    """ConfigError if nobody listens at this address: MLflow itself would try for minutes before it says so.

    What the server answers, and whether its certificate holds, is left to MLflow, which has settings for them.
    """
    if not uri.startswith(("http://", "https://")):
        return
    import requests

    try:
        requests.get(f"{uri.rstrip('/')}/health", timeout=ANSWER).close()
    except requests.exceptions.SSLError:
        return
    except (requests.ConnectionError, requests.Timeout) as error:
        shown = re.sub(r"//[^/@]*@", "//", uri)  # without a password
        raise ConfigError(
            f"no answer from the MLflow server {shown}: is it running? ({type(error).__name__})"
        ) from error
