"""Data files as tasks: reads rows, finds question and answer in them, and joins several files to one set."""

from __future__ import annotations

PREFIX = "data:"


def is_data(name: str) -> bool:
    """Whether a task of this name reads the rows of a file."""
    return name.startswith(PREFIX)
