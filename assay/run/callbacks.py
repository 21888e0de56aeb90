"""Callbacks: functions of the calling program that see a run while it goes on, and may stop it.

They are given records that cannot be changed, between the steps, and nothing that a run computes depends on them: with
and without callbacks it comes to the same bits. A run that they stop is saved and goes on with `resume`, to the same
bits as without the stop.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from assay.errors import Stopped, UsageError, near

if TYPE_CHECKING:
    from assay.types import Episode

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class StepEvent:
    """A step is done: its metrics by name, with the held-out scores if it was evaluated."""

    run: Path
    step: int
    total: int  # steps of the whole run
    metrics: Numbers


@dataclass(frozen=True)
class SampledAnswer:
    """An answer of a step: what was asked, what the model wrote, and what it was worth."""

    problem: str  # the id, equal for equal problems
    task: str
    group: str  # answers of one group are compared with each other
    prompt: str  # as the model read it
    text: str
    tokens: int
    finish: str  # stop, length, ...
    verdict: str  # ok, fail, invalid, or "" where nobody gave one
    reward: float | None
    rewards: Numbers  # each part of the reward
    seat: str = ""  # for which it was written, where a world replies
    turns: tuple[Mapping[str, Any], ...] = ()  # who wrote what, as in rollouts: author, text, failed, earned, ...


@dataclass(frozen=True)
class EpisodesEvent:
    """The answers of a step."""

    run: Path
    step: int
    answers: tuple[SampledAnswer, ...]


@dataclass(frozen=True)
class EvaluationEvent:
    """The model was examined on held-out problems: `valid` during training, `test` before and after it."""

    run: Path
    step: int
    set: str
    scores: Numbers  # eval/SET/pass@1 and others


@dataclass(frozen=True)
class SaveEvent:
    """A checkpoint is whole: its folder, with the model in the Hugging Face layout in `policy`."""

    run: Path
    step: int
    checkpoint: Path


@dataclass(frozen=True)
class EndEvent:
    """The run is over: finished, or stopped for a reason."""

    run: Path
    step: int
    finished: bool
    reason: str


@dataclass(frozen=True)
class Stop:
    """What a callback returns to stop the run after this step: `return assay.Stop("the reward is high enough")`."""

    reason: str = "a callback asked for it"


class OnStep(Protocol):
    def on_step(self, event: StepEvent, /) -> Any: ...


class OnEpisodes(Protocol):
    def on_episodes(self, event: EpisodesEvent, /) -> Any: ...


class OnEvaluation(Protocol):
    def on_evaluation(self, event: EvaluationEvent, /) -> Any: ...


class OnSave(Protocol):
    def on_save(self, event: SaveEvent, /) -> Any: ...


class OnEnd(Protocol):
    def on_end(self, event: EndEvent, /) -> Any: ...


Callback = Callable[[StepEvent], Any] | OnStep | OnEpisodes | OnEvaluation | OnSave | OnEnd
"""A function, which is called after each step, or an object with one or several of these methods."""
EVENTS = ("on_step", "on_episodes", "on_evaluation", "on_save", "on_end")
OF_TRAINERS = {
    "on_step_end": "on_step",
    "on_log": "on_step",
    "on_evaluate": "on_evaluation",
    "on_train_end": "on_end",
    "on_stop": "on_end",
    "on_checkpoint": "on_save",
}
"""Methods of other libraries' callbacks -> ours that comes closest."""


