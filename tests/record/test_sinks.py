"""Sinks: a run is told of elsewhere in full and in order, and no sink can hold it, break it or cost it a record."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import Shell, came_to, make_model, steps_of, train_line

from assay.errors import ConfigError, Stopped
from assay.record import sinks
from assay.record.folder import RunFolder
from assay.record.sinks import FAILURES, Ended, Feeder, Series, Tracker, leaves, require, tracking

SERIES = Series(id="0123456789abcdef", name="run-1", project="assay", folder=Path("nowhere"))


class Memory:
    """A sink that remembers what it is told; it may wait, or raise, when asked to."""

    def __init__(self, *, gate: threading.Event | None = None, fails: Mapping[int, str] | None = None) -> None:
        self.records: list[tuple[int, dict[str, float]]] = []
        self.opened: list[Series] = []
        self.closed = 0
        self.gate, self.fails = gate, fails or {}

    def open(self, series: Series) -> None:
        if -1 in self.fails:
            raise RuntimeError(self.fails[-1])
        self.opened.append(series)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        if self.gate is not None:
            self.gate.wait()
        if step in self.fails:
            raise RuntimeError(self.fails[step])
        self.records.append((step, dict(values)))

    def close(self, ended: Ended) -> None:
        self.closed += 1
        self.ended = ended


@given(count=st.integers(0, 40))
@settings(max_examples=20, deadline=None)
def test_a_sink_is_told_everything_in_order(count: int) -> None:
    sink = Memory()
    feeder = Feeder("memory", sink, SERIES)
    for step in range(count):
        feeder.log(step, {"reward/mean": step / 7})
    feeder.close(30)
    assert sink.records == [(step, {"reward/mean": step / 7}) for step in range(count)]
    assert sink.opened == [SERIES] and sink.closed == 1
    assert feeder.news() == []


def test_a_sink_that_blocks_loses_its_oldest_records_and_the_run_is_told_once() -> None:
    gate = threading.Event()
    sink = Memory(gate=gate)
    feeder = Feeder("slow", sink, SERIES, bound=3)
    feeder.log(0, {})
    while feeder._waiting:  # until the thread holds the first record, behind the gate
        time.sleep(0.001)
    for step in range(1, 11):
        feeder.log(step, {})
    assert feeder.news() == ["slow is too slow; its oldest records are dropped; metrics.jsonl holds all records"]
    gate.set()
    feeder.close(30)
    assert [step for step, _ in sink.records] == [0, 8, 9, 10]
    assert feeder.news() == ["slow lacks 7 records; metrics.jsonl holds all records"]


def test_the_end_of_a_run_does_not_wait_for_a_sink_that_hangs() -> None:
    gate = threading.Event()
    sink = Memory(gate=gate)
    feeder = Feeder("stuck", sink, SERIES)
    for step in range(4):
        feeder.log(step, {})
    while len(feeder._waiting) > 3:
        time.sleep(0.001)
    feeder.close(0.0)  # the gate is shut: whoever waits for the thread waits for ever
    assert feeder.news() == [
        "stuck did not finish in time; 3 records did not reach it; metrics.jsonl holds all records"
    ]
    feeder.log(9, {})
    gate.set()
    feeder._thread.join(30)
    assert [step for step, _ in sink.records] == [0]


def test_a_sink_that_refuses_a_record_is_told_the_others() -> None:
    sink = Memory(fails={2: "no room\n"})
    feeder = Feeder("picky", sink, SERIES)
    for step in range(5):
        feeder.log(step, {})
    feeder.close(30)
    assert [step for step, _ in sink.records] == [0, 1, 3, 4]
    assert feeder.news() == [
        "picky refused step 2 (RuntimeError: no room); metrics.jsonl holds all records",
        "picky lacks 1 records; metrics.jsonl holds all records",
    ]


def test_a_sink_that_always_fails_is_left_alone_and_closed() -> None:
    sink = Memory(fails=dict.fromkeys(range(100), "away"))
    feeder = Feeder("away", sink, SERIES)
    for step in range(50):
        feeder.log(step, {})
    feeder.close(30)
    assert sink.records == [] and sink.closed == 1
    first, last = feeder.news()
    assert "refused step 0 (RuntimeError: away)" in first
    assert "lacks" in last
    assert feeder._dropped >= FAILURES


def test_a_sink_that_cannot_be_opened_is_told_nothing_and_the_run_once() -> None:
    sink = Memory(fails={-1: "no key"})
    feeder = Feeder("locked", sink, SERIES)
    for step in range(5):
        feeder.log(step, {})
    feeder.close(30)
    assert sink.records == [] and sink.closed == 0
    told = feeder.news()
    assert told[0] == "locked could not be opened (RuntimeError: no key); metrics.jsonl holds all records"


def test_one_sink_that_hangs_does_not_keep_another_from_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, sound = threading.Event(), Memory()
    made = {"tensorboard": Memory(gate=gate), "wandb": sound}
    monkeypatch.setattr(sinks, "SINKS", {name: (name, lambda sink=sink: sink) for name, sink in made.items()})
    told: list[str] = []
    tracker = Tracker([Feeder(name, made[name], SERIES) for name in made], told.append)
    tracker.log(1, {"a": 1.0})
    tracker._feeders[1].close(30)
    tracker.close(patience=0.0)
    gate.set()
    assert sound.records == [(1, {"a": 1.0})]
    assert any("tensorboard did not finish in time" in sentence for sentence in told)


def test_leaves_name_every_value_by_its_path() -> None:
    tree = {"seed": 3, "recipe": {"scale": {"max_new": 6}, "roles": ["a", "b"]}, "model": None}
    expected = [("seed", 3), ("recipe.scale.max_new", 6), ("recipe.roles", "['a', 'b']"), ("model", None)]
    assert list(leaves(tree)) == expected


def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "SINKS", {"wandb": ("a_package_that_nobody_has", Memory)})
    with pytest.raises(ConfigError, match=r"pip install 'assay-rl\[track\]'"):
        require(["wandb"])


# Whole runs


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model")


def fake(monkeypatch: pytest.MonkeyPatch, sink: Any) -> None:
    monkeypatch.setattr(sinks, "SINKS", {"tensorboard": ("tensorboard", lambda: sink)})


@pytest.mark.slow
def test_a_run_tells_its_sinks_of_every_step_and_every_examination(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Memory()
    fake(monkeypatch, sink)
    line = train_line(model, tmp_path / "run", "--track", "tensorboard", "--tracking.name", "mine")
    assert shell(*line).code == 0
    folder = RunFolder.read_only(tmp_path / "run")
    assert [(series.id, series.name, series.first) for series in sink.opened] == [(folder.document["run"], "mine", 0)]
    assert sink.opened[0].config == folder.document["experiment"]
    told: dict[int, dict[str, float]] = {}
    for step, values in sink.records:
        told[step] = told.get(step, {}) | values
    for record in folder.read("metrics"):
        step = record.pop("step")
        assert record.items() <= told[step].items()
    for entry in folder.read("evals"):
        assert told[entry["step"]][f"eval/{entry['set']}/pass@1"] == entry["pass"]["1"]["mean"]


@pytest.mark.slow
def test_a_sink_that_fails_at_everything_changes_no_bit_of_a_run(
    shell: Shell, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shell(*train_line(model, tmp_path / "plain")).code == 0
    fake(monkeypatch, Memory(fails=dict.fromkeys(range(-1, 9), "broken")))
    reply = shell(*train_line(model, tmp_path / "tracked", "--track", "tensorboard"))
    assert reply.code == 0
    assert reply.err.count("could not be opened (RuntimeError: broken)") == 1
    assert came_to(tmp_path / "plain") == came_to(tmp_path / "tracked")


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


@pytest.mark.slow
def test_tensorboard_files_hold_the_series_once_after_a_resume(shell: Shell, model: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert shell(*train_line(model, run, "--track", "tensorboard")).code == 0
    assert shell("resume", run, "--steps", 6).code == 0
    metrics = RunFolder.read_only(run).read("metrics")
    found = scalars(run)
    assert steps_of(run) == [1, 2, 3, 4, 5, 6]
    for name in ("reward/mean", "length/mean", "policy/entropy"):
        expected = [(record["step"], pytest.approx(record[name], rel=1e-6)) for record in metrics if name in record]
        assert found[name] == expected
    assert [step for step, _ in found["eval/valid/pass@1"]] == [0, 2, 4, 6]


@pytest.mark.slow
def test_what_a_resumed_run_does_again_replaces_what_a_killed_one_had_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")  # which has the writer for tensorboard

    def tell(first: int, steps: range, value: float) -> None:
        series = Series(id="a", name="a", project="a", folder=tmp_path, config={"seed": 0}, first=first)
        with tracking(["tensorboard"], series, lambda text: pytest.fail(text)) as tracker:
            for step in steps:
                tracker.log(step, {"x": value})

    tell(0, range(1, 6), 1.0)
    tell(4, range(4, 8), 2.0)  # a checkpoint of step 3: steps 4 and 5 are done again
    assert scalars(tmp_path)["x"] == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0), (5, 2.0), (6, 2.0), (7, 2.0)]


WANDB_INIT = "project name id resume dir config mode settings entity notes tags group job_type reinit"
TRACKIO_INIT = "project name group space_id config resume settings private embed auto_log_gpu auto_log_cpu"


class Recorded:
    """A run of a module that is not there: it takes what the real one takes, and remembers it."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}
        self.logged: list[tuple[dict[str, Any], int | None]] = []
        self.finished = 0

    def log(self, data: dict[str, Any], step: int | None = None, commit: bool | None = None) -> None:
        self.logged.append((data, step))

    def finish(self, exit_code: int | None = None) -> None:
        self.finished += 1
        self.exit_code = exit_code


