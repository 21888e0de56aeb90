"""Training from Python: what `assay train` and `assay resume` do, as functions. Torch is imported when a run starts.

run = assay.train("grpo", task="countdown", steps=20)
print(run.scores(), run.report())
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.recipe import ProfileChoice, Recipe
    from assay.source import Pool
    from assay.tasks.data.task import Places

Reward = str | Callable[..., Any]


@dataclass(frozen=True)
class Run:
    """A finished or stopped run, known by its folder.

    run = Run(Path("runs/grpo-countdown"))
    accuracy = [record["reward/accuracy"] for record in run.metrics()]
    """

    path: Path

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of the run: one dictionary for each step, name -> value."""
        from assay.record.folder import RunFolder

        return RunFolder.read_only(self.path).read("metrics")

    def scores(self) -> dict[str, Any]:
        """pass@k on held-out problems before and after training, with intervals, and their paired difference."""
        from assay.view.results import outcome

        return outcome(self.path)

    def report(self) -> Path:
        """Writes report.html into the run folder and returns its path."""
        from assay.view.report import write_report

        return write_report(self.path)

    def card(self) -> Path:
        """Writes the model card README.md into the run folder and returns its path."""
        from assay.view.card import write_card

        return write_card(self.path)

    @property
    def model(self) -> Path:
        """The folder with the trained weights of the last checkpoint, in the Hugging Face layout."""
        from assay.run.named_model import locate

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
    profile: ProfileChoice = "auto",
    steps: int | None = None,
    seed: int = 0,
    run: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = False,
    reward: Reward | Sequence[Reward] | None = None,
    only_reward: Reward | Sequence[Reward] | None = None,
    reward_weights: Sequence[float] | None = None,
    right_from: float = 1.0,
    reward_timeout: float | None = None,
) -> Run:
    """Trains a model with a recipe in a new run folder and returns the run.

    run = assay.train("grpo", task="countdown", levels=[3], steps=20)
    run = assay.train("grpo", data="problems.jsonl", model="Qwen/Qwen2.5-0.5B-Instruct", reward=my_reward)

    Problems come from a generated `task`, from `data` (files, or a data set of the Hub), or from both mixed; without
    either from the first of the recipe's tasks, or from countdown. `system` is the system message of prompts that bring
    none (setting `chat.system`). `settings` are those of the command line, for example {"scale.learning_rate": 1e-3}.

    `reward` is a function f(prompts, completions, **columns) that returns one number for each completion, or the text
    "FILE.py:FUNCTION", or a list of these. It takes the place of the recipe's outcome reward, beside its other rewards;
    `only_reward` takes the place of all rewards. A completion counts as right if the weighted sum of its rewards is at
    least `right_from`. One call of a reward function may take `reward_timeout` seconds, 300 unless said.
    """
    from assay.errors import UsageError
    from assay.known import others
    from assay.known import recipe as named
    from assay.record.folder import Numbered
    from assay.run import session
    from assay.run.bases import base_for
    from assay.run.grader import reward_names_of
    from assay.verifiers.functions.process import SECONDS

    others()
    reading = {"prompt_column": prompt_column, "answer_column": answer_column, "skip_bad_rows": skip_bad_rows}
    reading |= {"answer_from_messages": answer_from_messages}
    method = named(recipe) if isinstance(recipe, str) else recipe
    pool = _pool(task or ("" if data is not None else method.usual_task), levels, data, eval_data, reading)
    if reward is not None and only_reward is not None:
        raise UsageError("reward stands beside the recipe's other rewards, and only_reward alone: leave one out.")
    rewards, functions = reward_names_of(reward if only_reward is None else only_reward, reward_weights)
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
        only=only_reward is not None,
        right_from=right_from,
        reward_timeout=SECONDS if reward_timeout is None else reward_timeout,
    )
    folder = Path(run) if run is not None else Numbered(Path("runs"), _name_of(method, pool))
    command = f"assay.train({method.name!r}, ...)"
    return Run(session.start(experiment, folder, command=command, quiet=quiet, functions=functions))


def _name_of(method: Recipe, pool: Pool) -> str:
    from assay.tasks import short

    return f"{method.name}-{short(pool.shares[0].task)}"


def _pool(
    named: str,
    levels: Sequence[int] | None,
    places: Places | None,
    held_out: Places | None,
    reading: Mapping[str, Any],
) -> Pool:
    """The pool of the task that is named and of data files; `reading` says how the rows of these files are read."""
    from assay.errors import UsageError
    from assay.recipe import USUAL_TASK
    from assay.source import Pool, Share, check_pool
    from assay.tasks.data.task import data

    shares = []
    if places is not None:
        shares.append(Share(data(places, held_out=held_out, **reading).name))
    elif held_out is not None or any(reading.values()):
        raise UsageError(
            "eval_data, prompt_column, answer_column, answer_from_messages and skip_bad_rows say how a data file is "
            "read: name the file with data=."
        )
    if named:
        share = Share.parse(USUAL_TASK if named == "countdown" else named)
        shares.append(share if levels is None else dataclasses.replace(share, levels=tuple(levels)))
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
    learners: int | None = None,
    settings: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Run:
    """Continues a run from its last checkpoint and returns it; `steps` extends a finished run.

    run = assay.resume("runs/grpo-countdown")
    run = assay.resume(run.path, steps=400)

    Reward functions without a file must be given again as `reward`, because the run folder cannot hold them. From now
    on one call of a reward function may take `reward_timeout` seconds. With another number of `learners` the run goes
    on from the same weights, but not with the same bits. Code and programs that the run folder names, and that no
    command of this user has allowed to this run, are run only with `trust_code`; addresses are reached only with
    `trust_addresses`, or if `settings` give them: {"machine.cluster": "auto"}.
    """
    from assay.known import others
    from assay.run import session
    from assay.run.grader import reward_names_of

    others()
    path = session.resume(
        run,
        steps=steps,
        quiet=quiet,
        functions=reward_names_of(reward, None)[1],
        reward_timeout=reward_timeout,
        learners=learners,
        overrides=settings,
        trust_code=trust_code,
        trust_addresses=trust_addresses,
    )
    return Run(path)
