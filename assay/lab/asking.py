"""Which problems a model is asked, and who judges its answers: what `assay eval`, `bank`, `transfer` and `search` share
with their functions in Python. A setup describes it, as it describes a run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from assay.host import terminal
from assay.run.ancestry import origin, unknown_to
from assay.run.data_needs import require_answers
from assay.run.external_needs import require_externals
from assay.run.grader import Grader, grader, require_services
from assay.run.open_rows import has_open_rows
from assay.run.setup import READ, Setup
from assay.run.trust import Trust, require_trust
from assay.source import Pool, Share
from assay.tasks.data.task import data
from assay.verifiers.functions.process import check_timeout


def exam_pool(asked: Setup, trust: Trust) -> Pool:
    """The problems that a model is asked: all rows of the data, the tasks, or the run's own test. Rows that the model
    was trained on are left out.

    exam_pool(Setup(model="runs/first", data=("problems.jsonl",)), Trust())
    """
    run = origin(asked.model)
    if run is not None and not asked.wording and not asked.data:
        asked = dataclasses.replace(asked, wording=run.experiment.pool.wording)
    if run is not None and not asked.task and not asked.data:
        asked.refuse_lone()
        require_trust(run.folder, run.experiment, trust, of=("pool",))
        pool = run.experiment.pool
    else:
        pool = asked.pool()
    if asked.data:
        whole = Share(data(asked.data, rows="test", **{name: getattr(asked, name) for name in READ}).name)
        pool = dataclasses.replace(pool, shares=(whole, *pool.shares[1:]))
    if not asked.reward:
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
                f"{run.path.name} was trained with reward functions; here the tasks' verifiers judge alone. To ask its "
                f"reward functions beside them: {flags}"
            )
    return unknown_to(asked.model, pool)


def judge_of(asked: Setup, functions: Mapping[str, Callable[..., Any]] | None = None) -> Grader:
    """The grader with the reward functions that are named, or with the verifiers of the tasks. Answers that the length
    limit cut off count as in the run of the model. `functions` are those that the calling program passes, by name.
    """
    check_timeout(asked.reward_timeout)
    run = origin(asked.model)
    return grader(
        asked.reward,
        right_from=asked.right_from,
        timeout=asked.reward_timeout,
        given=functions,
        read_cut=run is not None and run.experiment.cut == "scored",
    )


def report_on(
    asked: Setup,
    trust: Trust,
    ask: Callable[..., dict[str, Any]],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    **how: Any,
) -> dict[str, Any]:
    """The report of `ask` on the problems that a setup describes, judged as it says."""
    with judge_of(asked, functions) as judge:
        return ask(pool=exam_pool(asked, trust), grader=judge, **how)
