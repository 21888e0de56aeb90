"""The one place that writes to a person: standard error, and standard output where it is no JSON document.

Tokens, templates, file names, columns and messages of other programs come from strangers. A terminal obeys control
characters in them: it moves the cursor, hides lines, sets titles, answers questions. So everything is written with its
control characters spelt out, and an error or a warning cannot look like two.
"""

from __future__ import annotations

import logging
import re
import sys
import warnings
from typing import Any, TextIO

# C0 without tab and newline, DEL, C1, separators of lines, marks that turn the direction of writing, lone surrogates.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text as a terminal shows it and nothing else: what would be obeyed is spelt, such as \\x1b."""
    return _OBEYED.sub(_spelt, text)


def _spelt(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one(text: str) -> str:
    """A message: its further lines are indented, so that no part of it passes for a message of its own."""
    return plain(text).replace("\n", "\n  ")


def say(text: str) -> None:
    """A message to a person, never to the program that reads standard output."""
    _write(sys.stderr, one(text) + "\n")


def tell(text: str) -> None:
    """A table or a page that was made here, to standard error."""
    _write(sys.stderr, plain(text) + "\n")


def show(text: str) -> None:
    """A table or a page that was made here, to standard output."""
    _write(sys.stdout, plain(text) + "\n")


def hand_over(text: str) -> None:
    """What a model wrote, to standard output: spelt out on a terminal, and to a file or a pipe as it is."""
    _write(sys.stdout, (plain(text) if sys.stdout.isatty() else text) + "\n")


def ask(question: str) -> bool:
    """Whether a person at the terminal answers y or yes. Nobody is asked where there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    _write(sys.stderr, f"{one(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def write(stream: TextIO, text: str) -> None:
    """Lines of a view that has a stream of its own."""
    _write(stream, plain(text))


def _write(stream: TextIO, text: str) -> None:
    """A character that the stream's encoding lacks is spelt as well."""
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def guard() -> None:
    """Log records and warnings, of libraries too, are told through here. For a program; a library leaves them alone."""
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(_Handler())
    warnings.showwarning = _warned


def _warned(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    say(f"{category.__name__}: {message} ({filename}, line {lineno})")
