"""The records of a run as a program reads them: a list of dictionaries, which is a data frame where that is wanted."""

from __future__ import annotations

import html
import importlib
from collections.abc import Sequence
from typing import Any

from assay.errors import ConfigError

SHOWN = 8  # rows, and columns, of the table in a notebook


class Records(list[dict[str, Any]]):
    """A list of dictionaries, one for each record.

    records = run.metrics()
    records[-1]["reward/mean"]; records.frame().plot(x="step", y="reward/mean"); records.frame("polars")
    """

    def frame(self, library: str = "pandas") -> Any:
        """The records as a data frame of pandas, or of polars, which must be installed. What a record lacks is null."""
        if library not in ("pandas", "polars"):
            raise ConfigError(f"frames are of pandas or of polars, and not of {library!r}.")
        try:
            made = importlib.import_module(library).DataFrame
        except ImportError:
            raise ConfigError(
                f"a data frame needs {library}: `pip install {library}`. Without it the records are a list of "
                "dictionaries already."
            ) from None
        return made(list(self)) if library == "pandas" else made(list(self), infer_schema_length=None)

    def column(self, name: str) -> list[Any]:
        """The values of one column; None where a record lacks it."""
        return [record.get(name) for record in self]

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for record in self for name in record))
        rows = [[_cell(record.get(name)) for name in names[:SHOWN]] for record in self[-SHOWN:]]
        left = f"the last {len(rows)} of {len(self)} records; {len(names)} columns: {', '.join(names)}"
        return (
            f"{table(names[:SHOWN], rows)}<details><summary>{len(self)} records</summary>{html.escape(left)}</details>"
        )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML; every text in it is shown as it is."""
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
