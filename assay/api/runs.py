"""A run as a program holds it: its records, its scores, its model, and what can be done with it next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.api import examining, notebook
from assay.api.given import Callables, Data, Place, Reward, places
from assay.api.keywords import suggesting
from assay.api.records import Records
from assay.api.results import Result

if TYPE_CHECKING:
    from assay.api.pictures import Picture
    from assay.run.callbacks import Callback


@dataclass(frozen=True)
class Run:
    """A finished or stopped run, known by its folder. It is a path too: `open(run / "run.toml")`.

    run = Run(Path("runs/grpo-countdown"))
    accuracy = run.metrics().column("reward/accuracy")
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))

    def __fspath__(self) -> str:
        return str(self.path)

    def __truediv__(self, name: str) -> Path:
        return self.path / name

    @property
    def steps(self) -> int:
        """How many steps are done."""
        return len(self.metrics())

    @property
    def finished(self) -> bool:
        """Whether all steps are done; a run that was stopped goes on with `resume`."""
        from assay.record.folder import RunFolder

        folder = RunFolder.read_only(self.path)
        scale, metrics = folder.experiment["recipe"]["scale"], folder.read("metrics")
        spent = metrics[-1].get("budget/generated_tokens", 0.0) if metrics else 0.0
        return len(metrics) >= scale["num_steps"] or 0 < (scale.get("num_tokens") or 0) <= spent

    def metrics(self) -> Records:
        """The metrics of the run: one dictionary for each step, name -> value. `.frame()` makes a data frame of it."""
        from assay.record.folder import RunFolder

        return Records(RunFolder.read_only(self.path).read("metrics"))

    def evaluations(self) -> Records:
        """The scores on held-out problems: one dictionary for each evaluation, with its step and set."""
        from assay.record.folder import RunFolder

        return Records(_flat(entry) for entry in RunFolder.read_only(self.path).read("evals"))

    def rollouts(self, step: int | None = None, columns: Sequence[str] | None = None) -> Records:
        """The answers that were kept of a step, the last one unless said: prompt, completion, verdict, rewards, and for
        each token its log-probabilities and advantage.
        """
        from assay.errors import UsageError
        from assay.record.folder import RunFolder

        folder = RunFolder.read_only(self.path)
        steps = folder.rollout_steps()
        if not steps or (step is not None and step not in steps):
            kept = f"those of steps {', '.join(map(str, steps))} are" if steps else "none are"
            raise UsageError(f"{self.path} keeps no answers of step {step}; {kept} (saving.rollouts_every).")
        table = folder.rollouts(steps[-1] if step is None else step, columns)
        return Records(dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))

    def scores(self) -> dict[str, Any]:
        """pass@k on held-out problems before and after training, with intervals, and their paired difference."""
        from assay.view.results import outcome, table

        found = outcome(self.path)
        return Result(found, table(found))

    def plot(self, *names: str) -> Picture:
        """Curves of these metrics against steps: the mean reward and the held-out scores unless said.

        run.plot(); run.plot("policy/entropy", "length/mean").save("lengths.svg")
        """
        from assay.api.pictures import curves
        from assay.record.folder import RunFolder

        scores: dict[str, dict[int, Any]] = {}
        for entry in RunFolder.read_only(self.path).read("evals"):
            for k, interval in entry.get("pass", {}).items():
                scores.setdefault(f"eval/{entry['set']}/pass@{k}", {})[entry["step"]] = interval
        return curves(names, self.metrics(), scores)

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

    def load(self) -> tuple[Any, Any]:
        """The trained model and its tokenizer as objects of transformers; an adapter is merged into its base."""
        return examining.load(str(self.path))

    @suggesting
    def eval(
        self,
        *,
        data: Data | None = None,
        task: str | Sequence[str] | None = None,
        reward: Reward | Sequence[Reward] | None = None,
        problems: int | None = None,
        n: int = 16,
        k: Sequence[int] | None = None,
        max_new: int | None = None,
        temperature: float | None = None,
        seed: int = 0,
    ) -> Result:
        """Scores the trained model, on the run's own held-out problems unless others are named: `assay.evaluate`."""
        asked = {"data": data, "task": task, "reward": reward, "problems": problems, "n": n, "k": k}
        return examining.evaluate(self, **asked, max_new=max_new, temperature=temperature, seed=seed)

    @suggesting
    def sample(
        self,
        prompt: str | None = None,
        *,
        task: str | Sequence[str] | None = None,
        problem: int = 1,
        n: int = 1,
        max_new: int | None = None,
        temperature: float = 1.0,
        top_p: float = 1.0,
        system: str | None = None,
        seed: int = 0,
    ) -> Result:
        """Answers of the trained model to a prompt, or to a problem of a task: `assay.sample`."""
        how = {"max_new": max_new, "temperature": temperature, "top_p": top_p, "system": system, "seed": seed}
        return examining.sample(self, prompt, task=task, problem=problem, n=n, **how)

    @suggesting
    def export(self, folder: Place, *, merge: bool = False) -> Path:
        """Writes the trained model with its card as a folder that transformers, peft and vLLM load."""
        return examining.export(self, folder, merge=merge)

    @suggesting
    def push(
        self,
        name: str,
        *,
        merge: bool = False,
        public: bool = False,
        revision: str = "main",
        message: str | None = None,
        dry_run: bool = False,
    ) -> Result:
        """Uploads the trained model with its card to the Hugging Face Hub: `assay.push`."""
        how = {"merge": merge, "public": public, "revision": revision, "message": message, "dry_run": dry_run}
        return examining.push(self, name, **how)

    @suggesting
    def resume(
        self,
        *,
        steps: int | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        reward: Reward | Sequence[Reward] | None = None,
        quiet: bool = False,
    ) -> Run:
        """Continues the run from its last checkpoint; `steps` extends a finished one. `assay.resume` has more."""
        return resume(self, steps=steps, callbacks=callbacks, reward=reward, quiet=quiet)

    def _repr_html_(self) -> str:
        """For a notebook: what the run is, its scores before and after, and its curve."""
        return notebook.card(self.path, self.scores(), self.plot())


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A record of an evaluation: numbers by name, without the answers of each problem."""
    from assay.view.plays import plays_of

    plain = {name: value for name, value in entry.items() if not isinstance(value, Mapping | list)}
    for group in ("pass", "scores"):
        for name, interval in entry.get(group, {}).items():
            called = f"pass@{name}" if group == "pass" else f"score/{name}"
            plain |= {called: interval["mean"], f"{called}/low": interval["low"], f"{called}/high": interval["high"]}
    return plain | {f"plays/{name}": value for name, value in plays_of(entry).items()}


@suggesting
def resume(
    run: Place,
    *,
    steps: int | None = None,
    quiet: bool = False,
    reward: Reward | Sequence[Reward] | None = None,
    tools: Callables | None = None,
    reward_timeout: float | None = None,
    learners: int | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    config: Place | Sequence[Place] = (),
    settings: Mapping[str, Any] | None = None,
    trust_code: bool = False,
    trust_addresses: bool = False,
) -> Run:
    """Continues a run from its last checkpoint and returns it; `steps` extends a finished run.

    run = assay.resume("runs/grpo-countdown")
    run = assay.resume(run, steps=400)

    Reward functions and tools without a file must be given again, because the run folder cannot hold them; callbacks
    too. From now on one call of a reward function may take `reward_timeout` seconds. With another number of `learners`
    the run goes on from the same weights, but not with the same bits. Code and programs that the run folder names, and
    that no command of this user has allowed to this run, are run only with `trust_code`; addresses are reached only
    with `trust_addresses`, or if `settings` give them: {"machine.cluster": "auto"}. `config` names files of settings:
    what they say beyond these arguments must be what the run began with.
    """
    from assay.known import others
    from assay.run import continued, session
    from assay.run.callbacks import Watch
    from assay.run.grader import reward_names_of
    from assay.run.own_tools import tool_names_of

    others()
    watch = Watch.of(callbacks)
    path = Path(os.fspath(run))
    given = {"steps": steps, "learners": learners, "reward_timeout": reward_timeout}
    consents = {"trust_code": trust_code, "trust_addresses": trust_addresses}
    asked = continued.asked(path, places(config), given, settings or {}, **consents)
    functions = reward_names_of(reward, None)[1]
    own_tools = {} if tools is None else tool_names_of(tools)[1]
    with notebook.shown_again(path, asked.get("steps"), quiet=quiet) as shown:
        how = {"quiet": quiet, "shown": shown, "functions": functions, "tools": own_tools, "watch": watch}
        session.resume(path, **how, **consents, **asked)
    return Run(path)
