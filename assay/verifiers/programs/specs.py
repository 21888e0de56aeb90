"""The tests of a program, by streams or by calls. They stay outside the sandbox; only inputs go in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.errors import DataError
from assay.sandbox import Limits
from assay.verifiers.programs import compare, plain
from assay.verifiers.programs.readings import Reading, read_as

BUDGET = 12.0  # seconds for all tests of an answer, unless its row says otherwise


@dataclass(frozen=True)
class Streams:
    """Tests by standard input and output: `Streams((("1 2\\n", "3\\n"),), compare="tokens")`."""

    tests: tuple[tuple[str, str], ...]  # (input, expected output)
    compare: str = "lines"  # a name of `compare.TEXT`
    limits: Limits = field(default_factory=Limits)  # of one run
    budget: float = BUDGET  # seconds of all runs together

    def __post_init__(self) -> None:
        _known("output", self.compare, compare.TEXT, self.tests)


@dataclass(frozen=True)
class Call:
    """One call, and what it returns: `Call("f", (2,), 4)`."""

    entry: str  # the function, or `Class.method`
    arguments: tuple[Any, ...]
    expected: Any
    compare: str = ""  # a name of `compare.VALUES`; "": that of its `Calls`
    named: Mapping[str, Any] = field(default_factory=dict)  # arguments by keyword
    reading: Reading | None = None  # what is made of the returned value before it is compared; None: nothing

    def made_of(self, returned: Any) -> Any:
        """The value to compare with the expected one. Raises `readings.Stopped` if the test's reading gives none."""
        return returned if self.reading is None else read_as(self.reading, returned)


@dataclass(frozen=True)
class Calls:
    """Tests by calls of a function: `Calls((Call("f", (2,), 4),))`."""

    tests: tuple[Call, ...]
    compare: str = "equal"  # a name of `compare.VALUES`
    limits: Limits = field(default_factory=Limits)  # of the run of all calls of a function
    budget: float = BUDGET  # seconds of all runs together

    def __post_init__(self) -> None:
        _known("value", self.compare, compare.VALUES, self.tests)
        for call in self.tests:
            try:
                plain.pack([*call.arguments, dict(call.named), call.expected])
            except plain.NotPlain as error:
                raise DataError(
                    f"a test of '{call.entry}' holds {error}: arguments and expected values are None, bool, int, "
                    "float, str, bytes, list, tuple, dict or set."
                ) from None


Tests = Streams | Calls


def _known(what: str, name: str, names: Mapping[str, object], tests: Sequence[object]) -> None:
    if name not in names:
        raise DataError(f"no comparator of {what}s named '{name}': expected one of {', '.join(names)}.")
    if not tests:
        raise DataError("a program without tests cannot be verified: every program would pass. Give at least one test.")
