"""A task with other fields, wherever in its records they stand."""

from __future__ import annotations

import dataclasses
from typing import Any

from assay.tasks import Task


def altered(task: Task, **fields: Any) -> Task:
    """The task with these fields of its generator, its wordings or its checker: `altered(TINY, levels=range(9))`."""
    changes: dict[str, Any] = {}
    for name in ("generator", "wordings", "checker"):
        record = getattr(task, name)
        own = {field.name: fields.pop(field.name) for field in dataclasses.fields(record) if field.name in fields}
        changes[name] = dataclasses.replace(record, **own)
    assert not fields, f"no record of a task has {', '.join(fields)}"
    return dataclasses.replace(task, **changes)
