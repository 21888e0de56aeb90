"""What a verb came to: its data, as `--json` prints them, and its table, as the terminal shows it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any


class Result(dict[str, Any]):
    """The data of a verb, which print as its table.

    found = assay.explain("dapo")
    found["factors"]; print(found)
    """

    def __init__(self, data: Mapping[str, Any], text: str) -> None:
        super().__init__(data)
        self.text = text

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"
