"""Which problems a model is asked, and who judges its answers: what `assay eval`, `bank`, `transfer` and `search` share
with their functions in Python. A setup describes it, as it describes a run.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay import known
from assay.errors import UsageError
from assay.host import terminal
from assay.run import own_tools
from assay.run.ancestry import origin, unknown_to
from assay.run.configure import override
from assay.run.data_needs import require_answers
from assay.run.external_needs import require_externals
from assay.run.grader import Grader, grader, require_services
from assay.run.open_rows import has_open_rows
from assay.run.setup import READ, SAME, Setup
from assay.run.setup_file import nameless
from assay.run.trust import Trust, require_trust
from assay.source import Pool, Share
from assay.tasks import is_data
from assay.tasks.data.task import data
from assay.verifiers.functions.process import check_timeout


@dataclass(frozen=True)
class Sampled:
    """How answers are sampled; None: the choice of the verb."""

    temperature: float | None = None
    max_new: int | None = None


SAMPLED = {"temperature": "evaluation.temperature", "max_new": "recipe.scale.max_new"}
"""What says how answers are sampled -> the setting of a run that says it."""


@dataclass(frozen=True)
class Asking:
    """What a model is asked, who judges its answers, and what its run may reach.

    Asking(Setup(model="runs/first", data=("problems.jsonl",))).pool()
    """

    setup: Setup
    trust: Trust = field(default_factory=Trust)
    whole: bool = True  # of data files all rows are asked; if not, those that a run of the setup would hold out

    @property
    def model(self) -> str:
        """The model that is asked."""
        if not self.setup.model:
            raise UsageError(
                "no model is named: give a folder, a run, a base or a name of the Hub, or a --config with a key model."
            )
        return self.setup.model

    @property
    def system(self) -> str | None:
        """The system message that the setup gives; None if it gives none."""
        return self.setup.system or self.setup.settings.get(SAME["system"])

    def sampling(self, *, temperature: float | None, max_new: int | None) -> dict[str, Any]:
        """How answers are sampled: as given, else as the settings of the setup say, else the choice of the verb (None).
        A run is asked as it was trained, whatever the settings say.
        """
        settings = {} if origin(self.model) is not None else self.setup.settings
        if idle := [path for path in settings if path.startswith("chat.") and path != SAME["system"]]:
            terminal.say(f"{', '.join(idle)}: settings of a run, without which the questions of an exam are asked")
        how = Sampled()
        for name, path in SAMPLED.items():
            how = override(how, name, settings[path]) if path in settings else how
        given = {"temperature": temperature, "max_new": max_new}
        return {**dataclasses.asdict(how), **{name: value for name, value in given.items() if value is not None}}

    def pool(self) -> Pool:
        """The problems: the rows of the data, the tasks, or the run's own test. Rows that the model was trained on are
        left out.
        """
        asked = dataclasses.replace(self.setup, model=self.model)
        run = origin(asked.model)
        if run is not None and not asked.wording and not asked.data:
            asked = dataclasses.replace(asked, wording=run.experiment.pool.wording)
        if run is not None and not asked.task and not asked.data:
            asked.refuse_lone()
            require_trust(run.folder, run.experiment, self.trust, of=("pool",))
            pool = run.experiment.pool
        else:
            pool = asked.pool(self._usual())
        if asked.data and self.whole:
            whole = Share(data(asked.data, rows="test", **{name: getattr(asked, name) for name in READ}).name)
            pool = dataclasses.replace(pool, shares=(whole, *pool.shares[1:]))
        if not self.rewards:
            graded = run is not None and bool(run.experiment.rewards)  # its recipe rewards nothing by itself
            recipe = None if run is None or graded else run.experiment.recipe
            for line in require_answers(pool, recipe):
                terminal.say(line)
            if recipe is not None and has_open_rows(pool):
                require_services(recipe)
            require_externals(pool)
            if run is not None and graded:
                flags = " ".join(f"--reward {reward}" for reward in run.experiment.rewards)
                terminal.say(
                    f"{run.path.name} was trained with reward functions; here the tasks' verifiers judge alone. To ask "
                    f"its reward functions beside them: {flags}"
                )
        return unknown_to(asked.model, pool)

    def _usual(self) -> str:
        """The task of the recipe that the setup names; without one that of the verb."""
        return known.recipe(self.setup.recipe).usual_task if self.setup.recipe else ""

    @property
    def rewards(self) -> tuple[str, ...]:
        """The reward functions that judge beside the verifiers."""
        return self.setup.only_reward or self.setup.reward

    def judge(self, functions: Mapping[str, Callable[..., Any]] | None = None) -> Grader:
        """The grader with the reward functions that are named, or with the verifiers of the tasks. Answers that the
        length limit cut off count as in the run of the model. `functions` are those that the calling program passes, by
        name.
        """
        check_timeout(self.setup.reward_timeout)
        run = origin(self.model)
        return grader(
            self.rewards,
            right_from=self.setup.right_from,
            timeout=self.setup.reward_timeout,
            given=functions,
            read_cut=run is not None and run.experiment.cut == "scored",
        )

    def report(
        self,
        ask: Callable[..., dict[str, Any]],
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        temperature: float | None,
        max_new: int | None,
        **how: Any,
    ) -> dict[str, Any]:
        """The report of `ask` on the problems, judged and sampled as the setup says."""
        sampling = self.sampling(temperature=temperature, max_new=max_new)
        with self.judge(functions) as judge, self.equipped(self.pool()) as pool:
            return ask(pool=pool, grader=judge, **sampling, **how)

    @contextlib.contextmanager
    def equipped(self, pool: Pool) -> Iterator[Pool]:
        """Inside the block the rows of the pool are answered with the tools that the model's run had."""
        run, rows = origin(self.model), any(is_data(share.task) for share in pool.shares)
        with contextlib.ExitStack() as during:
            if run is not None and own_tools.has_tools(run.experiment) and rows:
                require_trust(run.folder, run.experiment, self.trust, of=("tools", "mcp"))
                if lost := nameless(run.experiment.tools):
                    terminal.say(
                        f"{run.path.name} was trained with tools that only the program had which trained it "
                        f"({', '.join(lost)}): it is asked without tools. Functions in a file are found again."
                    )
                else:
                    during.enter_context(own_tools.playing_with(run.experiment, {}, pool))
            yield pool
