"""The display of a training run: a live panel on a terminal, plain lines elsewhere, nothing with --quiet.

All of this goes to standard error; standard output is left to the result of the command.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from assay.host import terminal

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

LINE_SECONDS = 5.0  # between plain lines; evaluations, alarms, the first and the last step always get a line
REFRESH_SECONDS = 0.1  # between two drawings of the live panel, at the least
RECENT_STEPS = 20  # steps over which means are taken
TREND_WIDTH = 24  # characters of a sparkline
_BARS = "▁▂▃▄▅▆▇█"
_MISSING = float("nan")

ALARM = "reward/verifier_failed"
FAULTS = "world/faults"  # those of them that a world cost


class Panel(Protocol):
    """Shows a run: `with panel(100) as shown: shown.update(1, {"reward/mean": 0.4}); shown.note("warning: ...")`."""

    def update(self, step: int, stats: Mapping[str, float]) -> None:
        """Shows the metrics of a step that is done. A metric that is missing is shown as `-`."""
        ...

    def phase(self, name: str) -> None:
        """Shows the phase that begins now."""
        ...

    def note(self, text: str) -> None:
        """Prints a line that stays."""
        ...


@contextlib.contextmanager
def panel(
    total_steps: int,
    *,
    quiet: bool = False,
    stream: TextIO | None = None,
    title: str = "training",
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Panel]:
    """The panel that fits the stream: live on a terminal, lines elsewhere, none if quiet."""
    out = sys.stderr if stream is None else stream
    if quiet:
        yield _Silence()
    elif out.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(file=terminal.lasting(out)), auto_refresh=False) as live:
            shown = _LivePanel(live, _History(total_steps), terminal.plain(title), clock)
            yield shown
            shown.draw()
    else:
        yield _Lines(out, _History(total_steps), clock)


class _Silence:
    def update(self, step: int, stats: Mapping[str, float]) -> None: ...
    def phase(self, name: str) -> None: ...
    def note(self, text: str) -> None: ...


class _History:
    """The metrics of all steps so far, and the time that is left."""

    def __init__(self, total_steps: int) -> None:
        self.total = total_steps
        self.step = 0
        self.series: dict[str, list[float]] = {}
        self.scores: dict[str, list[tuple[int, float]]] = {}

    def add(self, step: int, stats: Mapping[str, float]) -> None:
        self.step = step
        for name, value in stats.items():
            if name.startswith("eval/"):
                if name.endswith("/pass@1"):
                    split = name.removeprefix("eval/").removesuffix("/pass@1")  # and a judge that is not the first
                    self.scores.setdefault(split, []).append((step, value))
            else:
                self.series.setdefault(name, []).append(value)

    def last(self, name: str) -> float:
        return self.series.get(name, [_MISSING])[-1]

    @property
    def failures(self) -> float:
        return sum(value for value in self.series.get(ALARM, []) if math.isfinite(value))

    @property
    def failed(self) -> str:
        """Who failed on the answers of this step that have no verdict."""
        lost, faults = self.last(ALARM), self.last(FAULTS)
        if not faults > 0:
            return "the verifier"
        return "the world" if faults >= lost else "the world or the verifier"

    @property
    def seconds_left(self) -> float:
        recent = self.series.get("time/step", [])[-RECENT_STEPS:]
        return sum(recent) / len(recent) * max(self.total - self.step, 0) if recent else _MISSING


class _Lines:
    """Writes one line for each step, or one every few seconds if steps are faster."""

    def __init__(self, stream: TextIO, history: _History, clock: Callable[[], float]) -> None:
        self._stream, self._history, self._clock = stream, history, clock
        self._written = -math.inf  # time of the last line

    def update(self, step: int, stats: Mapping[str, float]) -> None:
        self._history.add(step, stats)
        urgent = stats.get(ALARM, 0) > 0 or any(name.startswith("eval/") for name in stats)
        if urgent or step >= self._history.total or self._clock() - self._written >= LINE_SECONDS:
            self._written = self._clock()
            self.note(_line(self._history, stats))

    def phase(self, name: str) -> None: ...

    def note(self, text: str) -> None:
        terminal.write(self._stream, terminal.one(text) + "\n")


def _line(history: _History, stats: Mapping[str, float]) -> str:
    parts = [f"step {history.step}/{history.total}"]
    for name, show, form in _LINE:
        if math.isfinite(value := history.last(name)):
            parts.append(form.format(show(value)))
    if math.isfinite(history.seconds_left):
        parts.append(f"{duration(history.seconds_left)} left")
    parts += [f"{name} {value:.3f}" for name, value in stats.items() if name.endswith("/pass@1")]
    if stats.get(ALARM, 0) > 0:
        parts.append(f"ALARM {_alarm(history)}")
    return "  ".join(parts)


def _alarm(history: _History) -> str:
    return (
        f"{history.failed} failed on {number(history.last(ALARM))} answers of this step, "
        f"{number(history.failures)} so far; they have no reward"
    )


class _LivePanel:
    """A panel that is redrawn in place at each report. It has no thread, so that the process may be forked any time."""

    def __init__(self, live: Live, history: _History, title: str, clock: Callable[[], float]) -> None:
        self._live, self._history, self._title, self._clock = live, history, title, clock
        self._phase = ""
        self._drawn = -math.inf

    def update(self, step: int, stats: Mapping[str, float]) -> None:
        self._history.add(step, stats)
        self._draw_when_due()

    def phase(self, name: str) -> None:
        self._phase = name
        self._draw_when_due()

    def note(self, text: str) -> None:
        self._live.console.print(terminal.one(text), markup=False, highlight=False)

    def _draw_when_due(self) -> None:
        if self._clock() - self._drawn >= REFRESH_SECONDS:
            self.draw()

    def draw(self) -> None:
        self._drawn = self._clock()
        self._live.update(_picture(self._history, self._title, self._phase, self._live.console.encoding), refresh=True)


def _picture(history: _History, title: str, phase: str, encoding: str) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel as Frame
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    done = Table.grid(padding=(0, 2), expand=True)
    done.add_column(no_wrap=True)
    done.add_column(ratio=1)
    done.add_column(no_wrap=True, justify="right")
    done.add_row(
        Text(f"step {history.step} of {history.total}", style="bold"),
        ProgressBar(total=max(history.total, 1), completed=history.step),
        Text(f"{duration(history.seconds_left)} left"),
    )
    rows = Table.grid(padding=(0, 2))
    for width in (15, 6, TREND_WIDTH):
        rows.add_column(no_wrap=True, min_width=width)
    rows.add_column(no_wrap=True, overflow="ellipsis")
    bars = encoding.lower().startswith("utf")
    for label, name, show, remark in _readings(history):
        trend = sparkline(history.series.get(name, []), TREND_WIDTH) if bars else ""
        strong = "bold" if name == "reward/mean" else ""
        rows.add_row(
            Text(label, style="dim"),
            Text(show(history.last(name)), style=strong, justify="right"),
            Text(trend, style="green" if strong else "cyan"),
            Text(remark, style="dim"),
        )
    for split, scores in history.scores.items():
        (first, before), (step, now) = scores[0], scores[-1]
        remark = f"pass@1, {now - before:+.3f} since step {first}" if step != first else f"pass@1 at step {step}"
        trend = sparkline([value for _, value in scores], TREND_WIDTH) if bars else ""
        rows.add_row(
            Text(f"held out: {split}", style="dim"),
            Text(f"{now:.3f}", style="bold", justify="right"),
            Text(trend, style="green"),
            Text(remark, style="dim"),
        )
    parts: list[RenderableType] = [done, Text(), rows]
    if history.failures > 0:
        parts += [Text(), Text(f"ALARM  {_alarm(history)}", style="bold red")]
    return Frame(Group(*parts), title=Text(title), title_align="left", subtitle=Text(phase), subtitle_align="right")


def _readings(history: _History) -> Iterator[tuple[str, str, Callable[[float], str], str]]:
    rewards = [value for value in history.series.get("reward/mean", []) if math.isfinite(value)]
    change = ""
    if len(rewards) >= 2:
        window = max(1, min(RECENT_STEPS, len(rewards) // 2))
        change = f"{_mean(rewards[-window:]) - _mean(rewards[:window]):+.3f} since the start"
    yield "reward", "reward/mean", number, change
    yield "length", "length/mean", number, f"{percent(history.last('length/truncated'))} truncated"
    yield "entropy", "policy/entropy", number, ""
    yield "uniform groups", "group/uniform_fraction", percent, "no learning signal"
    yield "gradient norm", "policy/grad_norm", number, ""
    yield "tokens/s", "perf/tokens_per_s", number, f"{number(history.last('time/step'))} s a step"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def sparkline(values: Sequence[float], width: int) -> str:
    """The series as at most `width` bars, each the mean of an equal share; the lowest and the highest set the scale."""
    values = [value for value in values if math.isfinite(value)]
    if not values:
        return ""
    columns = min(width, len(values))
    edges = [i * len(values) // columns for i in range(columns + 1)]
    means = [_mean(values[low:high]) for low, high in itertools.pairwise(edges)]
    low, high = min(means), max(means)
    if high - low <= 1e-12 * max(1.0, abs(high)):
        return _BARS[len(_BARS) // 2] * columns
    return "".join(_BARS[min(int((mean - low) / (high - low) * len(_BARS)), len(_BARS) - 1)] for mean in means)


def number(value: float) -> str:
    """The number with about three significant digits; from ten thousand on in thousands, such as `12.3k`."""
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    if size >= 10_000:
        return f"{value / 1000:.1f}k"
    if size >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.3f}"


def percent(value: float) -> str:
    return f"{100 * value:.0f} %" if math.isfinite(value) else "-"


def duration(seconds: float) -> str:
    """`1:05`, or `2:03:04` from an hour on."""
    if not math.isfinite(seconds):
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


_LINE: tuple[tuple[str, Callable[[float], str], str], ...] = (
    ("reward/mean", number, "reward {}"),
    ("length/mean", number, "length {}"),
    ("length/truncated", percent, "cut {}"),
    ("policy/entropy", number, "entropy {}"),
    ("group/uniform_fraction", percent, "uniform {}"),
    ("perf/tokens_per_s", number, "{} tokens/s"),
)
