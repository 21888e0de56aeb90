"""Metamath: whether theorems of a database are proved, as the program `metamath` sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.externals.external import External
from assay.externals.process import Limits, run
from assay.externals.versions import of_program

Json = Any

_LABEL = re.compile(r"[A-Za-z0-9._-]+")
_READ = "No errors were found."
_LIMITS = Limits(seconds=10, memory_mb=1024, file_mb=0)


def answer(job: Json, tell: Callable[[str], None]) -> Json:
    """{"database": text, "theorems": [label, ...]} -> {"ended", "proved": {label: bool}, "said": its output}.

    `ended` is how the program ended: `done`, `time`, `output` or `starved`. A database that cannot be read proves none.
    A theorem counts as proved only if the program names it and prints no word more.
    """
    labels = [label for label in job["theorems"] if _LABEL.fullmatch(label)]
    commands = ["set scroll continuous", "read t.mm", *(f"verify proof {label}" for label in labels), "exit"]
    if "$[" in job["database"]:
        return {"ended": "done", "proved": {}, "said": "databases are read as one text, without '$['"}
    ended = run(["metamath"], {"t.mm": job["database"]}, _LIMITS, text="\n".join(commands) + "\n")
    if ended.status != "done":
        return {"ended": ended.status, "proved": {}, "said": ""}
    parts = ended.output.split("MM> ")
    read = len(parts) == len(commands) + 1 and _READ in parts[2]
    printed = dict(zip(labels, parts[3:], strict=False)) if read else {}
    proved = {label: printed[label].split() == [label] for label in printed}
    return {"ended": "done", "proved": proved, "said": ended.output[-2000:]}


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
