"""What a run asks of the files that it learns from: answers to judge by, enough rows, prompts that fit, no change."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.augment import Codec
from assay.errors import ConfigError, DataError
from assay.experiment import Experiment
from assay.source import Pool
from assay.tasks import short
from assay.tasks.data import describe, digests, is_data, tables
from assay.tasks.data_rows import require_gold
from assay.tasks.task import Split
from assay.types import Ids, Problem
from assay.verify import mathematics

LEAST_ROOM = 4  # answers are cut to the context as long as a fourth of their length is left


def files(pool: Pool) -> list[str]:
    """The tasks of a pool that are files."""
    return [share.task for share in pool.shares if is_data(share.task)]


def require_answers(pool: Pool) -> None:
    """Where no reward function judges, every row must have an answer to be judged by."""
    for name in files(pool):
        mathematics.require()
        for table in tables(name):
            require_gold(table)


def at_most_rows(experiment: Experiment) -> tuple[Experiment, list[str]]:
    """Evaluations on as many rows as there are, and a line for each that was to be larger."""
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


def told(pool: Pool) -> list[str]:
    """What a person should know of the files before a run begins."""
    return [line for name in files(pool) for line in describe(name)]


def identity(pool: Pool) -> dict[str, Any]:
    """What a resumed run must find again: nothing where no file is read."""
    found = {name: digests(name) for name in files(pool)}
    return {"data": found} if found else {}


def require_unchanged(pool: Pool, begun: Mapping[str, Any]) -> None:
    before = begun.get("data", {})
    for name, now in identity(pool).get("data", {}).items():
        if before.get(name) != now:
            raise ConfigError(
                f"the rows of {short(name)} have changed since the run began: they were {before.get(name)}, now {now}. "
                "Put the old file back, or start a new run."
            )


def all_rows(pool: Pool) -> list[Problem]:
    """Every row of every file of the pool, once."""
    rows = (row for name in files(pool) for table in tables(name) for row in table.problems)
    return list({row.id: row for row in rows}.values())


def prompt_lengths(problems: Iterable[Problem], codec: Codec) -> list[tuple[int, Problem]]:
    """Each with the tokens that a model reads of it, the longest first."""
    found = [(len(_rendered(problem, codec)), problem) for problem in problems]
    return sorted(found, key=lambda pair: -pair[0])


def _rendered(problem: Problem, codec: Codec) -> Ids:
    try:
        return codec.render(problem.prompt)
    except DataError as error:
        raise DataError(f"line {problem.spec['row']} of {short(problem.task)}: {error}") from None


def fit(
    max_new: int, problems: Sequence[Problem], codec: Codec, *, context: int, model: str
) -> tuple[int, int, list[str]]:
    """How long answers may be so that each fits into the context behind its prompt; tokens of the longest prompt; a
    line if answers were cut.
    """
    lengths = prompt_lengths(problems, codec)
    longest, problem = lengths[0]
    room = context - longest
    if room >= max_new:
        return max_new, longest, []
    if room * LEAST_ROOM < max_new:
        over = [(length, p) for length, p in lengths if (context - length) * LEAST_ROOM < max_new]
        named = ", ".join(f"line {p.spec['row']} of {short(p.task)} ({length} tokens)" for length, p in over[:5])
        raise DataError(
            f"{len(over)} of {len(lengths)} prompts leave no room for answers of {max_new} tokens in the {context} "
            f"positions of {model}: {named}{' ...' if len(over) > 5 else ''}. Shorten or drop them, lower "
            "--scale.max-new, or take a model with a longer context."
        )
    return (
        room,
        longest,
        [
            f"max_new: {max_new} -> {room} (the context of {context} less the longest prompt, {longest} tokens at line "
            f"{problem.spec['row']} of {short(problem.task)})"
        ],
    )
