"""Columns of public sets of programming problems, as the tests of a program that `read_tests` takes.

| set | columns | what becomes of them |
|---|---|---|
| MBPP | `test_list`, `test_setup_code`, `test_imports` | `{"asserts": test_list, "setup": ...}` |
| HumanEval | `test`, `entry_point` | `{"asserts": test, "entry": entry_point}` |
| APPS | `input_output` | `{"input_output": ...}` |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PUBLISHED = {"test_list": "test_list", "input_output": "input_output", "test": "entry_point"}
"""Columns that hold tests, each with the column by which it is known: `test` alone may mean anything."""


def is_published(name: str, names: Sequence[str]) -> bool:
    """Whether a column, among all columns of a file, holds tests as a public set has them."""
    return name in PUBLISHED and name in names and PUBLISHED[name] in names


def published(columns: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The tests that a row of a public set has in a column; None if there are none.

    published({"test_list": ["assert f(2) == 4"], "test_setup_code": ""}, "test_list")
    """
    value = columns.get(name)
    if value in (None, "", [], {}):
        return None
    if name == "input_output":
        return {"input_output": value}
    if name == "test_list":
        imports = columns.get("test_imports") or ()
        lines = [*([imports] if isinstance(imports, str) else imports), columns.get("test_setup_code") or ""]
        setup = "\n".join(line for line in lines if line)
        return {"asserts": value, **({"setup": setup} if setup else {})}
    entry = columns.get("entry_point") or ""
    return {"asserts": value, **({"entry": entry} if entry else {})}
