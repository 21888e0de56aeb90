"""The cells of a column that was declared in SQL: half of them at the constants of a query, the others by the type."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.verifiers.sql.constants import Constant, texts_like
from assay.verifiers.sql.schemas import KeyedColumn

NEAR, FREE_NEAR = 0.5, 0.2  # shares of cells at a constant of the column, and of the query where the column has none
WORDS = ("ash", "birch", "Cedar", "elm", "fir", "hazel", "Larch", "maple", "oak", "Pine", "rowan", "yew")
SPANS = (4, 30, 1000)  # of numbers without constants: some databases have many equal cells, some have few
_DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_YEARS = (1980, 2024)


class Cells:
    """Draws the cells of one column in one database.

    Example:
        Cells(KeyedColumn("age", "integer", "INT"), [18.0], Key("x").generator()).one()
    """

    def __init__(
        self,
        column: KeyedColumn,
        constants: Sequence[Constant],
        generator: np.random.Generator,
        *,
        own: bool = True,  # the constants are the column's own
        unique: bool = False,
        dates: bool = False,  # the query gives the column to a function of dates
        count: int = 12,
    ) -> None:
        self.column, self.generator, self.unique, self.count = column, generator, unique, count
        self.span = SPANS[self._to(len(SPANS))]
        self.words = WORDS if unique or self.span > SPANS[0] else tuple(WORDS[self._to(len(WORDS))] for _ in range(3))
        self.form = self._form(constants if own else (), dates)
        self.near = self._near(constants)
        self.share = NEAR if own else FREE_NEAR

    def one(self) -> Any:
        """A cell."""
        if self.near and self.generator.random() < self.share:
            return self._fitted(self.near[self._to(len(self.near))])
        if self.column.examples and not (self.unique and self.generator.random() < 0.5):
            return self._like_examples()
        return self._fitted({"date": self._date, "word": self._word}.get(self.form, self._number)())

    def _to(self, end: int) -> int:
        return int(self.generator.random() * end)

    def _form(self, constants: Sequence[Constant], dates: bool) -> str:
        """The form of the cells: word, date, year, flag, whole or decimal."""
        declared, name = self.column.declared.lower(), self.column.name.lower()
        texts = [one for one in constants if isinstance(one, str)]
        if dates or "date" in declared or "time" in declared or (texts and all(map(_DATE.match, texts))):
            return "date"
        if "year" in declared or "year" in name:
            return "year"
        if self.column.kind in ("text", "blob"):
            return "date" if "date" in name else "word"
        if "bool" in declared or declared == "bit":
            return "flag"
        return "whole" if self.column.kind == "integer" or ("(" in declared and ",0)" in declared) else "decimal"

    def _near(self, constants: Sequence[Constant]) -> list[Any]:
        found: list[Any] = []
        for one in constants:
            number = _as_number(one) if isinstance(one, str) else float(one)
            if self.form == "date":
                found += self._dates_near(one)
            elif self.form == "word":
                found += _texts_near(one, self.words)
            elif number is not None:
                found += [number + step for step in (-1, 0, 0, 1)]
        self.numbers = [one for one in found if isinstance(one, float)]
        return found

    def _dates_near(self, constant: Constant) -> list[str]:
        """Dates near a constant: its day and the days beside it, or days of its month, or of its year."""
        text = constant if isinstance(constant, str) else str(int(constant))
        if (found := re.search(r"\d{4}", text)) is None or not 1 <= int(found[0]) <= 9998:
            return []
        whole = _DATE.search(text)
        month, day = (int(whole[2]), int(whole[3] or 0)) if whole else (0, 0)
        year = int(found[0])
        if not 1 <= month <= 12:
            return [
                self._written(datetime.date(year + step, 1 + self._to(12), 1 + self._to(28))) for step in (-1, 0, 0, 1)
            ]
        middle = datetime.date(year, month, min(max(day, 1), 28))
        steps = (-1, 0, 0, 1) if day else (-20, 0, 3, 17, 40)
        return [self._written(middle + datetime.timedelta(days=step)) for step in steps]

    def _written(self, day: datetime.date) -> str:
        declared = self.column.declared.lower()
        clock = f"{self._to(24):02}:{self._to(60):02}:{self._to(60):02}"
        if "datetime" in declared or "timestamp" in declared:
            return f"{day.isoformat()} {clock}"
        return clock if "time" in declared else day.isoformat()

    def _date(self) -> str:
        years = (self._to(_YEARS[1] - 2000) + 2000, _YEARS[0] + self._to(_YEARS[1] - _YEARS[0]), 2010)
        year = years[SPANS.index(self.span)]
        return self._written(datetime.date(year, 1 + self._to(12), 1 + self._to(28)))

    def _word(self) -> str:
        word = self.words[self._to(len(self.words))]
        return f"{word} {self._to(8 * self.count)}" if self.unique else word

    def _number(self) -> float:
        if self.form == "flag":
            return self._to(2)
        if self.form == "year" and not self.numbers:
            return _YEARS[0] + self._to(_YEARS[1] - _YEARS[0])
        low, high = 0.0, float(self.span)
        if self.unique:
            low, high = 1.0, 4.0 * self.count + 1
        if self.numbers:
            middle, wide = self.numbers[self._to(len(self.numbers))], max(map(abs, self.numbers)) / 2 + 5
            low, high = middle - wide, middle + wide
            low = max(low, 0.0) if min(self.numbers) >= 0 else low
        return low + self.generator.random() * (high - low)

    def _like_examples(self) -> Any:
        examples = self.column.examples
        numbers = [one for one in examples if isinstance(one, int | float)]
        if len(numbers) == len(examples) and self.generator.random() < 0.5:
            low, high = min(numbers), max(numbers)
            whole = all(isinstance(one, int) for one in numbers)
            drawn = low + self.generator.random() * (high - low)
            return round(drawn) if whole else round(drawn, 2)
        return examples[self._to(len(examples))]

    def _fitted(self, cell: Any) -> Any:
        """The cell as the declared type has it: whole numbers, decimals of two places, no text beyond its length."""
        if isinstance(cell, str):
            length = re.search(r"char\w*\s*\(\s*(\d{1,4})\s*\)", self.column.declared, re.IGNORECASE)
            return cell[: max(1, int(length[1]))] if length else cell
        if self.form in ("whole", "year", "flag"):
            return str(round(cell)) if self.column.kind in ("text", "blob") else round(cell)
        return round(cell, 2) if self.span > SPANS[0] else round(cell)


def _as_number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[+-]?\d{1,15}(?:\.\d{1,9})?", text.strip()) else None


def _texts_near(constant: Constant, filling: Sequence[str]) -> list[str]:
    if isinstance(constant, str):
        return texts_like(constant, filling[:2]) if "%" in constant or "_" in constant else [constant]
    whole = constant == int(constant)
    return [str(int(constant) + step) for step in (-1, 0, 0, 1)] if whole else [str(constant)]
