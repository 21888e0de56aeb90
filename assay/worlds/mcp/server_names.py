"""How a person names an MCP server: `COMMAND ARGS`, which is started, or an address, which is asked."""

from __future__ import annotations

import shlex
from pathlib import Path

from assay.errors import UsageError
from assay.host.reach import is_address


def words_of(server: str) -> list[str]:
    """The words of a command, as a shell would part them."""
    try:
        words = shlex.split(server)
    except ValueError as error:
        raise UsageError(f"the MCP server {server!r} cannot be parted into words: {error}.") from None
    if not words or "\0" in server:
        raise UsageError(f"the MCP server {server!r} is no command: give COMMAND ARGS, or an address with http://.")
    return words


def whole(server: str) -> str:
    """The name with absolute paths in place of relative ones, so that it means the same in every working directory.

    whole("python tools/clock.py --utc")  # "python /home/me/tools/clock.py --utc"
    """
    if is_address(server):
        return server
    return shlex.join(_whole_path(word, first=number == 0) for number, word in enumerate(words_of(server)))


def _whole_path(word: str, *, first: bool) -> str:
    """A word as it is, unless a file or folder here has this name. The first word is one of PATH if it has no slash."""
    if (first and "/" not in word) or word.startswith("-") or word in ("", ".", ".."):
        return word
    try:
        there = Path(word).exists()
    except OSError:  # too long for a path
        return word
    return str(Path(word).absolute()) if there else word
