"""Calls in marks of their own, for inputs that contain brackets themselves: tactics, circuits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from assay.worlds.play import Call, Line, Tool
from assay.worlds.speech import one_field

CUT = " [cut]"  # what stands where a limit has cut a reply
REFUSED = "!"  # how a reply begins that tells of an error
_BRACKETS = str.maketrans("[]", "()")


@dataclass(frozen=True)
class Enclosed:
    """The call of the one tool that there is: `[` INPUT `.]`, where the input may have brackets in pairs. A reply is
    appended as it is.

    Enclosed(".]").call("prove", {"tactics": "destruct a as [b c]"}, tools)  # "[destruct a as [b c].]"
    """

    closes: str  # the end of a call, which stands in no input; it ends with "]"
    templated: ClassVar[bool] = False
    markers: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"enclosed {self.closes}"

    def stops(self, tools: Sequence[Tool]) -> tuple[str, ...]:
        return (self.closes,) if tools else ()

    def read(self, text: str, tools: Sequence[Tool], *, waits: bool) -> tuple[Call, ...]:
        if not waits:
            return ()
        inputs = _innermost(text.removesuffix(self.closes))
        if inputs is None:
            return (Call("", fault=f"a call is written [INPUT{self.closes}"),)
        return (one_field(tools[0].name, inputs, tools),)

    def write(self, lines: Sequence[Line]) -> str:
        return "".join(line.text for line in lines)

    def call(self, name: str, arguments: Mapping[str, Any], tools: Sequence[Tool]) -> str:
        return f"[{next(iter(arguments.values()), '')}{self.closes}"

    def about(self, tools: Sequence[Tool]) -> str:
        return f"Write [INPUT{self.closes} for a call: the reply follows at once."

    def inputs(self, text: str) -> Iterator[tuple[str, bool]]:
        """The inputs of the calls in a whole answer, and whether the reply to each tells of an error."""
        pieces = text.replace(CUT, "").split(self.closes)
        for piece, after in zip(pieces, pieces[1:]):
            if (inputs := _innermost(piece)) is not None:
                yield inputs, after.startswith(REFUSED)


def _innermost(text: str) -> str | None:
    """What stands behind the last `[` that no `]` closes; None if there is none."""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == "]") - (text[place] == "[")
        if depth < 0:
            return text[place + 1 :]
    return None


def in_line(text: str, most: int) -> str:
    """The text as a reply of one line of printable characters, in which no bracket can be taken for a call."""
    line = " ".join(text.split()).translate(_BRACKETS)
    line = "".join(character if character.isascii() and character.isprintable() else "?" for character in line)
    return line if len(line) <= most else f"{line[: most - 2]}.."


def refused(why: str) -> str:
    """The reply that tells of an error: `refused("no such label")` is "!no such label"."""
    return f"{REFUSED}{in_line(why, 80)}"
