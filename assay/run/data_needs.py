"""What a run asks of the files that it learns from: answers to judge by, enough rows, prompts that fit, no change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.ask import Codec
from assay.errors import ConfigError, DataError
from assay.policy.conversation import Chat
from assay.recipe import Recipe
from assay.run.experiment import Experiment
from assay.source import Pool
from assay.tasks import short
from assay.tasks.data.answers import no_gold, require_gold
from assay.tasks.data.rows import MARK, SHOWN, SOLUTIONS, Table, count_of, listed, with_system_of_their_own
from assay.tasks.data.task import Data, content, describe, digests, is_data, rows_of, tables, where
from assay.tasks.task import Split
from assay.types import Problem
from assay.verifiers.mathematics import golds as golds_of
from assay.verifiers.mathematics import verdicts

LEAST_ROOM = 4  # answers are cut as long as a fourth of their length, or of the whole context, is left


def files(pool: Pool) -> list[str]:
    """The tasks of a pool that are files."""
    return [share.task for share in pool.shares if is_data(share.task)]


def require_answers(pool: Pool) -> None:
    """Where no reward function judges, every row must have an answer to be judged by."""
    for name in files(pool):
        verdicts.require()
        for table in tables(name):
            require_gold(table)


def tell_golds(pool: Pool) -> list[str]:
    """A sentence on the answers of each file by which no answer can be judged, so that they are known before a run
    meets them one by one. Where there are no others, the run is refused.
    """
    lines = []
    for name in files(pool):
        for table in tables(name):
            golds = [problem.spec["gold"] for problem in table.problems]
            pairs = zip(table.problems, golds_of.troubles(golds), strict=True)
            bad = [{"row": p.spec["row"], "gold": p.spec["gold"][:80], "why": why} for p, why in pairs if why]
            if len(bad) == len(golds):
                raise no_gold(table.place, table.columns.answer or "", bad)
            if bad:
                shown = "; ".join(f"row {one['row']}, {one['gold']!r}: {one['why']}" for one in bad[:SHOWN])
                lines.append(
                    f"warning: {count_of(len(bad), 'answer')} of {table.place} cannot be judged by, and what is said "
                    f"to them has no reward: {shown}{' ...' if len(bad) > SHOWN else ''}"
                )
    return lines


def require_solutions(recipe: Recipe, pool: Pool) -> None:
    """Where a method reads worked solutions the rows must have them: all rows, or some where it goes on without."""
    if recipe.solutions == "none":
        return
    for name in files(pool):
        for table in tables(name)[:1]:  # of held-out rows only the answers are looked at
            bare = [problem for problem in table.problems if not problem.solution]
            if bare and (recipe.solutions == "all" or len(bare) == len(table.problems)):
                raise DataError(
                    f"{recipe.name} learns from worked solutions, and {len(bare)} of {len(table.problems)} rows of "
                    f"{short(name)} have none: {_missing_solution(table, bare)}"
                )


def _missing_solution(table: Table, bare: Sequence[Problem]) -> str:
    """Where they would stand."""
    names = " or ".join(f"'{name}'" for name in SOLUTIONS)
    if table.columns.solution:
        lines = listed([problem.spec["row"] for problem in bare])
        return f"the column '{table.columns.solution}' is empty there ({lines}). Fill it, or leave these rows out."
    answers = f"'{table.columns.answer}' holds bare answers" if table.columns.answer else "no column holds answers"
    return (
        f"there is no column {names}, and {answers}, without {MARK} or a box behind a solution. Add a column "
        f"{names}, or take a recipe that learns from rewards alone: grpo."
    )


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


def told(pool: Pool, chat: Chat) -> list[str]:
    """What a person should know of the files before a run begins."""
    lines = [line for name in files(pool) for line in describe(name)]
    own = with_system_of_their_own(all_rows(pool)) if chat.system else 0
    return [*lines, f"{count_of(own, 'row')} with a system message of their own keep it"] if own else lines


def system_of(name: str) -> str:
    """The system message that stands with the rows themselves, of runs that are older than the setting."""
    return Data.of(name).system


def learnt(pool: Pool) -> list[str]:
    """Digests of what the rows say that a run trains on, or watches to choose its best checkpoint by."""
    splits: tuple[Split, ...] = ("train", "valid")
    return sorted({content(row) for name in files(pool) for split in splits for row in rows_of(name, split)})


def identity(pool: Pool) -> dict[str, Any]:
    """What a resumed run must find again: nothing where no file is read."""
    found = {name: digests(name) for name in files(pool)}
    return {"data": found} if found else {}


def require_unchanged(pool: Pool, begun: Mapping[str, Any]) -> None:
    before = begun.get("data", {})
    for name, now in identity(pool).get("data", {}).items():
        if (was := before.get(name)) == now:
            continue
        told = Data.of(name)
        places = (*told.places, *told.held_out)
        changed = [place for place, one, other in zip(places, was or (), now, strict=False) if one != other] or places
        raise ConfigError(
            f"the rows of {short(name)} have changed since the run began ({', '.join(changed)}): they were {was}, now "
            f"{now}. Put the old file back, or start a new run."
        )


def all_rows(pool: Pool) -> list[Problem]:
    """Every row of every file of the pool, once."""
    rows = (row for name in files(pool) for table in tables(name) for row in table.problems)
    return list({row.id: row for row in rows}.values())


@dataclass(frozen=True)
class Measured:
    """Prompts with the tokens that a model reads of each, the longest first, and those that it cannot read."""

    lengths: Sequence[tuple[int, Problem]]
    unread: Sequence[tuple[Problem, str]]  # with what the tokenizer or its template says


def measured(problems: Iterable[Problem], codec: Codec, more: Callable[[Problem], int] = lambda _: 0) -> Measured:
    """How long each prompt is, with what is added to it: `more` tokens."""
    lengths, unread = [], []
    for problem in problems:
        try:
            lengths.append((len(codec.render(problem.prompt)) + more(problem), problem))
        except DataError as error:
            unread.append((problem, str(error)))
    return Measured(sorted(lengths, key=lambda pair: -pair[0]), unread)


@dataclass(frozen=True)
class Fit:
    """How long answers may be so that each fits into the context behind its prompt."""

    max_new: int
    longest: int  # tokens of the longest prompt that is asked
    left_out: tuple[str, ...]  # ids of rows that leave no room, or that the model cannot read
    lines: tuple[str, ...]  # what a person should know


def fit(max_new: int, found: Measured, *, context: int, model: str, flag: str = "--scale.max-new") -> Fit:
    """Answers as long as was asked for, or cut to what the longest prompt leaves. A row that leaves less than a fourth
    is refused, or left out where bad rows are skipped. `flag` is the one that says how long answers are.
    """
    least = -(-min(max_new, context) // LEAST_ROOM)  # no answer is longer than the context, whatever a paper's limit is
    limit = context - least  # tokens of a prompt behind which there is so much room
    long = [(length, problem) for length, problem in found.lengths if length > limit]
    kept = [(length, problem) for length, problem in found.lengths if length <= limit]
    tasks = {problem.task for _, problem in long} | {problem.task for problem, _ in found.unread}
    skips = {name: Data.of(name).skip_bad_rows for name in tasks}
    if unread := [(problem, why) for problem, why in found.unread if not skips[problem.task]]:
        told = "\n".join(f"  {where(problem)}: {why}" for problem, why in unread[:SHOWN])
        raise DataError(
            f"{count_of(len(unread), 'prompt')} cannot be read by {model}:\n{told}\nMend them, or leave them out with "
            "--skip-bad-rows."
        )
    if over := [(length, problem) for length, problem in long if not skips[problem.task]]:
        named = ", ".join(f"{where(problem)} ({length} tokens)" for length, problem in over[:5])
        raise DataError(
            f"{len(over)} of {len(found.lengths)} prompts leave no room for answers of {max_new} tokens in the "
            f"{context} positions of {model}, behind prompts of at most {limit} tokens: {named}"
            f"{' ...' if len(over) > 5 else ''}. Leave them out with --skip-bad-rows or shorten them; or lower {flag}, "
            "or take a model with a longer context."
        )
    if not kept:
        raise DataError(
            f"none of {len(long) + len(found.unread)} prompts can be asked of {model}: it cannot read "
            f"{len(found.unread)}, and {len(long)} leave no room for answers of {max_new} tokens in its {context} "
            f"positions. Lower {flag}, or take another model."
        )
    lines = []
    if long:
        named = ", ".join(f"{where(problem)} ({length} tokens)" for length, problem in long[:SHOWN])
        lines.append(
            f"{len(long)} of {len(found.lengths)} rows left out, of more than {limit} tokens, which leave no room for "
            f"answers: {named}{' ...' if len(long) > SHOWN else ''}"
        )
    lines += [f"left out, {where(problem)}: {why}" for problem, why in found.unread[:SHOWN]]
    if len(found.unread) > SHOWN:
        lines.append(f"... {len(found.unread)} rows left out that the model cannot read")
    longest, problem = kept[0]
    if (room := context - longest) < max_new:
        lines.append(
            f"max_new: {max_new} -> {room} (the context of {context} less the longest prompt, {longest} tokens at "
            f"{where(problem)})"
        )
    gone = (*(problem.id for _, problem in long), *(problem.id for problem, _ in found.unread))
    return Fit(min(max_new, room), longest, gone, tuple(lines))
