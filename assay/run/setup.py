"""What a person asks for, in one type that the command line, files and Python share. Everything that trains, compares
or plans reads it: the checked experiment follows from it.

setup = composed(read(Path("run.toml")), {"steps": 200})
experiment, rules = session.planned(setup)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.errors import UsageError, unknown
from assay.host.reach import Code, HubModel, McpServer
from assay.recipe import USUAL_RECIPE, USUAL_TASK, ProfileChoice, Recipe
from assay.run.configure import from_data
from assay.run.foreign.typed import is_theirs
from assay.run.foreign.view import Lack
from assay.run.settings import SHORT, full
from assay.source import Pool, Share, check_pool
from assay.verifiers.functions.process import SECONDS

Given = Mapping[str, Any]
"""What one source gives of a setup: field -> value. A command line is such a source, and so are a file and a call."""

READ = ("prompt_column", "answer_column", "answer_from_messages", "skip_bad_rows")  # fields: how rows of files are read
SAME = {"steps": "recipe.scale.num_steps", "system": "chat.system", "track": "tracking.sinks"}
"""Field -> the setting that it is a short name of."""
STEPS = SAME["steps"]
DECIDES = {**SAME, "epochs": STEPS}
"""Field -> the setting that it decides: as its short name, or in other words."""
UNSAID = (None, "none", "", (), [])  # values of a field that say nothing
LACKS = "lacks"  # key of a source: what a later source must give
EITHER = {
    ("reward", "only_reward"): "reward stands beside the recipe's other rewards, and only-reward alone",
    ("steps", "epochs"): "steps and epochs both say how long a run is",
}
"""Two fields of which a source gives one, and a later source replaces both -> why not both."""


@dataclass(frozen=True)
class Setup:
    """A run as a person describes it. What is left out is chosen by the recipe, the model and the machine.

    Setup("grpo", data=("problems.jsonl",), model="Qwen/Qwen2.5-0.5B-Instruct", settings={"lora.rank": 16})
    """

    recipe: str = ""  # a name of `assay list recipes`; empty: the usual one, if a model is named
    model: HubModel = ""  # a folder, GGUF file, Hub id, run or base; empty: the base of the task
    task: tuple[
        str, ...
    ] = ()  # NAME[:LEVELS][=WEIGHT], several for a mixture; empty: the recipe's, if no data are given
    wording: Literal["", "compact", "natural"] = (
        ""  # empty: natural for rows of files and for models that others trained
    )
    data: tuple[str, ...] = ()  # files or data sets of the Hub, which form one set
    eval_data: tuple[str, ...] = ()  # those of held-out rows; empty: a fifth of the data is held out
    prompt_column: str = ""  # empty: the first of prompt, messages, question and problem
    answer_column: str = ""  # empty: the first of the columns that docs/data.md lists
    answer_from_messages: bool = False  # find the answer in the last message, which the assistant wrote
    skip_bad_rows: bool = False  # leave out rows that cannot be read or are too long, in place of refusing the file
    system: str = ""  # the system message of prompts that bring none
    reward: tuple[Code, ...] = ()  # FILE.py:FUNCTION[=WEIGHT], in place of the recipe's outcome reward
    only_reward: tuple[Code, ...] = ()  # likewise, in place of all rewards of the recipe
    tools: tuple[Code, ...] = ()  # FILE.py:FUNCTION, which the policy may call while it answers rows of data
    mcp: tuple[McpServer, ...] = ()  # MCP servers whose tools it may call there: "COMMAND ARGS", or addresses
    right_from: float = 1.0  # an answer is right if the weighted sum of its rewards is at least this
    reward_timeout: float = SECONDS  # seconds for one call of a reward function
    profile: ProfileChoice = "auto"  # the scale of the run; auto looks at the model and the machine
    steps: int | None = None  # None: those of the profile
    epochs: float | None = None  # in place of steps: passes over the rows of data
    seed: int = 0  # of all random numbers
    run: str = ""  # the new folder of the run; empty: runs/RECIPE-TASK-N
    track: tuple[str, ...] = ()  # trackers that receive the metrics too
    settings: Mapping[str, Any] = field(default_factory=dict)  # path in the experiment -> value

    def method(self) -> Recipe:
        """The recipe by its name."""
        from assay.known import recipe

        if not self.recipe and not self.model:
            raise UsageError(
                "the following arguments are required: RECIPE. `assay list recipes` shows their names, and "
                "`assay train --help` all arguments."
            )
        return recipe(self.recipe or USUAL_RECIPE)

    def pool(self, usual: str = "") -> Pool:
        """The problems: rows of files and every task, mixed; the usual task if neither is given."""
        from assay.run.pretrained_needs import wording_for
        from assay.tasks.data.task import data

        self.refuse_lone()
        reading = {name: getattr(self, name) for name in READ}
        files = [Share(data(self.data, held_out=self.eval_data or None, **reading).name)] if self.data else []
        named = self.task or (() if files else (usual or USUAL_TASK,))
        wording = self.wording or ("natural" if files else wording_for(self.model or None))
        pool = Pool((*files, *(Share.parse(text) for text in named)), wording=wording)
        check_pool(pool)
        return pool

    def refuse_lone(self) -> None:
        """Refuses what says how data files are read, if no data file is given."""
        if not self.data and (lone := [name for name in ("eval_data", *READ) if getattr(self, name)]):
            raise UsageError(f"--{lone[0].replace('_', '-')} needs a data file: name it with --data.")

    def on(self, pool: Pool) -> Setup:
        """The same with the problems of this pool, for a pool of tasks and of one set of rows at most."""
        from assay.tasks import is_data
        from assay.tasks.data.task import Data

        of_rows = [Data.of(share.task) for share in pool.shares if is_data(share.task)]
        data = of_rows[0] if of_rows else Data(())
        return dataclasses.replace(
            self,
            task=tuple(share.written for share in pool.shares if not is_data(share.task)),
            wording=pool.wording,
            data=data.places,
            eval_data=data.held_out,
            **{name: getattr(data, name) for name in READ},
        )

    def overrides(self) -> Mapping[str, Any]:
        """The settings, with `tracking.sinks` set to the trackers."""
        from assay.record.sinks import SINKS

        for name in self.track:
            if name not in SINKS:
                raise unknown("sink", name, SINKS, "assay train --help")
        if not self.track:
            return self.settings
        sinks = ",".join(dict.fromkeys(self.track))
        if (other := self.settings.get(SAME["track"], sinks)) != sinks:
            raise UsageError(
                f"the setting {SAME['track']} is given twice, as '{other}' and as '{sinks}': leave one of the two out."
            )
        return {**self.settings, SAME["track"]: sinks}


FIELDS = {field.name: field for field in dataclasses.fields(Setup)}


def composed(*sources: Given) -> Setup:
    """The setup of these sources, of which each overrides what stands before it, field by field and setting by setting.

    A field and the setting that it is a short name of are one thing, and so are `reward` and `only_reward`. What a
    source `lacks` a later one must give.
    """
    made: dict[str, Any] = {}
    for at, source in enumerate(sources):
        _require_given(source.get(LACKS, ()), sources[at + 1 :])
    for source in sources:
        for pair, why in EITHER.items():
            told = [name for name in pair if source.get(name) not in UNSAID]
            if len(told) > 1:
                raise UsageError(f"{why}: leave one out.")
            made = {name: value for name, value in made.items() if not told or name not in pair}
        given = {full_or_same(path): value for path, value in source.get("settings", {}).items()}
        kept = {path: value for path, value in made.get("settings", {}).items() if path not in _named(source)}
        made = {name: value for name, value in made.items() if DECIDES.get(name) not in given}
        made |= {name: value for name, value in source.items() if name not in ("settings", LACKS)}
        made["settings"] = {**kept, **given}
    if strange := [name for name in made if name not in FIELDS]:
        raise unknown(
            "key of a run",
            strange[0],
            [*(name.replace("_", "-") for name in FIELDS), *SHORT],
            "assay show RECIPE --toml",
        )
    return from_data(Setup, made)


def _require_given(lacks: Iterable[Lack], later: Sequence[Given]) -> None:
    """Refuses a source that lacks what no later one gives."""
    names = (name for source in later for name in (*source, *map(full_or_same, source.get("settings", {}))))
    given = {DECIDES.get(name, name) for name in names}
    for lack in lacks:
        answered = given & {DECIDES.get(name, name) for name in lack.fields}
        if not answered and (not lack.when or given & {DECIDES.get(name, name) for name in lack.when}):
            raise UsageError(lack.sentence)


def full_or_same(path: str) -> str:
    """The whole path of a setting; a name of another trainer's stays as it is."""
    return path if is_theirs(path) else full(path)


def _named(source: Given) -> set[str]:
    """The settings that a source decides by fields."""
    return {path for name, path in DECIDES.items() if source.get(name) not in UNSAID}