class Watch:
    """The callbacks of a run. One that raises is the last that is called: the run is saved and stops, and the error
    goes to the caller as it was raised.

    watch = Watch.of([lambda event: print(event.step, event.metrics["reward/mean"])])
    """

    def __init__(self, hearers: Mapping[str, Sequence[Callable[[Any], Any]]] | None = None) -> None:
        self._hearers = hearers or {}
        self.error: BaseException | None = None
        self.stop: Stop | None = None

    @classmethod
    def of(cls, callbacks: Callback | Iterable[Callback] = ()) -> Watch:
        """The watch of these callbacks. Refuses what nothing would ever call."""
        given: Any = callbacks
        several = isinstance(given, Iterable) and not callable(given)
        hearers: dict[str, list[Callable[[Any], Any]]] = {name: [] for name in EVENTS}
        for one in given if several else [given]:
            for name, call in _methods(one).items():
                hearers[name].append(call)
        return cls(hearers)

    def hears(self, event: str) -> bool:
        """Whether any callback is told of this event."""
        return bool(self._hearers.get(event)) and self.error is None

    @property
    def stops(self) -> bool:
        """Whether the run is to stop after this step."""
        return self.stop is not None or self.error is not None

    def tell(self, name: str, event: Any) -> None:
        """Calls what hears this event, in the order in which it was given."""
        for call in self._hearers.get(name, ()) if self.error is None else ():
            try:
                with _undisturbed():
                    asked = call(event)
            except BaseException as error:  # whatever a program raises is its own
                self.error = error
                return
            if isinstance(asked, Stop):
                self.stop = self.stop or asked
            elif asked is Stop:
                self.stop = self.stop or Stop()

    @contextlib.contextmanager
    def until_the_end(self, run: Path, step: Callable[[], int]) -> Iterator[None]:
        """Tells `on_end` how the run inside this context ended. A stop that a callback asked for is an end like any
        other, and an error of a callback is raised again, with a note that says where the run stands.
        """
        try:
            yield
        except Stopped as stopped:
            reason = str(stopped) if self.stop is None else self.stop.reason
            self.tell("on_end", EndEvent(run, step(), False, reason))
            self._raise(run, step())
            if self.stop is None:
                raise
        except BaseException as error:
            self.tell("on_end", EndEvent(run, step(), False, f"{type(error).__name__}: {error}"))
            raise
        else:
            self.tell("on_end", EndEvent(run, step(), True, ""))
            self._raise(run, step())

    def _raise(self, run: Path, step: int) -> None:
        """Raises the error of a callback as it was raised."""
        if self.error is not None:
            self.error.add_note(
                f"A callback of the run raised this. The run is saved at step {step}; assay.resume({str(run)!r}) "
                "continues it."
            )
            raise self.error


def _methods(callback: Any) -> dict[str, Callable[[Any], Any]]:
    """The events that a callback hears, each with what is called."""
    if inspect.isclass(callback):
        raise UsageError(f"the callback {callback.__name__} is a class: give an object of it, {callback.__name__}().")
    methods = {name: getattr(callback, name) for name in EVENTS if callable(getattr(callback, name, None))}
    if not methods and callable(callback):
        return {"on_step": callback}
    named = [name for name in dir(callback) if name.startswith("on_")]
    strange = [name for name in named if name not in EVENTS]
    if methods and not strange:
        return methods
    hint = "".join(
        f" {name} is {OF_TRAINERS.get(name) or near(name, EVENTS) or 'unknown'} here." for name in strange[:3]
    )
    raise UsageError(
        f"the callback {type(callback).__name__} has {', '.join(named[:4]) or 'no method'} and would not be called: "
        f"it takes a function, or an object with {', '.join(EVENTS)}.{hint}"
    )


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Puts back what a callback may change of the state that computations of this process share."""
    import torch

    grad, dtype, threads = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()
    numbers = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.set_rng_state(numbers)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def answers_of(episodes: Sequence[Episode], decode: Callable[[Sequence[int]], str]) -> tuple[SampledAnswer, ...]:
    """The answers of a step as callbacks see them."""
    from assay.record.turns import as_records, with_texts

    return tuple(
        SampledAnswer(
            problem=episode.request.problem.id,
            task=episode.request.problem.task,
            group=episode.group,
            prompt=decode(episode.request.context.tolist()),
            text=episode.text,
            tokens=len(episode),
            finish=episode.finish,
            verdict="" if episode.verdict is None else episode.verdict.status,
            reward=episode.reward,
            rewards=fixed({name: part.value for whole in episode.rewards for name, part in whole.named()}),
            seat=episode.request.seat,
            turns=tuple(map(MappingProxyType, with_texts(as_records(episode, decode) or (), episode.text))),
        )
        for episode in episodes
    )


def fixed(values: Mapping[str, float]) -> Numbers:
    """The same values, which cannot be changed."""
    return MappingProxyType(dict(values))
