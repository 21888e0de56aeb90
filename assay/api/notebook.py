"""What a run looks like in a notebook: a bar and a table while it goes on, a card when it is shown.

A notebook is known by IPython, which has imported itself; nothing is imported for it, and no widgets are needed.
"""

from __future__ import annotations

import contextlib
import html
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.api.records import table

if TYPE_CHECKING:
    from assay.api.pictures import Picture
    from assay.record.panel import Panel
    from assay.run.experiment import Experiment

APART = 0.5  # seconds between two drawings, at the least
NOTES = 12  # messages that stay in sight
ROWS = {
    "reward": "reward/mean",
    "right": "reward/accuracy",
    "length": "length/mean",
    "entropy": "policy/entropy",
    "tokens/s": "perf/tokens_per_s",
}
"""What the table of a running run shows -> the metric."""

Show = Callable[[str], Callable[[str], None]]
"""Shows HTML in the notebook, and gives the function that puts other HTML in its place."""


def kernel() -> Show | None:
    """The way to show something in the notebook of this process; None outside of one, for example in a terminal."""
    found = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    display: Any = sys.modules["IPython"].display

    def show(page: str) -> Callable[[str], None]:
        handle = display.display(display.HTML(page), display_id=True)
        return lambda other: handle.update(display.HTML(other))

    return show


@contextlib.contextmanager
def shown(experiment: Experiment, *, quiet: bool) -> Iterator[Panel | None]:
    """The panel of a run that begins in a notebook; None elsewhere, where the run shows itself on the terminal."""
    from assay.tasks import short

    tasks = " ".join(short(share.task) for share in experiment.pool.shares)
    with _panel(experiment.recipe.scale.num_steps, f"{experiment.recipe.name} on {tasks}", quiet=quiet) as panel:
        yield panel


@contextlib.contextmanager
def shown_again(run: Path, steps: int | None, *, quiet: bool) -> Iterator[Panel | None]:
    """The same for a run that goes on."""
    if quiet or kernel() is None:
        yield None
        return
    from assay.record.folder import RunFolder

    experiment = RunFolder.read_only(run).experiment
    with _panel(steps or experiment["recipe"]["scale"]["num_steps"], str(run), quiet=quiet) as panel:
        yield panel


@contextlib.contextmanager
def _panel(total: int, title: str, *, quiet: bool) -> Iterator[Panel | None]:
    show = None if quiet else kernel()
    if show is None:
        yield None
        return
    panel = NotebookPanel(show, total, title)
    try:
        yield panel
    finally:
        panel.draw()


class NotebookPanel:
    """Shows a run in one place of a notebook, which is drawn anew a few times a second at most.

    NotebookPanel(show, 100, "grpo on countdown").update(1, {"reward/mean": 0.4})
    """

    def __init__(self, show: Show, total: int, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._title, self._clock = total, title, clock
        self._step, self._phase, self._drawn = 0, "", -math.inf
        self._first: dict[str, float] = {}
        self._stats: dict[str, float] = {}
        self._notes: list[str] = []
        self._put = show(self._page())

    def update(self, step: int, stats: Mapping[str, float]) -> None:
        self._step = step
        self._stats |= stats
        self._first = {**stats, **self._first}
        self._draw_when_due()

    def phase(self, name: str) -> None:
        self._phase = name
        self._draw_when_due()

    def note(self, text: str) -> None:
        self._notes = [*self._notes, text][-NOTES:]
        self.draw()

    def _draw_when_due(self) -> None:
        if self._clock() - self._drawn >= APART or self._step >= self._total:
            self.draw()

    def draw(self) -> None:
        self._drawn = self._clock()
        self._put(self._page())

    def _page(self) -> str:
        from assay.record.panel import duration

        left = self._stats.get("time/step", math.nan) * max(0, self._total - self._step)
        state = f"step {self._step} of {self._total}, {duration(left)} left; {self._phase or 'begins'}"
        bar = f'<progress value="{self._step}" max="{max(1, self._total)}" style="width:24em"></progress>'
        notes = "".join(f"<div>{html.escape(note)}</div>" for note in self._notes)
        return f"<div><b>{html.escape(self._title)}</b><br>{bar} {html.escape(state)}{self._table()}{notes}</div>"

    def _table(self) -> str:
        from assay.record.panel import number

        scores = {name: name for name in sorted(self._stats) if name.startswith("eval/") and name.endswith("/pass@1")}
        names = {label: name for label, name in {**ROWS, **scores}.items() if name in self._stats}
        rows = [(label, number(self._first[name]), number(self._stats[name])) for label, name in names.items()]
        return table(("", "first", "now"), rows) if rows else ""


def card(path: Path, scores: Mapping[str, Any], picture: Picture) -> str:
    """A run as HTML: what it is, its scores before and after, and its curve."""
    from assay.view.results import HEAD, score_rows

    title = f"{scores['recipe']}, {scores['steps']} steps"
    rows = score_rows(scores)
    body = table(("held out", *HEAD[1:]), rows) if rows else "<p>no held-out evaluation yet</p>"
    return f"<div><b>{html.escape(title)}</b> <code>{html.escape(str(path))}</code>{body}{picture._repr_html_()}</div>"
