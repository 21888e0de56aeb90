"""Training from Python: what `assay train` and `assay resume` do, as functions. Torch is imported when a run starts.

run = assay.train("grpo", task="countdown", steps=20)
print(run.scores(), run.report())
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.recipe import ProfileChoice, Recipe
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
    recipe: str | Recipe | None = None,
    *,
    config: str | Path | Sequence[str | Path] = (),
    task: str | Sequence[str] | None = None,
    levels: Sequence[int] | None = None,
    data: Places | None = None,
    eval_data: Places | None = None,
    system: str | None = None,
    prompt_column: str | None = None,
    answer_column: str | None = None,
    answer_from_messages: bool | None = None,
    skip_bad_rows: bool | None = None,
    model: str | Path | None = None,
    profile: ProfileChoice | None = None,
    steps: int | None = None,
    seed: int | None = None,
    run: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    quiet: bool = False,
    reward: Reward | Sequence[Reward] | None = None,
    only_reward: Reward | Sequence[Reward] | None = None,
    reward_weights: Sequence[float] | None = None,
    right_from: float | None = None,
    reward_timeout: float | None = None,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Run:
    """Trains a model with a recipe in a new run folder and returns the run.

    run = assay.train("grpo", task="countdown", levels=[3], steps=20)
    run = assay.train("grpo", data="problems.jsonl", model="Qwen/Qwen2.5-0.5B-Instruct", reward=my_reward)
    run = assay.train(config="runs/grpo-countdown-1/run.toml", seed=1)

    Problems come from a generated `task`, from `data` (files, or a data set of the Hub), or from both mixed; without
    either from the first of the recipe's tasks, or from countdown. `system` is the system message of prompts that bring
    none (setting `chat.system`). `settings` are those of the command line, for example {"scale.learning_rate": 1e-3}.

    `reward` is a function f(prompts, completions, **columns) that returns one number for each completion, or the text
    "FILE.py:FUNCTION", or a list of these. It takes the place of the recipe's outcome reward, beside its other rewards;
    `only_reward` takes the place of all rewards. A completion counts as right if the weighted sum of its rewards is at
    least `right_from`, 1 unless said. One call of a reward function may take `reward_timeout` seconds, 300 unless said.

    `config` names files of settings, of which later ones override earlier ones, as the arguments of the call do. Code
    and addresses that such a file names, and that were not allowed to it before, are used only with `trust_code` and
    `trust_addresses`.
    """
    from assay.errors import UsageError
    from assay.known import others
    from assay.run import file_trust, session, setup_file
    from assay.run.grader import reward_names_of
    from assay.run.setup import composed
    from assay.run.trust import Trust
    from assay.tasks.data.task import all_located

    others()
    if reward is not None and only_reward is not None:
        raise UsageError("reward stands beside the recipe's other rewards, and only_reward alone: leave one out.")
    rewards, functions = reward_names_of(reward if only_reward is None else only_reward, reward_weights)
    method = None if recipe is None or isinstance(recipe, str) else recipe
    given = {
        "recipe": recipe if method is None else _named(method),
        "task": _tasks(_usual(recipe) if task is None and levels is not None and data is None else task, levels),
        "data": all_located(data) or None,
        "eval_data": all_located(eval_data) or None,
        "system": system,
        "prompt_column": prompt_column,
        "answer_column": answer_column,
        "answer_from_messages": answer_from_messages,
        "skip_bad_rows": skip_bad_rows,
        "model": None if model is None else str(model),
        "profile": profile,
        "steps": steps,
        "seed": seed,
        "run": None if run is None else str(run),
        "reward" if only_reward is None else "only_reward": rewards or None,
        "right_from": right_from,
        "reward_timeout": reward_timeout,
    }
    given = {name: value for name, value in given.items() if value is not None} | {"settings": settings or {}}
    paths = [Path(path) for path in ([config] if isinstance(config, str | Path) else config)]
    files = {path: setup_file.read(path) for path in paths}
    setup = composed(*files.values(), given)
    experiment, _ = session.planned(setup, method)
    trust = Trust.of(code=trust_code, addresses=trust_addresses)
    file_trust.require(files, given, experiment, trust)
    folder = session.place_of(setup, experiment)
    command = f"assay.train({experiment.recipe.name!r}, ...)"
    return Run(session.start(experiment, folder, command=command, quiet=quiet, functions=functions, setup=setup))


def _named(method: Recipe) -> str:
    """The name under which a file can name a recipe that was passed as an object."""
    from assay.known import RECIPES

    return method.name if RECIPES.get(method.name) == method else f"{method.name} (passed by a program)"


def _usual(recipe: str | Recipe | None) -> str:
    """The first task of a recipe, without its levels."""
    from assay.known import recipe as of_name
    from assay.recipe import USUAL_RECIPE
    from assay.source import Share

    method = of_name(recipe or USUAL_RECIPE) if recipe is None or isinstance(recipe, str) else recipe
    return Share.parse(method.usual_task).task


def _tasks(task: str | Sequence[str] | None, levels: Sequence[int] | None) -> tuple[str, ...] | None:
    """The tasks with their levels, as the command line writes them."""
    from assay.errors import DataError, UsageError
    from assay.recipe import USUAL_TASK

    listed = (task,) if isinstance(task, str) else tuple(task or ())
    if levels is not None and not listed:
        raise UsageError("levels are those of a task: name it with task=, or leave levels out.")
    if levels is not None and not levels:
        raise DataError(f"task '{listed[0]}' is given without a level: name some, or leave levels out.")
    if levels is not None:
        return tuple(f"{name}:{','.join(map(str, levels))}" for name in listed)
    return tuple(USUAL_TASK if name == "countdown" else name for name in listed) or None


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
