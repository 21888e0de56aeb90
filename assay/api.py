"""The same from Python in five lines. Torch is imported when a run starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.recipe import Recipe, Wish


@dataclass(frozen=True)
class Run:
    """A finished or stopped run, by its folder."""

    path: Path

    def metrics(self) -> list[dict[str, Any]]:
        """One record a step."""
        from assay.record.folder import RunFolder

        return RunFolder.read_only(self.path).read("metrics")

    def scores(self) -> dict[str, Any]:
        """Held-out pass@k before and after, with intervals and their paired difference."""
        from assay.lab.results import outcome

        return outcome(self.path)

    def report(self) -> Path:
        """Writes report.html and says where it is."""
        from assay.view.report import write_report

        return write_report(self.path)

    def card(self) -> Path:
        """Writes the model card README.md and says where it is."""
        from assay.view.card import write_card

        return write_card(self.path)

    @property
    def model(self) -> Path:
        """The trained weights of the last checkpoint, in the Hugging Face layout."""
        from assay.bases import locate

        return Path(locate(str(self.path)))


def train(
    recipe: str | Recipe,
    *,
    task: str = "countdown",
    levels: Sequence[int] = (3, 4),
    model: str | None = None,
    profile: Wish = "auto",
    steps: int | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> Run:
    """Trains and returns the run. `settings` are those of the command line: {"scale.learning_rate": 1e-3}."""
    from assay import session
    from assay.bases import base_for
    from assay.recipes import recipe as named
    from assay.source import Pool, Share, check_pool

    pool = Pool((Share(task, tuple(levels)),))
    check_pool(pool)
    method = named(recipe) if isinstance(recipe, str) else recipe
    experiment, _ = session.plan(
        method,
        model=model or base_for(pool),
        pool=pool,
        profile=profile,
        seed=seed,
        steps=steps,
        overrides=settings,
    )
    path = Path(run) if run is not None else session.free_folder(Path("runs"), f"{method.name}-{task}")
    return Run(session.start(experiment, path, command=f"assay.train({method.name!r}, ...)", quiet=quiet))


def resume(run: str | Path, *, steps: int | None = None, quiet: bool = False) -> Run:
    """Continues a run from its last checkpoint; `steps` extends one that is finished."""
    from assay import session

    return Run(session.resume(run, steps=steps, quiet=quiet))
