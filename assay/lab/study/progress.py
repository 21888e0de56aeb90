"""The display of a running study: one live panel on a terminal, a line for each finished run elsewhere."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from assay.host import terminal
from assay.lab.study.plan import StudyRun
from assay.lab.study.results import Result
from assay.record.panel import REFRESH_SECONDS, Panel, duration, number, sparkline

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

PASSED = "pass@1"
TREND = 24  # characters of a sparkline
SILENCE = 20.0  # seconds after which a run under way says how far it is
Tell = Callable[[str], None]


def told(run: StudyRun) -> str:
    what = {"seed": f"seed {run.seed}", "trial": f"trial at {run.rate:g} x the learning rate", "pilot": "pilot"}
    return f"{run.arm} on {run.task}, {what[run.kind]}"


class Progress(Protocol):
    """Shows a study: `finished` is told of each run that is done, `panel` gives the run under way a place."""

    def finished(self, run: StudyRun, result: Result, *, seen: int) -> None:
        """Shows a run that was done now; `seen` runs are done in all."""
        ...

    def panel(self, run: StudyRun, steps: int) -> Panel:
        """The panel on which the run that begins now is shown."""
        ...

    def note(self, text: str) -> None:
        """Prints a line that stays."""
        ...


@contextlib.contextmanager
def progress(total: int, *, quiet: bool = False, tell: Tell | None = None) -> Iterator[Progress]:
    """The progress of a study of so many runs that fits standard error: live on a terminal, lines elsewhere. `tell` is
    given the lines instead, where another command shows them.
    """
    if not sys.stderr.isatty() or quiet or tell is not None:
        yield _Lines(total, quiet=quiet, tell=tell or terminal.say)
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(file=terminal.lasting(sys.stderr)), auto_refresh=False, transient=True) as live:
        yield _Live(total, live)


class _Lines:
    """A line for each finished run, with the time that is left by the runs that were done here."""

    def __init__(self, total: int, *, quiet: bool = False, tell: Tell = terminal.say) -> None:
        self.total, self.quiet, self.tell = total, quiet, tell
        self.done, self.ran, self.began = 0, 0, time.monotonic()
        self.said: set[tuple[str, str, str]] = set()
        self.steps, self.drawn = 0, time.monotonic()  # of the run under way; when it was shown last

    def finished(self, run: StudyRun, result: Result, *, seen: int) -> None:
        self.ran, self.done = self.ran + 1, seen
        score = "-" if result.final is None else f"{result.final:.3f}"
        left = f", about {duration(self.left)} left" if seen < self.total else ""
        self.line(f"{seen} of {self.total}  {told(run)}  {PASSED} {score}  {duration(result.seconds)}{left}")

    @property
    def left(self) -> float:
        """Seconds until all is done, if the runs to come take as long as those that were done here."""
        spent = time.monotonic() - self.began
        return spent / self.ran * (self.total - self.done) if self.ran else math.nan

    def panel(self, run: StudyRun, steps: int) -> Panel:
        if not self.ran:
            self.line(
                f"{self.total} runs; the first is {told(run)}, with its evaluations before and after {steps} steps"
            )
        self.steps, self.drawn = steps, time.monotonic()
        return _OfRun(self, run)

    def note(self, text: str) -> None:
        self.tell(text)

    def line(self, text: str) -> None:
        if not self.quiet:
            self.note(text)

    def remark(self, run: StudyRun, text: str) -> None:
        """Says a remark on a run, but only once if several seeds of an arm have the same one."""
        if (place := (run.arm, run.task, text)) not in self.said:
            self.said.add(place)
            self.line(f"{told(run)}: {text}")

    def draw(self, run: StudyRun, step: int, stats: Mapping[str, float], phase: str) -> None:
        """Says how far the run is, if nothing was said for a while."""
        if time.monotonic() - self.drawn >= SILENCE:
            self.drawn = time.monotonic()
            reward = f", reward {number(stats['reward/mean'])}" if "reward/mean" in stats else ""
            self.line(f"  {told(run)}: step {step} of {self.steps}{reward}{f', {phase}' if phase else ''}")


class _OfRun:
    """The panel of one run of a study. It hands everything on to the panel of the study."""

    def __init__(self, study: _Lines, run: StudyRun) -> None:
        self.study, self.run = study, run
        self.step, self.stats = 0, dict[str, float]()

    def update(self, step: int, stats: Mapping[str, float]) -> None:
        self.step, self.stats = step, {**self.stats, **stats}
        self.study.draw(self.run, step, self.stats, "")

    def phase(self, name: str) -> None:
        self.study.draw(self.run, self.step, self.stats, name)

    def note(self, text: str) -> None:
        self.study.remark(self.run, text)


class _Live(_Lines):
    """A panel that is redrawn in place: how far the study is, and the run under way."""

    def __init__(self, total: int, live: Live) -> None:
        super().__init__(total)
        self.live, self.drawn = live, -math.inf
        self.rewards: list[float] = []

    def panel(self, run: StudyRun, steps: int) -> Panel:
        self.steps, self.rewards, self.drawn = steps, [], -math.inf
        self.draw(run, 0, {}, "")
        return _OfRun(self, run)

    def note(self, text: str) -> None:
        self.live.console.print(terminal.one(text), markup=False, highlight=False)

    def draw(self, run: StudyRun, step: int, stats: Mapping[str, float], phase: str) -> None:
        if not phase and "reward/mean" in stats:
            self.rewards.append(stats["reward/mean"])
        if time.monotonic() - self.drawn >= REFRESH_SECONDS:
            self.drawn = time.monotonic()
            self.live.update(self._picture(run, step, stats, phase), refresh=True)

    def _picture(self, run: StudyRun, step: int, stats: Mapping[str, float], phase: str) -> RenderableType:
        from rich.console import Group
        from rich.panel import Panel as Frame
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        rows = Table.grid(padding=(0, 2), expand=True)
        rows.add_column(no_wrap=True)
        rows.add_column(ratio=1)
        rows.add_column(no_wrap=True, justify="right")
        left = "" if math.isnan(self.left) else f"about {duration(self.left)} left"
        whole = ProgressBar(total=max(self.total, 1), completed=self.done + step / max(self.steps, 1))
        rows.add_row(Text(f"{self.done} of {self.total} runs", style="bold"), whole, Text(left))
        bar = ProgressBar(total=max(self.steps, 1), completed=step)
        rows.add_row(Text(f"step {step} of {self.steps}"), bar, Text(phase, style="dim"))
        bars = self.live.console.encoding.lower().startswith("utf")
        trend = sparkline(self.rewards, TREND) if bars else ""
        reward = Text(f"reward {number(stats.get('reward/mean', math.nan))}  {trend}")
        return Frame(Group(rows, reward), title=Text(terminal.plain(told(run))), title_align="left")
