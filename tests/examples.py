"""The methods that docs/method.md writes file by file, to be written into a copy of the repository."""

from __future__ import annotations

import re
from pathlib import Path

from small_runs import ROOT

from assay.lab import new

FILE = re.compile(r"^```python ([\w/.]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "method.md").read_text()
FILES: dict[str, str] = dict(FILE.findall(PAGE))


def method_of(path: str) -> str:
    return Path(path).parts[3].removesuffix(".py")


def _headed(path: str) -> str:
    """The heading of the page under which a file is written."""
    return PAGE[: PAGE.index(f"```python {path}")].rpartition("\n## ")[2].splitlines()[0]


WORKED = {method_of(path): _headed(path) for path in FILES if path.startswith("assay/")}
"""Method -> what the page calls it."""


def of(method: str) -> dict[str, str]:
    """The files of one of the methods."""
    return {path: text for path, text in FILES.items() if method_of(path) == method}


def group_of(method: str) -> str:
    """The group that the page puts it in."""
    return next(Path(path).parts[2] for path in of(method))


def listed(method: str) -> Path:
    """The file that has the one line of the method."""
    return new.listing_of(group_of(method), Path())


def written(copy: Path) -> None:
    """Writes the methods and their lines, as a reader of the page would."""
    for path, text in FILES.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text)
    for method in WORKED:
        changed, _ = new._with_line((copy / listed(method)).read_text(), method)
        (copy / listed(method)).write_text(changed)
