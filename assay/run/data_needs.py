"""What a run requires of its data files: answers to compare completions with, enough rows, prompts that fit, no change.

A data file appears in a pool as a task whose name holds the places of the file; see `assay/tasks/data`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError, DataError, UsageError
from assay.externals import require
from assay.externals.sandbox import SANDBOX
from assay.policy.conversation import Chat
from assay.recipe import Recipe
from assay.run import open_rows
from assay.run.experiment import Experiment
from assay.source import Pool
from assay.tasks import short
from assay.tasks.data import is_data
from assay.tasks.data.answers import no_gold, require_gold, troubles_of
from assay.tasks.data.rows import MARK, SHOWN, SOLUTIONS, Table, count_of, listed, with_system_of_their_own
from assay.tasks.data.task import Data, content, describe, digests, rows_of, tables, where
from assay.tasks.task import Split
from assay.types import Problem
from assay.verifiers.mathematics import against_gold

LEAST_ROOM = 4  # a prompt must leave room for 1/4 of `max_new`, or for 1/4 of the context if that is shorter


def files(pool: Pool) -> list[str]:
    """The names of those tasks of a pool that are data files."""
    return [share.task for share in pool.shares if is_data(share.task)]


def require_answers(pool: Pool, recipe: Recipe | None = None) -> list[str]:
    """Refuses rows that cannot be rewarded without reward functions: under a recipe those that nothing in it rewards,
    else those without a reference answer. Returns lines about rows that a stage cannot reward.
    """
    for name in files(pool):
        for table in tables(name):
            if table.columns.tests:
                require([SANDBOX.name], f"{short(name)}, whose rows have tests of programs,")
            elif not table.columns.ruled and not all(problem.open for problem in table.problems):
                against_gold.require()
            if recipe is None:
                require_gold(table)
    return [] if recipe is None else open_rows.require_rewarded(recipe, pool, scored=False)


def answer_warnings(pool: Pool, read: Callable[[Problem], bool] = lambda _: True) -> list[str]:
    """A warning for each file whose column of reference answers holds some that cannot be read as mathematics.

    A completion cannot be compared with such an answer. A file in which all reference answers are such is refused.
    Only rows count whose verdicts are read.
    """
    lines = []
    for name in files(pool):
        for table in tables(name):
            compared = [problem for problem in table.problems if not problem.open and read(problem)]
            pairs = zip(compared, troubles_of(compared), strict=True)
            rows = [{"row": p.spec["row"], "gold": p.spec["gold"][:80], "why": bad.why} for p, bad in pairs if bad]
            if rows and len(rows) == len(compared):
                raise no_gold(table.place, table.columns.answer or "", rows)
            if rows:
                shown = "; ".join(f"row {row['row']}, {row['gold']!r}: {row['why']}" for row in rows[:SHOWN])
                lines.append(
                    f"warning: {count_of(len(rows), 'reference answer')} of {table.place} cannot be compared with, so "
                    f"that completions for such a row get no reward: {shown}{' ...' if len(rows) > SHOWN else ''}"
                )
    return lines


def require_solutions(recipe: Recipe, pool: Pool) -> None:
    """Refuses rows without worked solutions where the recipe needs them: in all rows, or in at least one row."""
    if recipe.solutions == "none":
        return
    for name in files(pool):
        for table in tables(name)[:1]:  # training rows only: held-out rows need no worked solution
            bare = [problem for problem in table.problems if not problem.solution]
            if bare and (recipe.solutions == "all" or len(bare) == len(table.problems)):
                raise DataError(
                    f"{recipe.name} learns from worked solutions, and {len(bare)} of {len(table.problems)} rows of "
                    f"{short(name)} have none: {_missing_solution(table, bare)}"
                )


def _missing_solution(table: Table, bare: Sequence[Problem]) -> str:
    """Says in which column worked solutions were looked for, and what to do."""
    names = " or ".join(f"'{name}'" for name in SOLUTIONS)
    if table.columns.solution:
        lines = listed([problem.spec["row"] for problem in bare])
        return f"the column '{table.columns.solution}' is empty there ({lines}). Fill it, or leave these rows out."
    answers = f"'{table.columns.answer}' holds bare answers" if table.columns.answer else "no column holds answers"
    return (
        f"there is no column {names}, and {answers}, with no {MARK} or \\boxed{{}} that would end a worked solution. "
        f"Add a column {names}, or take a recipe that learns from rewards alone, such as grpo."
    )


def steps_of(epochs: float, experiment: Experiment) -> tuple[int, str]:
    """(the steps in which every row is drawn in so many passes over the data, a line that says so)."""
    if not experiment.pool.finite:
        raise UsageError(
            "--epochs counts passes over the rows of --data, and generated tasks have no end: say --steps, or --data."
        )
    if not 0 < epochs < math.inf:
        raise UsageError(f"--epochs is a number of passes over the rows, above 0, not {epochs:g}.")
    rows, prompts = len(experiment.pool.rows("train")), experiment.recipe.scale.num_prompts
    steps = math.ceil(round(epochs * rows / prompts, 6))
    passes = "1 pass" if epochs == 1 else f"{epochs:g} passes"
    return steps, f"num_steps: {steps} ({passes} over {rows:,} rows, of which a step asks {prompts})"


def at_most_rows(experiment: Experiment) -> tuple[Experiment, list[str]]:
    """The experiment with evaluations no larger than the held-out rows, and a line for each that was made smaller."""
    if not experiment.pool.finite:
        return experiment, []
    plan, lines = experiment.evaluation, []
    sizes: tuple[tuple[Split, str], ...] = (("valid", "num_problems"), ("test", "final_problems"))
    for split, name in sizes:
        if split == "valid" and not plan.every:
            continue
        wanted, there = getattr(plan, name), len(experiment.pool.rows(split))
        if there < wanted:
            plan = dataclasses.replace(plan, **{name: there})
            lines.append(f"evaluation.{name}: {wanted} -> {there} (all rows of '{split}')")
    return dataclasses.replace(experiment, evaluation=plan), lines


def notes(pool: Pool, chat: Chat) -> list[str]:
    """The lines about the data files that are printed before a run begins."""
    lines = [line for name in files(pool) for line in describe(name)]
    own = with_system_of_their_own(all_rows(pool)) if chat.system else 0
    return [*lines, f"{count_of(own, 'row')} with a system message of their own keep it"] if own else lines


def system_of(name: str) -> str:
    """The system message that the task of a data file holds, in runs made before the setting `chat.system`."""
    return Data.of(name).system


def learnt(pool: Pool) -> list[str]:
    """Digests of the rows of data files that a run trains on, or that it evaluates on to choose its best checkpoint."""
    splits: tuple[Split, ...] = ("train", "valid")
    return sorted({content(row) for name in files(pool) for split in splits for row in rows_of(name, split)})


def identity(pool: Pool) -> dict[str, Any]:
    """Digests of the data files, which must be the same when the run is resumed; empty for a pool without files."""
    digests_by_task = {name: digests(name) for name in files(pool)}
    return {"data": digests_by_task} if digests_by_task else {}


def require_unchanged(pool: Pool, recorded: Mapping[str, Any]) -> None:
    """Refuses to go on if a data file has changed; `recorded` is the identity that the run folder holds."""
    before = recorded.get("data", {})
    for name, now in identity(pool).get("data", {}).items():
        if (was := before.get(name)) == now:
            continue
        data = Data.of(name)
        places = (*data.places, *data.held_out)
        changed = [place for place, one, other in zip(places, was or (), now, strict=False) if one != other] or places
        raise ConfigError(
            f"the rows of {short(name)} have changed since the run began ({', '.join(changed)}): their digests were "
            f"{was} and are now {now}. Put the old file back, or start a new run."
        )


def all_rows(pool: Pool) -> list[Problem]:
    """Every row of every file of the pool, once."""
    rows = (row for name in files(pool) for table in tables(name) for row in table.problems)
    return list({row.id: row for row in rows}.values())


@dataclass(frozen=True)
class Measured:
    """The lengths of prompts in tokens, and the prompts that the tokenizer or its chat template refuses."""

    lengths: Sequence[tuple[int, Problem]]  # (tokens of the prompt, problem), the longest first
    unread: Sequence[tuple[Problem, str]]  # (problem, what the tokenizer or its template says)


def measured(problems: Iterable[Problem], length: Callable[[Problem], int]) -> Measured:
    """Counts the tokens of each prompt as the model will read it: `length` says how many, or why it cannot."""
    lengths, unread = [], []
    for problem in problems:
        try:
            lengths.append((length(problem), problem))
        except DataError as error:
            unread.append((problem, str(error)))
    return Measured(sorted(lengths, key=lambda pair: -pair[0]), unread)


@dataclass(frozen=True)
class Fit:
    """The completion length with which every prompt and its completion fit into the context together."""

    max_new: int
    longest: int  # tokens of the longest prompt that stays
    left_out: tuple[str, ...]  # ids of rows whose prompts are too long, or which the model cannot read
    lines: tuple[str, ...]  # sentences to print


def fit(max_new: int, prompts: Measured, *, context: int, model: str, flag: str = "--scale.max-new") -> Fit:
    """Completions of `max_new` tokens, or fewer if the longest prompt leaves less room.

    A prompt that leaves less room than `LEAST_ROOM` demands is an error, or is left out where --skip-bad-rows says so.
    `flag` is the option that sets the length of completions, for messages.
    """
    least = -(-min(max_new, context) // LEAST_ROOM)  # some papers' limits exceed the whole context of a small model
    limit = context - least  # tokens that a prompt may have
    long = [(length, problem) for length, problem in prompts.lengths if length > limit]
    fitting = [(length, problem) for length, problem in prompts.lengths if length <= limit]
    tasks = {problem.task for _, problem in long} | {problem.task for problem, _ in prompts.unread}
    skips = {name: Data.of(name).skip_bad_rows for name in tasks}
    if unread := [(problem, why) for problem, why in prompts.unread if not skips[problem.task]]:
        listing = "\n".join(f"  {where(problem)}: {why}" for problem, why in unread[:SHOWN])
        raise DataError(
            f"{count_of(len(unread), 'prompt')} cannot be read by {model}:\n{listing}\nMend them, or leave them out "
            "with --skip-bad-rows."
        )
    if over := [(length, problem) for length, problem in long if not skips[problem.task]]:
        named = ", ".join(f"{where(problem)} ({length} tokens)" for length, problem in over[:5])
        raise DataError(
            f"{len(over)} of {len(prompts.lengths)} prompts leave no room for answers of {max_new} tokens in the "
            f"{context} positions of {model}, where prompts may have at most {limit} tokens: {named}"
            f"{' ...' if len(over) > 5 else ''}. Leave them out with --skip-bad-rows or shorten them; or lower {flag}, "
            "or take a model with a longer context."
        )
    if not fitting:
        raise DataError(
            f"none of {len(long) + len(prompts.unread)} prompts can be asked of {model}: it cannot read "
            f"{len(prompts.unread)}, and {len(long)} leave no room for answers of {max_new} tokens in its {context} "
            f"positions. Lower {flag}, or take another model."
        )
    lines = []
    if long:
        named = ", ".join(f"{where(problem)} ({length} tokens)" for length, problem in long[:SHOWN])
        lines.append(
            f"{len(long)} of {len(prompts.lengths)} rows are left out, because their prompts have more than {limit} "
            f"tokens and leave no room for answers: {named}{' ...' if len(long) > SHOWN else ''}"
        )
    lines += [f"left out, {where(problem)}: {why}" for problem, why in prompts.unread[:SHOWN]]
    if len(prompts.unread) > SHOWN:
        lines.append(f"... {len(prompts.unread)} rows left out that the model cannot read")
    longest, problem = fitting[0]
    if (room := context - longest) < max_new:
        lines.append(
            f"max_new: {max_new} -> {room} (the context of {context} less the longest prompt, {longest} tokens at "
            f"{where(problem)})"
        )
    left_out = (*(problem.id for _, problem in long), *(problem.id for problem, _ in prompts.unread))
    return Fit(min(max_new, room), longest, left_out, tuple(lines))
