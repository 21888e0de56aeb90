"""The same from Python in five lines. Torch is imported when a run starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.recipe import Recipe, Wish

if TYPE_CHECKING:
    from assay.source import Pool

Reward = str | Callable[..., Any]


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
    task: str | None = None,
    levels: Sequence[int] | None = None,
    data: str | Path | None = None,
    eval_data: str | Path | None = None,
    system: str = "",
    prompt_column: str = "",
    answer_column: str = "",
    skip_bad_rows: bool = False,
    model: str | None = None,
    profile: Wish = "auto",
    steps: int | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = False,
    reward: Reward | Sequence[Reward] | None = None,
    reward_weights: Sequence[float] | None = None,
    right_from: float = 1.0,
) -> Run:
    """Trains and returns the run: on a generated task (countdown unless named), on the rows of a file or of a data set
    of the Hub, or on both mixed. `settings` are those of the command line: {"scale.learning_rate": 1e-3}.

    `reward` is a function f(prompts, completions, **columns) that gives a number for each, "FILE.py:FUNCTION", or
    several of them; an answer is right where their weighted sum is at least `right_from`.
    """
    from assay import session
    from assay.bases import base_for
    from assay.judging import wishes_of
    from assay.plugins import load
    from assay.recipes import recipe as named

    said = {"prompt_column": prompt_column, "answer_column": answer_column, "system": system}
    pool = _pool(task, levels, data, eval_data, said | {"skip_bad_rows": skip_bad_rows})
    load()
    method = named(recipe) if isinstance(recipe, str) else recipe
    rewards, functions = wishes_of(reward, reward_weights)
    experiment, _ = session.plan(
        method,
        model=model or base_for(pool),
        pool=pool,
        profile=profile,
        seed=seed,
        steps=steps,
        overrides=settings,
        rewards=rewards,
        right_from=right_from,
    )
    path = Path(run) if run is not None else session.free_folder(Path("runs"), _name_of(method, pool))
    command = f"assay.train({method.name!r}, ...)"
    return Run(session.start(experiment, path, command=command, quiet=quiet, functions=functions))


def _name_of(method: Recipe, pool: Pool) -> str:
    from assay.tasks import short

    return f"{method.name}-{short(pool.shares[0].task)}"


def _pool(
    name: str | None,
    levels: Sequence[int] | None,
    place: str | Path | None,
    held_out: str | Path | None,
    said: Mapping[str, Any],
) -> Pool:
    from assay.errors import UsageError
    from assay.source import Pool, Share, check_pool
    from assay.tasks import task
    from assay.tasks.data import data

    shares = []
    if place is not None:
        shares.append(Share(data(place, held_out=held_out, **said).name))
    elif held_out is not None or any(said.values()):
        raise UsageError("eval_data, system, columns and skip_bad_rows are about a file of rows: name it with data=.")
    if name is not None or not shares:
        known = name or "countdown"
        if levels is None:
            levels = (3, 4) if known == "countdown" else task(known).levels[:1]
        shares.append(Share(known, tuple(levels)))
    pool = Pool(tuple(shares), wording="compact" if place is None else "natural")
    check_pool(pool)
    return pool


def resume(
    run: str | Path,
    *,
    steps: int | None = None,
    quiet: bool = False,
    reward: Reward | Sequence[Reward] | None = None,
) -> Run:
    """Continues a run from its last checkpoint; `steps` extends one that is finished. `reward` brings the functions
    again where they had no file.
    """
    from assay import session
    from assay.judging import wishes_of
    from assay.plugins import load

    load()
    return Run(session.resume(run, steps=steps, quiet=quiet, functions=wishes_of(reward, None)[1]))
