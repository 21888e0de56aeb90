"""Trackers that receive the metrics of a run: TensorBoard, Weights & Biases, trackio, MLflow. None can stop a run.

A sink, which passes metrics to one tracker, works in a thread of its own behind a bounded queue. If the sink fails or
is too slow, that gives a warning and no error. The file `metrics.jsonl` of the run is complete in any case.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import ConfigError, EndpointError, Stopped
from assay.record.mlflow_runs import MLflow
from assay.record.series import Ended, Series, leaves

if TYPE_CHECKING:
    from assay.record.folder import RunFolder
    from assay.run.experiment import Experiment

BOUND = 1000  # records that may wait for a slow sink; after that the oldest are dropped
PATIENCE = 10.0  # seconds that a run waits at its end for all its sinks together
FAILURES = 5  # failures in a row after which a sink gets no more records


class Sink(Protocol):
    """Passes metrics to one tracker. One thread calls `open` once, `log` for each step, and `close` once."""

    def open(self, series: Series) -> None: ...
    def log(self, step: int, values: Mapping[str, float]) -> None: ...
    def close(self, ended: Ended) -> None: ...


class TensorBoard:
    """Event files in `tensorboard/` of the run folder; steps that a resumed run repeats replace their old values."""

    def open(self, series: Series) -> None:
        from torch.utils.tensorboard import SummaryWriter

        purge = series.first if series.first else None
        self.writer = SummaryWriter(str(series.folder / "tensorboard"), purge_step=purge, flush_secs=10)
        if not series.first:
            rows = "\n".join(f"| {name} | {value} |" for name, value in leaves(series.config))
            self.writer.add_text("config", f"| setting | value |\n|-|-|\n{rows}", global_step=0)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, global_step=step)

    def close(self, ended: Ended) -> None:
        self.writer.close()


class WeightsAndBiases:
    """A run of `wandb` with the id of this run; with `tracking.offline` it stays on this machine."""

    def open(self, series: Series) -> None:
        import wandb  # type: ignore[import-not-found]

        online = not series.offline and os.environ.get("WANDB_MODE", "online") == "online"
        if online and not wandb.login(prompt=False):  # nobody may be at the terminal to answer a prompt
            raise ConfigError("wandb has no key: run `wandb login`, or take --tracking.offline true")
        self.run: Any = wandb.init(
            project=series.project,
            name=series.name,
            id=series.id,
            resume="allow",
            dir=str(series.folder),
            config=dict(series.config),
            mode="offline" if series.offline else None,
            settings=wandb.Settings(console="off", silent=True, allow_val_change=True),
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def close(self, ended: Ended) -> None:
        self.run.finish(exit_code=int(ended == "failed"))


class Trackio:
    """A run in a local trackio project; the command `trackio show` opens the project."""

    def open(self, series: Series) -> None:
        import trackio  # type: ignore[import-not-found]

        self.run: Any = trackio.init(
            project=series.project,
            name=f"{series.name}-{series.id[:8]}",
            config=dict(leaves(series.config)),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def close(self, ended: Ended) -> None:
        self.run.finish()


SINKS: dict[str, tuple[str, Callable[[], Sink]]] = {  # name -> (the package that it needs, its class)
    "tensorboard": ("tensorboard", TensorBoard),
    "wandb": ("wandb", WeightsAndBiases),
    "trackio": ("trackio", Trackio),
    "mlflow": ("mlflow", MLflow),
}


def require(names: Sequence[str]) -> None:
    """Refuses sinks whose packages are not installed; called before a run starts."""
    for name in names:
        package, _ = SINKS[name]
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"--track {name} needs the package {package}, which is not installed: pip install 'assay-rl[track]'. "
                "Without it metrics.jsonl and report.html of the run folder hold the same numbers."
            )


def series_of(folder: RunFolder, experiment: Experiment, step: int, card: Callable[[], str] | None = None) -> Series:
    """The series of the run in this folder, which has done `step` steps; `card` makes its model card at the end."""
    tracking = experiment.tracking
    return Series(
        id=folder.document["run"],
        name=tracking.name or folder.path.resolve().name,
        project=tracking.project,
        folder=folder.path,
        config=folder.document["experiment"],
        first=step + 1 if folder.store.steps() else 0,
        offline=tracking.offline,
        mlflow_uri=tracking.mlflow_uri,
        card=card,
    )


class Feeder:
    """Passes records to a sink in a thread of its own, so that `log` never waits and never raises.

    feeder = Feeder("tensorboard", TensorBoard(), series)
    feeder.log(1, {"reward/mean": 0.4}); feeder.close(10.0)
    """

    def __init__(self, name: str, sink: Sink, series: Series, *, bound: int = BOUND) -> None:
        self.name, self._sink, self._series, self._bound = name, sink, series, bound
        self._waiting: deque[tuple[int, Mapping[str, float]]] = deque()
        self._changed = threading.Condition()
        self._closing = self._over = False
        self._ended: Ended = "finished"
        self._dropped = 0
        self._news: list[str] = []
        self._thread = threading.Thread(target=self._work, name=f"sink-{name}", daemon=True)
        self._thread.start()

    def log(self, step: int, values: Mapping[str, float]) -> None:
        with self._changed:
            if self._over:
                return
            if len(self._waiting) >= self._bound:
                self._waiting.popleft()
                self._drop("is too slow; its oldest records are dropped")
            self._waiting.append((step, dict(values)))
            self._changed.notify()

    def news(self) -> list[str]:
        """The warnings since the last call."""
        with self._changed:
            sentences, self._news = self._news, []
        return sentences

    def close(self, patience: float, ended: Ended = "finished") -> None:
        """Waits up to `patience` seconds for records that the sink has not received, then warns of their number."""
        with self._changed:
            self._closing, self._ended = True, ended
            self._changed.notify()
        self._thread.join(patience)
        with self._changed:
            if self._thread.is_alive():
                self._over = True  # the thread is a daemon: it ends with the process
                lost = len(self._waiting) + self._dropped
                lack = f"{lost} records did not reach it" if lost else "it may lack the end of the run"
                self._tell(f"did not finish in time; {lack}")
            elif self._dropped:
                self._tell(f"lacks {self._dropped} records")

    def _drop(self, why: str) -> None:
        self._dropped += 1
        if self._dropped == 1:
            self._tell(why)

    def _tell(self, what: str) -> None:
        self._news.append(f"{self.name} {what}; metrics.jsonl holds all records")

    def _work(self) -> None:
        if not self._try(lambda: self._sink.open(self._series), "could not be opened"):
            self._end()
            return
        failures = 0
        while (record := self._next()) is not None:
            step, values = record
            done = self._try(lambda step=step, values=values: self._sink.log(step, values), f"refused step {step}")
            failures = 0 if done else failures + 1
            if failures >= FAILURES:
                self._end()
                break
        self._try(lambda: self._sink.close(self._ended), "could not be closed")

    def _next(self) -> tuple[int, Mapping[str, float]] | None:
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            return self._waiting.popleft() if self._waiting and not self._over else None

    def _end(self) -> None:
        with self._changed:
            self._over = True
            self._dropped += len(self._waiting)
            self._waiting.clear()

    def _try(self, act: Callable[[], None], what: str) -> bool:
        """Calls code of the tracker, which may raise anything: an error becomes a warning, and the run goes on."""
        try:
            act()
        except Exception as error:
            reason = f"{what} ({type(error).__name__}: {str(error).strip()[:300]})"
            with self._changed:
                if what.startswith("refused"):
                    self._drop(reason)
                else:
                    self._tell(reason)
            return False
        return True


class Tracker:
    """All sinks of a run; `log` passes the metrics of a step to each of them, and prints their warnings with `note`.

    `note` is called in the thread of the run only, because it writes to the panel.
    """

    def __init__(self, feeders: Sequence[Feeder], note: Callable[[str], None]) -> None:
        self._feeders, self._note = feeders, note

    def log(self, step: int, values: Mapping[str, float]) -> None:
        for feeder in self._feeders:
            feeder.log(step, values)
        self._tell()

    def close(self, ended: Ended = "finished", *, patience: float = PATIENCE) -> None:
        end = time.monotonic() + patience
        for feeder in self._feeders:
            feeder.close(max(0.0, end - time.monotonic()), ended)
        self._tell()

    def _tell(self) -> None:
        for feeder in self._feeders:
            for sentence in feeder.news():
                self._note(f"warning: {sentence}")


@contextlib.contextmanager
def tracking(names: Sequence[str], series: Series, note: Callable[[str], None]) -> Iterator[Tracker]:
    """A tracker with the sinks of these names, which is closed at the end of the `with` block and told how it ended."""
    tracker = Tracker([Feeder(name, SINKS[name][1](), series) for name in names], note)
    ended: Ended = "failed"
    try:
        yield tracker
        ended = "finished"
    except (Stopped, EndpointError, KeyboardInterrupt):
        ended = "stopped"
        raise
    finally:
        tracker.close(ended)
