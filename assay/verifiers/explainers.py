"""The verifiers that explain a verdict on a gold and an answer, by name: for `assay verify explain` and `audit`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from assay.errors import unknown
from assay.types import Verdict

EXPLAINERS: dict[str, str] = {
    "mathematics": "assay.verifiers.mathematics.verdicts:explain",
    "optimisation": "assay.verifiers.optimisation.verdicts:explain",
    "programs": "assay.verifiers.programs.explained:explain",
    "sql": "assay.verifiers.sql.verdicts:explain",
}
"""Name -> `module:function`, a function from (gold, answer) pairs to explained verdicts."""


class Explained(Protocol):
    """A verdict, and how the verifier came to it.

    (one,) = explainer("mathematics")([("1/2", "0.5")])
    one.verdict.status, one.layer  # ("ok", "number")
    """

    @property
    def verdict(self) -> Verdict: ...
    @property
    def gold(self) -> str | None: ...
    @property
    def answer(self) -> str | None: ...
    @property
    def mark(self) -> str: ...  # by which the answer was found in a response; "" if the answer came alone
    @property
    def layer(self) -> str: ...  # what decided
    @property
    def why(self) -> str: ...


def explainer(name: str) -> Callable[[Sequence[tuple[Any, str]]], Sequence[Explained]]:
    """The function that explains verdicts of this verifier."""
    if name not in EXPLAINERS:
        raise unknown("verifier", name, EXPLAINERS, "assay verify --help")
    module, _, function = EXPLAINERS[name].partition(":")
    return getattr(importlib.import_module(module), function)
