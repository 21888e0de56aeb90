"""One answer to a problem."""

from __future__ import annotations

import dataclasses

from tiny import END, episode

from assay.types import Row


def answer(right: bool, *, prompt: str = "a", tag: str = "", ids: tuple[int, ...] = (1, END), group: str = "g") -> Row:
    made = episode(list(ids), prompt=prompt, group=group, reward=float(right), right=right)
    return Row(dataclasses.replace(made, request=dataclasses.replace(made.request, tag=tag)))
