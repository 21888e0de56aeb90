"""`assay data tests`: writes a file of programming problems with tests that were made from generators and solutions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.errors import DataError, UsageError
from assay.sandbox import opened
from assay.tasks.data.files import FileRow, read
from assay.verifiers.programs.generated import Ingredients, Made, make

Json = dict[str, Any]
NEEDED = ("prompt", "generator", "validator", "solutions")


def make_tests(places: Sequence[str], into: Path) -> Json:
    """Reads rows with `prompt`, `generator`, `validator` and `solutions`, and writes those whose solutions agree.

    found = make_tests(["raw.jsonl"], Path("tested.jsonl"))
    print(text(found))
    """
    if into.exists():
        raise UsageError(f"{into} exists already: name a new file with --into.")
    rows = [row for path in places for row in _rows(path)]
    sandbox = opened()
    written, dropped = [], []
    for where, columns in rows:
        made = make(origin_of(where, columns), sandbox)
        if isinstance(made, Made):
            written.append(_written(columns, made))
        else:
            dropped.append({"row": where, "stage": made.stage, "detail": made.detail})
    if written:
        into.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in written), encoding="utf-8")
    stages = Counter(row["stage"] for row in dropped)
    return {"rows": len(rows), "written": len(written), "into": str(into), "stages": dict(stages), "dropped": dropped}


def _rows(place: str) -> list[tuple[str, Mapping[str, Any]]]:
    items = list(read(place))
    if bad := [item for item in items if not isinstance(item, FileRow)]:
        raise DataError(f"{place}: line {bad[0].line} {bad[0].what}")
    return [(f"{Path(place).name}:{item.line}", item.columns) for item in items if isinstance(item, FileRow)]


def origin_of(where: str, columns: Mapping[str, Any]) -> Ingredients:
    """The ingredients of the tests of a row. DataError names the expected columns, and those that are there."""
    solutions = columns.get("solutions")
    texts = all(isinstance(columns.get(name), str) and columns[name].strip() for name in NEEDED[:3])
    if not texts or not isinstance(solutions, list) or not all(isinstance(one, str) for one in solutions):
        raise DataError(
            f"{where}: expected the texts 'prompt', 'generator' (a function generate(scale, seed)) and 'validator' (a "
            f"function valid(text)), and 'solutions', a list of programs; there are: {', '.join(columns)}."
        )
    return Ingredients(columns["generator"], columns["validator"], tuple(solutions), columns.get("hard") is True)


def _written(columns: Mapping[str, Any], made: Made) -> Json:
    solution = f"```python\n{columns['solutions'][made.solution].rstrip()}\n```"
    tests = {"streams": [list(pair) for pair in made.tests], "compare": "tokens"}
    kept = {name: value for name, value in columns.items() if name not in (*NEEDED[1:], "hard")}
    return {**kept, "tests": tests, "solution": solution, "agreed": len(made.agreeing), "of": len(columns["solutions"])}


def text(found: Mapping[str, Any]) -> str:
    """The findings as lines for a person."""
    lines = [
        f"{found['written']} of {found['rows']} problems have tests"
        + (f", in {found['into']}" if found["written"] else "")
    ]
    lines += [f"  dropped for their {stage:10} {count}" for stage, count in sorted(found["stages"].items())]
    lines += [f"  {one['row']}: {one['stage']}, {one['detail']}" for one in found["dropped"][:10]]
    return "\n".join(lines)
