"""Callbacks: what they see, that nothing depends on them, and that what they stop goes on to the same bits."""

from __future__ import annotations

import dataclasses
import random
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_runs import SIZES, STEPS, came_to, copy_of, make_model

import assay
from assay.errors import UsageError
from assay.record.folder import RunFolder
from assay.run.callbacks import Watch

SETTINGS: dict[str, Any] = {name.replace("-", "_"): value for name, value in SIZES.items()}
Train = Callable[..., assay.Run]


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    model = make_model(tmp_path_factory.mktemp("model") / "small")

    def trained(callbacks: Any = (), **more: Any) -> assay.Run:
        run = tmp_path_factory.mktemp("runs") / "run"
        how: dict[str, Any] = {"steps": STEPS, "settings": SETTINGS, "quiet": True, "run": run, **more}
        return assay.train("grpo", task="countdown", levels=(3,), model=model, callbacks=callbacks, **how)

    return trained


@pytest.fixture(scope="module")
def plain(train: Train) -> assay.Run:
    return train()


class All:
    """Remembers every event, and disturbs whatever a callback can reach."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_step(self, event: assay.StepEvent) -> None:
        self._heard(event)
        with pytest.raises(TypeError):
            event.metrics["reward/mean"] = 9.0  # type: ignore[index]

    def on_episodes(self, event: assay.EpisodesEvent) -> None:
        self._heard(event)
        with pytest.raises(dataclasses.FrozenInstanceError):
            event.answers[0].text = ""  # type: ignore[misc]

    def on_evaluation(self, event: assay.EvaluationEvent) -> None:
        self._heard(event)

    def on_save(self, event: assay.SaveEvent) -> None:
        self._heard(event)
        assert (event.checkpoint / "policy" / "config.json").is_file()
        RunFolder.read_only(event.run).load(event.step)

    def on_end(self, event: assay.EndEvent) -> None:
        self._heard(event)

    def _heard(self, event: Any) -> None:
        import torch

        self.seen.append(event)
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(len(self.seen))
        torch.rand(7)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.seen if isinstance(event, kind)]


@pytest.mark.slow
def test_nothing_that_is_computed_depends_on_callbacks_and_they_see_all_of_it(train: Train, plain: assay.Run) -> None:
    heard = All()
    run = train([heard, lambda event: None])
    assert came_to(run.path) == came_to(plain.path)
    steps = heard.of(assay.StepEvent)
    assert [(event.step, event.total) for event in steps] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    for event, record in zip(steps, run.metrics(), strict=True):
        assert {**event.metrics, "step": event.step} == {**event.metrics, **record}
        assert ("eval/valid/pass@1" in event.metrics) == (event.step in (2, 4))
    for event in heard.of(assay.EpisodesEvent):
        kept = run.rollouts(event.step) if event.step in (1, 4) else ()
        told = sorted((answer.text, answer.prompt, answer.reward) for answer in event.answers)
        assert len(told) == 4
        if event.step in (1, 4):
            assert told == sorted((row["completion"], row["prompt"], row["reward"]) for row in kept)
    exams = [(event.step, event.set) for event in heard.of(assay.EvaluationEvent)]
    assert exams == [(entry["step"], entry["set"]) for entry in run.evaluations()]
    assert [event.step for event in heard.of(assay.SaveEvent)] == [0, 1, 2, 3, 4]
    (end,) = heard.of(assay.EndEvent)
    assert heard.seen[-1] is end and (end.finished, end.step, end.reason) == (True, 4, "")


def at(step: int, what: Any) -> Callable[[assay.StepEvent], Any]:
    return lambda event: what if event.step == step else None


@pytest.mark.slow
@pytest.mark.parametrize("stop", [assay.Stop("right; often enough"), assay.Stop], ids=["reason", "bare"])
def test_a_run_that_a_callback_stops_is_saved_and_goes_on_to_the_same_bits(
    stop: Any, train: Train, plain: assay.Run
) -> None:
    ends: list[assay.EndEvent] = []
    listener: Any = type("End", (), {"on_end": staticmethod(ends.append)})()
    run = train([at(1, stop), listener], settings={**SETTINGS, "saving.every": 100})
    assert run.steps == 1 and not run.finished and plain.finished
    assert [(event.finished, event.step) for event in ends] == [(False, 1)]
    assert ends[0].reason == getattr(stop, "reason", "") or "a callback asked for it" in ends[0].reason
    checkpoint = RunFolder.read_only(run.path).load()
    assert checkpoint is not None and checkpoint.step == 1
    again = run.resume(quiet=True, callbacks=[at(3, stop)])
    assert again.steps == 3
    last = again.resume(quiet=True)
    assert last.finished and came_to(last.path)[1:] == came_to(plain.path)[1:]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["on_evaluation", "on_save"])
def test_a_run_stops_before_its_first_step_too(name: str, train: Train, plain: assay.Run) -> None:
    listener: Any = type("First", (), {name: staticmethod(lambda event: assay.Stop("at once"))})()
    run = train([listener])
    assert run.steps == 0
    assert came_to(run.resume(quiet=True).path) == came_to(plain.path)


@pytest.mark.slow
def test_a_stop_at_the_last_step_is_an_end(train: Train, plain: assay.Run) -> None:
    run = train(at(STEPS, assay.Stop()))
    assert run.finished and came_to(run.path) == came_to(plain.path)


class OfTheUser(Exception):
    pass


def broken(event: assay.StepEvent) -> None:
    if event.step == 2:
        raise OfTheUser("my own mistake")


@pytest.mark.slow
def test_an_error_of_a_callback_is_the_users_own_and_the_run_goes_on(
    train: Train, plain: assay.Run, tmp_path: Path
) -> None:
    later: list[int] = []
    run = tmp_path / "run"
    with pytest.raises(OfTheUser, match="my own mistake") as caught:
        train([broken, lambda event: later.append(event.step)], run=run)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "broken"
    (note,) = caught.value.__notes__
    assert re.search(r"saved at step 2; assay\.resume\('.*run'\) continues it", note)
    assert later == [1], "nothing is told after an error"
    assert assay.Run(run).steps == 2
    assert came_to(assay.resume(run, quiet=True).path) == came_to(plain.path)


@pytest.mark.slow
def test_an_error_at_the_last_step_leaves_a_finished_run(train: Train, plain: assay.Run, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        train(lambda event: 1 / (STEPS - event.step), run=tmp_path / "run")
    assert came_to(tmp_path / "run") == came_to(plain.path)


@pytest.mark.slow
def test_a_finished_run_that_is_resumed_ends_again(plain: assay.Run, tmp_path: Path) -> None:
    ends: list[assay.EndEvent] = []
    listener: Any = type("End", (), {"on_end": staticmethod(ends.append)})()
    assay.resume(copy_of(plain.path, tmp_path / "copy"), callbacks=listener, quiet=True)
    assert [(event.finished, event.step) for event in ends] == [(True, STEPS)]


class Misspelt:
    def on_steps(self, event: Any) -> None: ...


class OfTransformers:
    def on_step_end(self, *_: Any) -> None: ...
    def on_train_begin(self, *_: Any) -> None: ...


@pytest.mark.parametrize(
    ("callbacks", "says"),
    [
        (3, "the callback int has no method and would not be called: it takes a function, or an object with on_step"),
        ([3], "the callback int has no method"),
        (Misspelt(), "on_steps is on_step here"),
        ([OfTransformers()], "on_step_end is on_step here"),
        ([All], "give an object of it, All()"),
    ],
)
def test_what_would_never_be_called_is_refused(callbacks: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        assay.train("grpo", task="countdown", callbacks=callbacks, run=tmp_path / "run")
    assert says in str(caught.value) and not (tmp_path / "run").exists()


def test_one_function_needs_no_list_and_an_object_may_be_called_in_several_ways() -> None:
    seen: list[Any] = []
    both: Any = type("Both", (), {"__call__": lambda self, e: 1 / 0, "on_end": lambda self, e: seen.append(e)})()
    Watch.of(seen.append).tell("on_step", "a")
    watch = Watch.of(both)
    watch.tell("on_step", "b")
    watch.tell("on_end", "c")
    assert seen == ["a", "c"] and watch.error is None


def test_of_several_stops_the_first_counts_and_other_returns_mean_nothing() -> None:
    watch = Watch.of([lambda e: True, lambda e: 17, lambda e: assay.Stop("one"), lambda e: assay.Stop("two")])
    watch.tell("on_step", None)
    assert watch.stop == assay.Stop("one") and watch.stops
