"""The same from Python in five lines. What a call needs is imported when it is made, torch when a run starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.recipe import Recipe, Wish
    from assay.source import Pool
    from assay.tasks.data import Places

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
    data: Places | None = None,
    eval_data: Places | None = None,
    system: str = "",
    prompt_column: str = "",
    answer_column: str = "",
    answer_from_messages: bool = False,
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
    reward_timeout: float | None = None,
) -> Run:
    """Trains and returns the run: on a generated task (countdown unless named), on the rows of a file, of several that
    are one set, or of a data set of the Hub, or on both mixed. `system` is put before prompts that have no system
    message of their own; it is the setting `chat.system`. `settings` are those of the command line:
    {"scale.learning_rate": 1e-3}.

    `reward` is a function f(prompts, completions, **columns) that gives a number for each, "FILE.py:FUNCTION", or
    several of them; an answer is right where their weighted sum is at least `right_from`. A call of one may take
    `reward_timeout` seconds, 300 unless said.
    """
    from assay import session
    from assay.bases import base_for
    from assay.judging import wishes_of
    from assay.known import recipe as named
    from assay.plugins import load
    from assay.record.folder import Numbered
    from assay.verify.function_process import SECONDS

    load()
    said = {"prompt_column": prompt_column, "answer_column": answer_column, "skip_bad_rows": skip_bad_rows}
    said |= {"answer_from_messages": answer_from_messages}
    pool = _pool(task, levels, data, eval_data, said)
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
        system=system or None,
        rewards=rewards,
        right_from=right_from,
        reward_timeout=SECONDS if reward_timeout is None else reward_timeout,
    )
    place = Path(run) if run is not None else Numbered(Path("runs"), _name_of(method, pool))
    command = f"assay.train({method.name!r}, ...)"
    return Run(session.start(experiment, place, command=command, quiet=quiet, functions=functions))


def _name_of(method: Recipe, pool: Pool) -> str:
    from assay.tasks import short

    return f"{method.name}-{short(pool.shares[0].task)}"


def _pool(
    name: str | None,
    levels: Sequence[int] | None,
    places: Places | None,
    held_out: Places | None,
    said: Mapping[str, Any],
) -> Pool:
    from assay.errors import UsageError
    from assay.source import Pool, Share, check_pool
    from assay.tasks import task
    from assay.tasks.data import data

    shares = []
    if places is not None:
        shares.append(Share(data(places, held_out=held_out, **said).name))
    elif held_out is not None or any(said.values()):
        raise UsageError("eval_data, columns and skip_bad_rows are about a file of rows: name it with data=.")
    if name is not None or not shares:
        known = name or "countdown"
        if levels is None:
            levels = (3, 4) if known == "countdown" else task(known).levels[:1]
        shares.append(Share(known, tuple(levels)))
    pool = Pool(tuple(shares), wording="compact" if places is None else "natural")
    check_pool(pool)
    return pool


def resume(
    run: str | Path,
    *,
    steps: int | None = None,
    quiet: bool = False,
    reward: Reward | Sequence[Reward] | None = None,
    reward_timeout: float | None = None,
    trust_code: bool = False,
) -> Run:
    """Continues a run from its last checkpoint; `steps` extends one that is finished. `reward` brings the functions
    again where they had no file; a call of one has `reward_timeout` seconds from now on. `trust_code` runs files that
    the folder names though they have changed.
    """
    from assay import session
    from assay.judging import wishes_of
    from assay.plugins import load

    load()
    functions = wishes_of(reward, None)[1]
    said = {"reward_timeout": reward_timeout, "trust_code": trust_code}
    return Run(session.resume(run, steps=steps, quiet=quiet, functions=functions, **said))
