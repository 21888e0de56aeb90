"""All text for a person is written here: to standard error, and to standard output if it is not a JSON document.

Tokens, chat templates, file names, columns and messages of other programs come from strangers. A terminal obeys control
characters in such text: it moves the cursor, hides lines, sets titles, answers questions. Control characters are
therefore spelt out, and further lines of a message are indented, so that one warning cannot look like two.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

R = TypeVar("R")

# C0 without tab and newline, DEL, C1, separators of lines, marks that turn the direction of writing, lone surrogates.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """The text with every character that a terminal would obey spelt out, such as \\x1b."""
    return _OBEYED.sub(_spelt, text)


def _spelt(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one(text: str) -> str:
    """The text as one message: its further lines are indented, so that none of them looks like another message."""
    return plain(text).replace("\n", "\n  ")


def say(text: str) -> None:
    """Writes a message to standard error, which a program that reads standard output never sees."""
    _write(sys.stderr, one(text) + "\n")


def tell(text: str) -> None:
    """Writes a table or a page to standard error."""
    _write(sys.stderr, plain(text) + "\n")


def show(text: str) -> None:
    """Writes a table or a page to standard output."""
    _write(sys.stdout, plain(text) + "\n")


def hand_over(text: str, *, end: str = "\n") -> None:
    """Writes a model's text to standard output: with control characters spelt out on a terminal, else unchanged."""
    _write(sys.stdout, (plain(text) if sys.stdout.isatty() else text) + end)


def ask(question: str) -> bool:
    """Asks a person at the terminal; True for the answer y or yes, False for others and where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    _write(sys.stderr, f"{one(question)} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def write(stream: TextIO, text: str) -> None:
    """Writes text to a stream other than these two, for example that of the live panel."""
    _write(stream, plain(text))


def _write(stream: TextIO, text: str) -> None:
    """Writes the text; a character that the stream's encoding lacks is spelt out too."""
    encoding = stream.encoding or "utf-8"
    out = Lasting(stream) if stream is sys.stderr else stream
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))
    out.flush()


def silence(stream: TextIO) -> None:
    """From now on all writing to the stream goes nowhere: its reader has left."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def lasting(stream: TextIO) -> TextIO:
    """The stream for programs that write to it themselves: it outlives its terminal.

    Console(file=lasting(sys.stderr))
    """
    return cast(TextIO, Lasting(stream))


class Lasting:
    """A stream of messages that outlives its terminal or its reader: from then on all writing goes nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._kept(lambda: self._stream.write(text), len(text))

    def flush(self) -> None:
        self._kept(self._stream.flush, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _kept(self, deed: Callable[[], R], otherwise: R) -> R:
        try:
            return deed()
        except OSError as error:
            if error.errno not in (errno.EIO, errno.EPIPE):
                raise
            silence(self._stream)
            return otherwise


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def guard() -> None:
    """Sends all log records and warnings of this process through `say`. Called by the command line, not by `import`."""
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(_Handler())
    warnings.showwarning = _warned


def _warned(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any) -> None:
    say(f"{category.__name__}: {message} ({filename}, line {lineno})")
