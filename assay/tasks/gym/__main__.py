"""`python -m assay.tasks.gym` prints the tables of `docs/reasoning_gym.md`."""

from __future__ import annotations

from assay.host import terminal
from assay.tasks.gym.task import table

terminal.show(table().removesuffix("\n"))
