"""Whether a recipe can reward answers to the rows of data files: by a verdict, which needs a reference answer, or by
judges, rules and reward models, which do not. The parts of the recipe say themselves what they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError
from assay.part import Part, Rewarding, concerned, name_of
from assay.recipe import Mechanism, Recipe
from assay.reward import JudgedAlone
from assay.source import Pool
from assay.tasks.data import is_data
from assay.tasks.data.rows import ANSWERS, SHOWN, Table, count_of, listed
from assay.tasks.data.task import tables
from assay.types import Problem

FUNCTION = "say what an answer earns with --reward file.py:function"


@dataclass(frozen=True)
class Unrewarded:
    """Rows that a recipe cannot reward, and why."""

    rows: tuple[int | str, ...]
    why: str

    def refusal(self, table: Table) -> DataError:
        files = ", ".join(Path(place).name for place in table.places)
        return DataError(f"{count_of(len(self.rows), 'row')} of {files} cannot be rewarded: {self.why}")


class Readers:
    """The parts of a recipe as readers of rows of data, in the stages that have steps.

    Readers(RECIPES["judge-single"]).verdict(problem)  # []
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.stages: list[tuple[str, Mechanism]] = [
            (stage.name, stage.mechanism or recipe.mechanism) for stage in recipe.stages if stage.share > 0
        ]
        self._parts: dict[str, list[Part]] = {}

    def parts(self, problem: Problem) -> list[Part]:
        """The parts that have to do with answers to this row."""
        if problem.task not in self._parts:
            mechanisms = tuple(mechanism for _, mechanism in self.stages)
            self._parts[problem.task] = list(dict.fromkeys(concerned(mechanisms, problem)))
        return self._parts[problem.task]

    def verdict(self, problem: Problem) -> list[str]:
        """The parts that read whether the verifier finds an answer to this row right."""
        return list(dict.fromkeys(name_of(part) for part in self.parts(problem) if part.reads_verdict(problem)))

    def lacks(self, mechanism: Mechanism, problem: Problem) -> str | None:
        """The needs of a row, in words, before one of the stage's rewards can reward answers to it; None if one can
        already.
        """
        found = [part.lacks(problem) for part in mechanism.rule("policy").reward]
        return None if None in found else " or ".join(dict.fromkeys(needs for needs in found if needs))

    def spoilt(self, table: Table) -> Unrewarded | None:
        """The rows with a column that a reward needs and cannot read."""
        found: list[tuple[int | str, str]] = []
        for row in table.problems:
            rewards = [part for part in self.parts(row) if isinstance(part, Rewarding)]
            found += [(row.spec["row"], fault) for part in rewards if (fault := part.spoilt(row))][:1]
        if not found:
            return None
        named = "; ".join(f"line {row}: {fault}" for row, fault in found[:SHOWN])
        return Unrewarded(tuple(row for row, _ in found), f"{named}. Mend the column.")

    def unrewarded(self, table: Table) -> Unrewarded | None:
        """The rows whose answers nothing in the recipe can reward, and what would."""
        bare = [row for row in table.problems if row.open and self.verdict(row)]
        if bare:
            where = f"the column '{table.columns.answer}'" if table.columns.answer else f"any of {', '.join(ANSWERS)}"
            lines, names = [row.spec["row"] for row in bare], ", ".join(self.verdict(bare[0])[:3])
            return Unrewarded(
                tuple(lines),
                f"no answer in {where} ({listed(lines)}). {self.recipe.name} reads whether answers are right "
                f"({names}). Name the column with --answer-column, {FUNCTION}, or let a judge rate answers, which "
                f"needs none: --mechanism.reward {name_of(JudgedAlone)}.",
            )
        needs = {
            row.spec["row"]: [self.lacks(mechanism, row) for _, mechanism in self.stages] for row in table.problems
        }
        lost = [row for row, lacking in needs.items() if None not in lacking]
        if not lost:
            return None
        would = " or ".join(dict.fromkeys(need for row in lost for need in needs[row] if need)) or "another recipe"
        why = f"nothing in {self.recipe.name} does ({listed(lost)}). What would: {would}; or {FUNCTION}."
        return Unrewarded(tuple(lost), why)

    def refused(self, table: Table, *, scored: bool) -> Unrewarded | None:
        """The rows for which `assay train` refuses the table. If reward functions grade (`scored`), only rows are
        refused with a column that a reward needs and cannot read.
        """
        return self.spoilt(table) or (None if scored else self.unrewarded(table))

    def idle(self, table: Table) -> Iterator[str]:
        """A line for each stage in which nothing rewards some rows."""
        for number, (name, mechanism) in enumerate(self.stages):
            needs = [found for row in table.problems if (found := self.lacks(mechanism, row)) is not None]
            if needs:
                yield (
                    f"stage {name}: nothing rewards answers to {len(needs)} of {len(table.problems)} rows of "
                    f"{table.place}, so that they teach nothing there; {needs[0] or 'another reward'} would reward "
                    f"them, and --stages.{number}.share 0 leaves the stage out"
                )


def tables_of(pool: Pool) -> list[Table]:
    """The tables of the data files of a pool, those of held-out rows too."""
    return [table for share in pool.shares if is_data(share.task) for table in tables(share.task)]


def has_open_rows(pool: Pool) -> bool:
    return any(row.open for table in tables_of(pool) for row in table.problems)


def require_rewarded(recipe: Recipe, pool: Pool, *, scored: bool) -> list[str]:
    """Refuses rows that the recipe cannot reward; `scored`: reward functions grade. Returns a line for each stage in
    which nothing rewards some rows.
    """
    readers, lines = Readers(recipe), list[str]()
    for table in tables_of(pool):
        if found := readers.refused(table, scored=scored):
            raise found.refusal(table)
        lines += [] if scored else readers.idle(table)
    return lines


def reads_verdicts(recipe: Recipe) -> Callable[[Problem], bool]:
    """Whether any part of the recipe reads the verdicts on answers to a problem."""
    readers = Readers(recipe)
    return lambda problem: bool(readers.verdict(problem))
