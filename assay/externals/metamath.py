"""Metamath: whether theorems of a database are proved, as the program `metamath` sees it.

A database is a text, or a file with texts that are put into it: then the digest says which file is meant.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from assay.externals.external import External
from assay.externals.process import Limits, run
from assay.externals.versions import of_program

Json = Any

_LABEL = re.compile(r"[A-Za-z0-9._-]+")
_READ = "No errors were found."
_LIMITS = Limits(seconds=10, memory_mb=1024, file_mb=0)


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"database": text, "theorems": [label, ...]} -> {"ended", "read", "proved": {label: bool}, "said": its output}.
    In place of the text there may be a "file", its "digest", and what is "inserted": [[place, text], ...] in order.

    `ended` is how the program ended: `done`, `time`, `output` or `starved`; `other`: the file is not the one that is
    meant. A database that cannot be read proves none. A theorem counts as proved only if the program names it and
    prints no word more.
    """
    if "file" in job:
        return _in_file(job)
    if "$[" in job["database"]:
        return {"ended": "done", "proved": {}, "said": "databases are read as one text, without '$['"}
    return _verified(job["database"], job["theorems"])


def _verified(database: str, theorems: list[str]) -> Json:
    labels = [label for label in theorems if _LABEL.fullmatch(label)]
    commands = ["set scroll continuous", "read t.mm", *(f"verify proof {label}" for label in labels), "exit"]
    ended = run(["metamath"], {"t.mm": database}, _LIMITS, text="\n".join(commands) + "\n")
    if ended.status != "done":
        return {"ended": ended.status, "proved": {}, "said": ""}
    parts = ended.output.split("MM> ")
    read = len(parts) == len(commands) + 1 and _READ in parts[2]
    printed = dict(zip(labels, parts[3:], strict=False)) if read else {}
    proved = {label: printed[label].split() == [label] for label in printed}
    return {"ended": "done", "read": read, "proved": proved, "said": ended.output[-2000:]}


def digest_of_text(text: str) -> str:
    """The digest by which a file is known."""
    return hashlib.sha256(text.encode()).hexdigest()


def _in_file(job: Json) -> Json:
    """The findings on theorems that are put into the database of a file."""
    try:
        text = Path(job["file"]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return {"ended": "other", "proved": {}, "said": f"{job['file']} cannot be read: {error}"}
    if (digest := digest_of_text(text)) != job["digest"]:
        said = f"{job['file']} is another file than at the beginning: {digest[:16]}, not {job['digest'][:16]}"
        return {"ended": "other", "proved": {}, "said": said}
    pieces, end = [], 0
    for place, inserted in job["inserted"]:
        pieces += [text[end:place], inserted]
        end = place
    return _verified("".join([*pieces, text[end:]]), job["theorems"])


_START = "$c |- a b $.  ax $a |- a $.  ${ h $e |- a $.  rule $a |- b $. $}\n"
METAMATH = External(
    name="metamath",
    purpose="proofs in databases of Metamath",
    install="apt-get install metamath",
    version=lambda: of_program(["metamath", "exit"], r"Version (\S+)"),
    answer="assay.externals.metamath:answer",
    passes={"database": _START + "t $p |- b $= ax rule $.", "theorems": ["t"]},
    fails={"database": _START + "t $p |- b $= ax $.", "theorems": ["t"]},
    accepts=lambda result: result["proved"].get("t") is True,
)