def module_of(names: str, run: Recorded) -> Any:
    class Module:
        def Settings(self, *, console: str, silent: bool, allow_val_change: bool = True) -> str:
            return f"console {console}"

        def login(self, *, prompt: bool = True) -> bool:
            assert not prompt
            return False

        def init(self, **given: Any) -> Recorded:
            assert set(given) <= set(names.split())
            run.made = given
            return run

    return Module()


@pytest.mark.parametrize(("name", "names"), [("wandb", WANDB_INIT), ("trackio", TRACKIO_INIT)])
def test_services_get_the_id_of_the_run_and_go_on_with_it(
    name: str, names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Recorded()
    monkeypatch.setitem(__import__("sys").modules, name, module_of(names, run))
    told: list[str] = []
    series = Series(id="ab" * 16, name="mine", project="p", folder=Path("f"), config={"a": {"b": 1}}, offline=True)
    with tracking([name], series, told.append) as tracker:
        tracker.log(3, {"reward/mean": 0.5})
        tracker.log(4, {"reward/mean": 0.75})
    assert told == []
    assert run.logged == [({"reward/mean": 0.5}, 3), ({"reward/mean": 0.75}, 4)] and run.finished == 1
    assert run.made["project"] == "p" and run.made["resume"] == "allow"
    if name == "wandb":
        assert run.made["id"] == series.id and run.made["mode"] == "offline" and run.made["config"] == {"a": {"b": 1}}
    else:
        assert run.made["name"] == "mine-abababab" and run.made["config"] == {"a.b": 1}


@pytest.mark.parametrize(("error", "code"), [(None, 0), (Stopped("by a signal"), 0), (ValueError("bad"), 1)])
def test_wandb_is_told_whether_the_run_failed(
    error: Exception | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Recorded()
    monkeypatch.setitem(__import__("sys").modules, "wandb", module_of(WANDB_INIT, run))
    series = dataclasses.replace(SERIES, offline=True)
    caught = pytest.raises(type(error)) if error is not None else contextlib.nullcontext()
    with caught, tracking(["wandb"], series, lambda text: pytest.fail(text)) as tracker:
        tracker.log(1, {})
        if error is not None:
            raise error
    assert run.exit_code == code


def test_wandb_without_a_key_asks_nobody_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "wandb", module_of(WANDB_INIT, Recorded()))
    monkeypatch.delenv("WANDB_MODE", raising=False)
    told: list[str] = []
    with tracking(["wandb"], SERIES, told.append) as tracker:
        tracker.log(1, {})
    assert "`wandb login`, or take --tracking.offline true" in told[0]


def until(holds: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.1)


@pytest.mark.slow
def test_wandb_itself_keeps_a_run_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import wandb

    given = set(inspect.signature(wandb.init).parameters)
    assert set(WANDB_INIT.split()) <= given
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    told: list[str] = []
    series = Series(id="run1", name="mine", project="p", folder=tmp_path, config={"seed": 3}, offline=True)
    tracker = Tracker([Feeder("wandb", sinks.WeightsAndBiases(), series)], told.append)
    tracker.log(1, {"reward/mean": 0.5})
    tracker.close(patience=60)
    assert told == []
    (file,) = tmp_path.glob("wandb/offline-run-*-run1/run-run1.wandb")
    until(lambda: b"reward/mean" in file.read_bytes())  # a process of its own writes it, after `finish` returned


@pytest.mark.slow
def test_trackio_itself_keeps_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path))
    import trackio

    assert set(TRACKIO_INIT.split()) <= set(inspect.signature(trackio.init).parameters)
    told: list[str] = []
    series = Series(id="run1", name="mine", project="p", folder=tmp_path, config={"seed": 3})
    tracker = Tracker([Feeder("trackio", sinks.Trackio(), series)], told.append)
    tracker.log(1, {"reward/mean": 0.5})
    tracker.close(patience=60)
    assert told == []
    assert any(path.stat().st_size for path in tmp_path.rglob("*p*.db"))
